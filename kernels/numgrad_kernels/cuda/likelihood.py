"""Negative log-likelihood of the targets in an array seen as (outer, classes, inner), on GPUs.

A target that is neither a class nor ``ignored`` is not followed, but noted in ``report``; its loss is NaN.
"""

from __future__ import annotations

import numpy as np

from ..facts import InOut, Out
from ..scalar import exp
from .adapter import cuda
from .indexing import note
from .lines import line_totals, read4, write4
from .softmax import share_of_line

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256


def _offset(target, index, classes, inner):
    """The offset of the element picked by a target."""
    return target * classes + index if inner == 1 else (target // inner * classes + index) * inner + target % inner


def _weight(weight, weighted, index):
    """The weight of a class."""
    if weighted:
        return weight[index]
    return T(1)


def find_improbable(x, count, number, report: InOut):
    """Report a message, by its number, if an element is not in [0, 1], unless there is a report already."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        if not (x[i] >= T(0) and x[i] <= T(1)) and report[0] == 0:
            report[0] = number


def negative_likelihood(
    x, count, classes, inner, target, weight, weighted, ignored, mean, piece_size, kept, losses: Out, parts: Out,
    pieces, out: Out, total_weight: Out, report: InOut
):  # fmt: skip
    """Minus the element at each target, times the weight of the class; 0 for ignored targets.

    ``losses`` receives them if they are ``kept``.  Each block processes ``piece_size`` targets and stores its sums of
    losses and of weights in ``parts``; if there is a single piece, it computes the results of :func:`likelihood_total`.
    """
    values = cuda.shared.array(THREADS, T)
    weights = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    piece = np.int64(cuda.blockIdx.x)
    loss, whole = T(0), T(0)
    for i in range(piece * piece_size + thread, min(count, (piece + 1) * piece_size), THREADS):
        index = target[i]
        value, share = T(0), T(0)
        if index != ignored:
            if index >= 0 and index < classes:
                share = _weight(weight, weighted, index)
                value = -x[_offset(i, index, classes, inner)] * share
            else:
                value = T(np.nan)
                note(report, index, 0, classes)
        if kept:
            losses[i] = value
        loss += value
        whole += share
    loss, whole = line_totals(values, weights, thread, thread, THREADS, 1, loss, whole)
    if thread == 0:
        if pieces == 1:
            total_weight[0] = whole
            out[0] = loss / whole if mean else loss
        else:
            parts[piece] = loss
            parts[pieces + piece] = whole


def likelihood_total(parts, pieces, mean, out: Out, total_weight: Out):
    """The sums of losses and of weights over all ``parts``, the former divided by the latter for a ``mean``."""
    values = cuda.shared.array(THREADS, T)
    weights = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    loss, whole = T(0), T(0)
    for piece in range(thread, pieces, THREADS):
        loss += parts[piece]
        whole += parts[pieces + piece]
    loss, whole = line_totals(values, weights, thread, thread, THREADS, 1, loss, whole)
    if thread == 0:
        total_weight[0] = whole
        out[0] = loss / whole if mean else loss


def put_negative(
    grad, step, count, classes, inner, target, weight, weighted, ignored, divisor, divided, out: Out, report: InOut
):  # fmt: skip
    """Put minus the gradient, times the weight of the class, at each target into ``out``, which is 0.

    There is one gradient for all targets if ``step`` is 0, and one for each if it is 1; it may be ``divided``.
    """
    share = T(1)
    if divided:
        share = T(1) / divisor[0]
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        index = target[i]
        if index != ignored:
            if index >= 0 and index < classes:
                out[_offset(i, index, classes, inner)] = -grad[i * step] * share * _weight(weight, weighted, index)
            else:
                note(report, index, 0, classes)


def _of_score(logarithm, slope, offset, chosen):
    """The gradient for the score at ``offset``; ``chosen`` is the offset of the target's."""
    return (slope if offset == chosen else T(0)) - exp(logarithm) * slope


def cross_entropy_gradient(
    grad, each, target, weight, weighted, ignored, divisor, divided, y, lines, classes, inner, columns, depth, shift,
    along, out: Out, report: InOut
):  # fmt: skip
    """The gradient of scores, of which ``y`` is the logarithm of the softmax, for each line.

    ``s * (1 - exp(y))`` at each target and ``-s * exp(y)`` elsewhere, where ``s`` is what :func:`put_negative` puts.
    """
    level, _, line, first, last, step, stride = share_of_line(lines, classes, inner, columns, depth, shift, along)
    if line < lines:
        index = target[line]
        slope = T(0)
        if index != ignored:
            if index >= 0 and index < classes:
                slope = -grad[line * each] * (T(1) / divisor[0] if divided else T(1)) * _weight(weight, weighted, index)
            elif level == 0:
                note(report, index, 0, classes)
        chosen = last - (classes - 1 - index) * inner
        offset = first
        while offset <= last:
            a, b, c, d = read4(y, offset, step, last)
            write4(
                out, offset, step, last, _of_score(a, slope, offset, chosen),
                _of_score(b, slope, offset + step, chosen), _of_score(c, slope, offset + 2 * step, chosen),
                _of_score(d, slope, offset + 3 * step, chosen),
            )  # fmt: skip
            offset += stride
