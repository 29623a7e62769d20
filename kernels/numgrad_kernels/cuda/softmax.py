"""Softmax and its logarithm along one axis of arrays seen as (outer, length, inner), and their gradients, on GPUs.

Each line is read twice: first for its largest element together with the sum of the exponentials, which is scaled down
at every larger element (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), then for the
result.  See ``lines.py`` for how threads share lines.
"""

from __future__ import annotations

import numpy as np

from ..cpu.softmax import factor, gradient, summed
from ..facts import Out
from ..scalar import exp
from .adapter import cuda
from .lines import PACKED, column_start, line_total, pair_of_line, position, read4, up_to4, write4

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256


def share(value, top, scale):
    """An element of softmax, from the largest one and the factor."""
    return exp(value - top) * scale


def logarithm_of_share(value, top, shift):
    """Replacement of ``share``: an element of its logarithm.  ``top + shift`` would be rounded to the digits of top."""
    return value - top - shift


def larger(value, top):
    """The larger of two; the second if the first is NaN."""
    return value if value > top else top


def finite(top):
    """The number to subtract from elements of which this is the largest."""
    return T(0) if top == T(-np.inf) else top


def _joined(top, total, other, more):
    """The largest element of two sets, and the sum of their exponentials after subtracting it."""
    highest = larger(other, top)
    zero = finite(highest)
    return highest, total * exp(top - zero) + more * exp(other - zero)


def share_of_line(lines, length, inner, columns, depth, shift, along):
    """The part of a line that a thread processes.

    Returns:
        tuple: the number of the thread among the line's threads, and their distance; the line; the offsets of the
            thread's first element and of the line's last element; the steps within four elements, and from four
            elements to the next four.
    """
    level, column, apart = position(cuda.threadIdx.x, shift, along)
    line = np.int64(cuda.blockIdx.x) * columns + column
    base = column_start(min(line, lines - 1), length, inner)  # threads without a line read the last one
    first = base + level * (4 if PACKED else inner)
    last = base + (length - 1) * inner
    return level, apart, line, first, last, 1 if PACKED else depth * inner, 4 * depth * inner


def softmax_lines(x, lines, length, inner, columns, depth, shift, along, floor, out: Out):
    """``exp(x)`` divided by its sum, or the result of another ``share``, for each line.

    If the largest element is minus infinity, ``floor`` is used instead.
    """
    tops = cuda.shared.array(THREADS, T)
    sums = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, apart, line, first, last, step, stride = share_of_line(lines, length, inner, columns, depth, shift, along)
    top = T(-np.inf)
    total = T(0)
    offset = first
    while offset <= last:
        a, b, c, d = read4(x, offset, step, last)
        a, b, c, d = up_to4(last, offset, step, a, b, c, d, T(-np.inf))
        highest = larger(d, larger(c, larger(b, larger(a, top))))
        zero = finite(highest)
        four = (exp(a - zero) + exp(b - zero)) + (exp(c - zero) + exp(d - zero))
        total = total * exp(top - zero) + four
        top = highest
        offset += stride
    top, total = pair_of_line(_joined, tops, sums, thread, level, depth, apart, top, total)
    top = T(floor) if top == T(-np.inf) else top
    scale = factor(total)
    if line < lines:
        offset = first
        while offset <= last:
            a, b, c, d = read4(x, offset, step, last)
            write4(
                out, offset, step, last, share(a, top, scale), share(b, top, scale), share(c, top, scale),
                share(d, top, scale),
            )  # fmt: skip
            offset += stride


def backward_lines(grad, y, lines, length, inner, columns, depth, shift, along, out: Out):
    """``y * (grad - sum(grad * y))``, or the result of other ``summed`` and ``gradient``, for each line."""
    part = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, apart, line, first, last, step, stride = share_of_line(lines, length, inner, columns, depth, shift, along)
    total = T(0)
    offset = first
    while offset <= last:
        a, b, c, d = read4(grad, offset, step, last)
        e, f, g, h = read4(y, offset, step, last)
        a, b, c, d = up_to4(last, offset, step, summed(a, e), summed(b, f), summed(c, g), summed(d, h), T(0))
        total += (a + b) + (c + d)
        offset += stride
    whole = line_total(part, thread, level, depth, apart, total)
    if line < lines:
        offset = first
        while offset <= last:
            a, b, c, d = read4(grad, offset, step, last)
            e, f, g, h = read4(y, offset, step, last)
            write4(
                out, offset, step, last, gradient(a, e, whole), gradient(b, f, whole), gradient(c, g, whole),
                gradient(d, h, whole),
            )  # fmt: skip
            offset += stride
