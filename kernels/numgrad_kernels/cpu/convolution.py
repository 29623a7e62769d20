"""Convolutions as products of matrices by BLAS, of filters and windows (im2col), a cache's worth of windows at a time.

``plan`` holds the numbers of images, of groups of channels, of channels and of filters in a group; how many lines of
windows are multiplied at a time; the extents of a filter; how many windows there are, in three dimensions; the steps in
``x`` from image to image and from channel to channel, from element to element of a window, and from window to window;
and whether a channel's windows are single elements that follow one another, which BLAS reads as they lie.
A line of windows is one along the last dimension.  Results, and what gradients are given for them, are contiguous.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Blas, Out
from ..foreign import gemm

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def _pieces(plan):
    """How many pieces of work there are."""
    return plan[0] * plan[1] * _strips(plan)


def _strips(plan):
    """How many pieces the windows of an image are multiplied in."""
    return (plan[8] * plan[9] + plan[4] - 1) // plan[4]


def _height(plan):
    """The elements of a window, in all channels of a group."""
    return plan[2] * plan[5] * plan[6] * plan[7]


def _start(plan, piece):
    """Where in the result, or in its gradient, the first filter's numbers of a piece begin."""
    strips = _strips(plan)
    return (piece // strips * plan[3] * plan[8] * plan[9] + piece % strips * plan[4]) * plan[10]


def _width(plan, piece):
    """How many windows a piece has."""
    return min(plan[4], plan[8] * plan[9] - piece % _strips(plan) * plan[4]) * plan[10]


def _copy_windows(plan, x, x_start, piece, work, base):
    """The windows of a piece become the columns of a matrix at ``base``; returned is where in ``x`` the first begins.
    """
    strips = _strips(plan)
    group = piece // strips % plan[1]
    corner = x_start + piece // (strips * plan[1]) * plan[11] + group * plan[2] * plan[12]
    first = piece % strips * plan[4]
    columns = plan[10]
    count = min(plan[4], plan[8] * plan[9] - first)
    rows_of_filter = 0 if plan[19] else _height(plan)
    for row in range(rows_of_filter):
        right = row % plan[7]
        down = row // plan[7] % plan[6]
        back = row // (plan[7] * plan[6]) % plan[5]
        channel = row // (plan[7] * plan[6] * plan[5])
        element = corner + channel * plan[12] + back * plan[13] + down * plan[14] + right * plan[15]
        target = base + row * count * columns
        for line in range(first, first + count):
            source = element + line // plan[9] * plan[16] + line % plan[9] * plan[17]
            if plan[18] == 1:
                for i in range(columns):
                    work[target + i] = x[source + i]
            else:
                for i in range(columns):
                    work[target + i] = x[source + i * plan[18]]
            target += columns
    return corner + first // plan[9] * plan[16] + first % plan[9] * plan[17]


def convolution(address: Blas, plan, workers, x, x_start, filters, bias, bias_start, work: Out, out: Out):
    """``out`` becomes the filters' products with all windows, plus the filters' ``bias`` if there is one.

    Each of the ``workers`` has as much of ``work`` for windows.
    """
    height, places = _height(plan), plan[8] * plan[9] * plan[10]
    for worker in prange(workers):
        base = work.size // workers * worker
        for piece in range(worker * _pieces(plan) // workers, (worker + 1) * _pieces(plan) // workers):
            group = piece // _strips(plan) % plan[1]
            start, width = _start(plan, piece), _width(plan, piece)
            corner = _copy_windows(plan, x, x_start, piece, work, base)
            if bias.size:
                for number in range(plan[3]):
                    value = bias[bias_start + group * plan[3] + number]
                    for i in range(width):
                        out[start + number * places + i] = value
            add = 1 if bias.size else 0
            own = group * plan[3] * height
            if plan[19]:
                gemm(address, plan[3], width, height, filters, own, height, 0, x, corner, plan[12], 0,
                     add, out, start, places)  # fmt: skip
            else:
                gemm(address, plan[3], width, height, filters, own, height, 0, work, base, width, 0,
                     add, out, start, places)  # fmt: skip


def convolution_weight(address: Blas, plan, parts, grad, grad_start, x, x_start, work: Out, sums: Out, out: Out):
    """The gradients for the filters: products of those for the results with the windows, added up.

    Each of the ``parts`` of the pieces has its own ``sums`` and as much of ``work``; how many there are does not
    depend on the number of threads, so neither does the rounding.
    """
    height, places = _height(plan), plan[8] * plan[9] * plan[10]
    for part in prange(parts):
        base = work.size // parts * part
        for i in range(out.size):
            sums[part * out.size + i] = T(0)
        for piece in range(part * _pieces(plan) // parts, (part + 1) * _pieces(plan) // parts):
            group = piece // _strips(plan) % plan[1]
            start, width = grad_start + _start(plan, piece), _width(plan, piece)
            corner = _copy_windows(plan, x, x_start, piece, work, base)
            own = part * out.size + group * plan[3] * height
            if plan[19]:
                gemm(address, plan[3], height, width, grad, start, places, 0, x, corner, plan[12], 1,
                     1, sums, own, height)  # fmt: skip
            else:
                gemm(address, plan[3], height, width, grad, start, places, 0, work, base, width, 1,
                     1, sums, own, height)  # fmt: skip
    for j in range(out.size):
        out[j] = sums[j]
    for later in range(1, parts):
        for j in range(out.size):
            out[j] += sums[later * out.size + j]
