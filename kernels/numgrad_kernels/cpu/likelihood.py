"""Negative log-likelihood of the targets in an array seen as (outer, classes, inner).

A target that is neither a class nor ``ignored`` is not followed, but reported.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out, Report, reaches
from ..local import local_array
from ..scalar import exp
from .segments import strip, strips, total
from .softmax import COLUMNS

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Number of targets in a piece; the losses of a piece are summed together.
PIECE = 1024

#: Number of losses and weights of a piece.
BOTH = 2 * PIECE

#: Number of elements that are set to zero at a time, before the elements at targets are written.
ELEMENTS = 4096


def _is_class(index, classes):
    return (index >= 0) & (index < classes)


@reaches(lambda args: args.target.size)
def negative_likelihood(
    x, classes, inner, target, weight, ignored, mean, losses: Out, parts: Out, out: Out, total_weight: Out,
    wrong: Report
):  # fmt: skip
    """Minus the element at each target, times the weight of the class (if ``weight`` has any); 0 for ignored targets.

    ``losses``, unless empty, receives these losses, and ``total_weight`` the sum of the weights of the targets that
    count.  ``out`` receives the sum of the losses, divided by ``total_weight`` for a ``mean``.  ``wrong[0]`` becomes
    the index of the first wrong target, or -1.  ``parts`` holds the two sums over each piece, ``wrong`` an element for
    each.
    """
    for piece in prange(wrong.size):
        first = piece * PIECE
        count = min(PIECE, target.size - first)
        values = local_array(BOTH, T)  # the losses, followed by the weights
        wrong[piece] = -1
        base = first // inner * classes * inner  # the offset of the target's classes, and the target's column
        column = first % inner
        for j in range(count):
            index = target[first + j]
            values[j] = T(0)
            values[PIECE + j] = T(0)
            if index != ignored:
                if _is_class(index, classes):
                    values[PIECE + j] = weight[index] if weight.size else T(1)
                    values[j] = -x[base + index * inner + column] * values[PIECE + j]
                elif wrong[piece] < 0:
                    wrong[piece] = first + j
            column += 1
            if column == inner:
                column = 0
                base += classes * inner
        if losses.size:
            for j in range(count):
                losses[first + j] = values[j]
        for which in range(2):
            parts[which * wrong.size + piece] = total(values, which * PIECE, count)
    pieces = wrong.size
    for later in range(1, pieces):
        if wrong[0] < 0:
            wrong[0] = wrong[later]
    for half in range(2):
        parts[half * pieces] = total(parts, half * pieces, pieces)
    total_weight[0] = parts[pieces]
    out[0] = parts[0] / total_weight[0] if mean else parts[0]


def put_negative(grad, classes, inner, target, weight, ignored, divisor, out: Out, wrong: Report):
    """``out`` becomes minus the gradient times the weight of the class at each target not ignored, and 0 elsewhere.

    The gradient is one number for all targets or one for each; it is divided by the element of ``divisor``, if there is
    one.  A wrong target makes ``wrong[0]`` true.
    """
    step = int(grad.size == target.size)
    share = T(1) / divisor[0] if divisor.size else T(1)
    block = classes * inner
    blocks = target.size // inner
    several = max(1, ELEMENTS // block)  # small blocks are zeroed together
    strips = (inner + ELEMENTS - 1) // ELEMENTS  # strips of one block with long rows
    for piece in prange((blocks + several - 1) // several * strips):
        low = piece // strips * several
        high = min(blocks, low + several)
        first = piece % strips * ELEMENTS
        last = min(inner, first + ELEMENTS)
        if strips == 1:
            for offset in range(low * block, high * block):
                out[offset] = T(0)
        else:
            for row in range(low * classes, high * classes):
                for column in range(first, last):
                    out[row * inner + column] = T(0)
        for outer in range(low, high):
            for column in range(first, last):
                i = outer * inner + column
                index = target[i]
                if index != ignored:
                    if _is_class(index, classes):
                        value = -grad[i * step] * share
                        value = value * weight[index] if weight.size else value
                        out[outer * block + index * inner + column] = value
                    else:
                        wrong[0] = True


def cross_entropy_gradient(grad, y, classes, inner, target, weight, ignored, divisor, out: Out, wrong: Report):
    """The gradient of scores, of which ``y`` is the logarithm of the softmax: see :func:`put_negative` for the others.

    ``s * (1 - exp(y))`` at each target and ``-s * exp(y)`` elsewhere, where ``s`` is what :func:`put_negative` writes.
    """
    step = int(grad.size == target.size)
    share = T(1) / divisor[0] if divisor.size else T(1)
    for piece in prange(target.size // inner * strips(inner, COLUMNS)):
        base, width = strip(piece, classes, inner, COLUMNS)
        first = base // (classes * inner) * inner + base % inner
        slopes = local_array(COLUMNS, T)
        for column in range(width):
            index = target[first + column]
            slopes[column] = T(0)
            if index != ignored:
                if _is_class(index, classes):
                    slope = -grad[(first + column) * step] * share
                    slopes[column] = slope * weight[index] if weight.size else slope
                else:
                    wrong[0] = True
        if inner == 1:
            slope = slopes[0]
            for row in range(classes):
                out[base + row] = -exp(y[base + row]) * slope
        else:
            for row in range(classes):
                line = base + row * inner
                for column in range(width):
                    out[line + column] = -exp(y[line + column]) * slopes[column]
        for column in range(width):
            index = target[first + column]
            if index != ignored and _is_class(index, classes):
                offset = base + index * inner + column
                out[offset] = slopes[column] - exp(y[offset]) * slopes[column]


def find_improbable(x, report: Report):
    """``found[0]`` becomes true if an element is not in [0, 1], as a NaN is not."""
    wrong = False
    for j in range(x.size):
        wrong |= not ((x[j] >= T(0)) & (x[j] <= T(1)))
    report[0] = wrong
