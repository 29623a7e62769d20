"""Normalization of sets of planes, and its gradients, on GPUs: a channel of all examples, or channels of one example.

Plane number ``p``, of ``length`` elements, belongs to channel ``p % channels``.  Set ``r`` has ``members`` planes, the
first of which is number ``r * first``; the others follow by ``step``.  If ``across``, set ``r`` is channel ``r``.
"""

from __future__ import annotations

import numpy as np

from ..facts import Out
from ..scalar import sqrt
from .adapter import cuda
from .lines import PACKED, line_totals, position, write4
from .lines import read4 as read_line4
from .reductions import elements, read4, share_of_column

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256

#: Placeholder: true if the kernel of the sums also computes the gradient, for means and scales that are constant.
CONSTANT = 0


# -- loops of a thread over its share of a channel, here and in ``channel_columns.py`` ---------------------------------


def normalize(x, offset, step, stride, last, mean, scale, factor, term, out):
    """Write ``(x - mean) * scale * factor + term`` for four elements, ``step`` apart, from every ``stride``-th one."""
    while offset <= last:
        a, b, c, d = read_line4(x, offset, step, last)
        write4(
            out, offset, step, last, (a - mean) * scale * factor + term, (b - mean) * scale * factor + term,
            (c - mean) * scale * factor + term, (d - mean) * scale * factor + term,
        )  # fmt: skip
        offset += stride


def write_gradient(grad, x, offset, step, stride, last, mean, scale, factor, centre, slope, out):
    """Write ``scale * (grad * factor - centre - (x - mean) * slope)`` for the elements of ``normalize``."""
    while offset <= last:
        a, b, c, d = read_line4(grad, offset, step, last)
        e, f, g, h = read_line4(x, offset, step, last)
        write4(
            out, offset, step, last, scale * (a * factor - centre - (e - mean) * slope),
            scale * (b * factor - centre - (f - mean) * slope), scale * (c * factor - centre - (g - mean) * slope),
            scale * (d * factor - centre - (h - mean) * slope),
        )  # fmt: skip
        offset += stride


def sum_products(grad, x, base, pitch, at, gap, depth, end, mean, factor, out):
    """The sums of ``grad * (x - mean)`` and of ``grad`` over elements, ``pitch`` apart in memory, from number ``at``.

    If ``CONSTANT``, the gradient is ``factor * grad``.
    """
    slope, total = T(0), T(0)
    step = gap * pitch
    while at + 3 * gap < end:
        offset = base + at * pitch
        a, b, c, d = read4(grad, offset, step)
        e, f, g, h = read4(x, offset, step)
        total += (a + b) + (c + d)
        slope += (a * (e - mean) + b * (f - mean)) + (c * (g - mean) + d * (h - mean))
        if CONSTANT:
            write4(out, offset, step, offset + 3 * step, factor * a, factor * b, factor * c, factor * d)
        at += 4 * depth
    for turn in range(3):
        if at + turn * gap < end:
            offset = base + (at + turn * gap) * pitch
            a = grad[offset]
            total += a
            slope += a * (x[offset] - mean)
            if CONSTANT:
                out[offset] = factor * a
    return slope, total


# -- planes -----------------------------------------------------------------------------------------------------------


def _set_of(plane, channels, members, across):
    return plane % channels if across else plane // members


def _of_channel(values, given, plane, channels, instead):
    """The weight or the bias of a plane's channel if it is ``given``, else ``instead``."""
    return values[plane % channels] if given else instead


def normalized_planes(
    x, lines, length, weight, weighted, bias, biased, variances, means, eps, channels, members, first, across, columns,
    depth, shift, out: Out, scales: Out
):  # fmt: skip
    """``(x - mean) * scale * weight + bias``, where ``scale`` is ``1 / sqrt(variance + eps)``, which is stored, too."""
    level, column, _ = position(cuda.threadIdx.x, shift, 1)
    plane = np.int64(cuda.blockIdx.x) * columns + column
    if plane < lines:
        number = _set_of(plane, channels, members, across)
        mean = means[number]
        scale = T(1) / sqrt(variances[number] + T(eps))
        if level == 0 and plane == number * first:
            scales[number] = scale
        factor = _of_channel(weight, weighted, plane, channels, T(1))
        term = _of_channel(bias, biased, plane, channels, T(0))
        last = (plane + 1) * length - 1
        offset = plane * length + level * (4 if PACKED else 1)
        step = 1 if PACKED else depth
        normalize(x, offset, step, 4 * depth, last, mean, scale, factor, term, out)


def plane_sums(
    grad, x, weight, weighted, means, scales, columns, length, channels, members, across, shift, depth, pieces,
    piece_size, sums: Out, out: Out
):  # fmt: skip
    """The sums of ``grad * y``, and after them those of ``grad``, over each piece of each plane.

    ``y`` is ``(x - mean) * scale``.  If ``CONSTANT``, ``out`` is ``grad * scale * weight``.
    """
    slopes = cuda.shared.array(THREADS, T)
    shifts = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, apart, plane, piece = share_of_column(thread, shift, 1, pieces)
    at, gap, end, _ = elements(level, depth, 1, length, piece, piece_size)
    slope, total, scale = T(0), T(0), T(0)
    if plane < columns:
        number = _set_of(plane, channels, members, across)
        mean, scale = means[number], scales[number]
        factor = scale * _of_channel(weight, weighted, plane, channels, T(1))
        slope, total = sum_products(grad, x, plane * length, 1, at, gap, depth, end, mean, factor, out)
    slope, total = line_totals(slopes, shifts, thread, level, depth, apart, slope, total)
    if level == 0 and plane < columns:
        sums[plane * pieces + piece] = slope * scale
        sums[(columns + plane) * pieces + piece] = total


def set_means(sums, sets, planes, pieces, weight, weighted, channels, members, first, step, elements, means: Out):
    """The means of ``grad * weight * y``, and after them those of ``grad * weight``, over each set, by one warp."""
    slopes = cuda.shared.array(THREADS, T)
    shifts = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    depth = min(THREADS, 32)
    level = thread % depth
    number = np.int64(cuda.blockIdx.x) * (THREADS // depth) + thread // depth
    slope, total = T(0), T(0)
    if number < sets:
        for part in range(level, members * pieces, depth):
            plane = number * first + part // pieces * step
            source = plane * pieces + part % pieces
            factor = _of_channel(weight, weighted, plane, channels, T(1))
            slope += factor * sums[source]
            total += factor * sums[planes * pieces + source]
    slope, total = line_totals(slopes, shifts, thread, level, depth, 1, slope, total)
    if level == 0 and number < sets:
        means[number] = slope / T(elements)
        means[sets + number] = total / T(elements)


def planes_gradient(
    grad, x, lines, length, sets, weight, weighted, means, scales, means_of_gradient, channels, members, across,
    columns, depth, shift, out: Out
):  # fmt: skip
    """``scale * (g - mean(g) - y * mean(g * y))`` with ``g = grad * weight`` and ``y`` the normalized set."""
    level, column, _ = position(cuda.threadIdx.x, shift, 1)
    plane = np.int64(cuda.blockIdx.x) * columns + column
    if plane < lines:
        number = _set_of(plane, channels, members, across)
        mean, scale = means[number], scales[number]
        slope = means_of_gradient[number] * scale
        shift_of_set = means_of_gradient[sets + number]
        factor = _of_channel(weight, weighted, plane, channels, T(1))
        last = (plane + 1) * length - 1
        offset = plane * length + level * (4 if PACKED else 1)
        step = 1 if PACKED else depth
        write_gradient(
            grad, x, offset, step, 4 * depth, last, mean, scale, factor, shift_of_set, slope, out
        )  # fmt: skip
