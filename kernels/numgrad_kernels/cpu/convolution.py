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


def _corner(plan, piece):
    """Where in an array of images the first window of a piece begins, less the steps to its line."""
    pair = piece // _strips(plan)
    return pair // plan[1] * plan[11] + pair % plan[1] * plan[2] * plan[12]


def _element(plan, row):
    """How far from the beginning of a window its element of this number lies."""
    right = row % plan[7]
    down = row // plan[7] % plan[6]
    back = row // (plan[7] * plan[6]) % plan[5]
    return row // (plan[7] * plan[6] * plan[5]) * plan[12] + back * plan[13] + down * plan[14] + right * plan[15]


def _line(plan, line):
    """How far from the first line of windows another one lies."""
    return line // plan[9] * plan[16] + line % plan[9] * plan[17]


def _copy_windows(plan, x, x_start, piece, work, base):
    """The windows of a piece become the columns of a matrix at ``base``."""
    corner = x_start + _corner(plan, piece)
    columns = plan[10]
    first = piece % _strips(plan) * plan[4]
    last = first + _width(plan, piece) // columns
    target = base
    for row in range(_height(plan)):
        element = corner + _element(plan, row)
        for line in range(first, last):
            source = element + _line(plan, line)
            if plan[18] == 1:
                for i in range(columns):
                    work[target + i] = x[source + i]
            else:
                for i in range(columns):
                    work[target + i] = x[source + i * plan[18]]
            target += columns


def _add_windows(plan, work, base, piece, out):
    """The columns of the matrix at ``base`` are added to where the windows of a piece lie in ``out``."""
    corner = _corner(plan, piece)
    columns = plan[10]
    first = piece % _strips(plan) * plan[4]
    last = first + _width(plan, piece) // columns
    source = base
    for row in range(_height(plan)):
        element = corner + _element(plan, row)
        for line in range(first, last):
            target = element + _line(plan, line)
            for i in range(columns):
                out[target + i * plan[18]] += work[source + i]
            source += columns


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
            if bias.size:
                for number in range(plan[3]):
                    value = bias[bias_start + group * plan[3] + number]
                    for i in range(width):
                        out[start + number * places + i] = value
            add = 1 if bias.size else 0
            own = group * plan[3] * height
            if plan[19]:
                corner = x_start + _corner(plan, piece) + _line(plan, piece % _strips(plan) * plan[4])
                gemm(address, plan[3], width, height, filters, own, height, 0, x, corner, plan[12], 0,
                     add, out, start, places)  # fmt: skip
            else:
                _copy_windows(plan, x, x_start, piece, work, base)
                gemm(address, plan[3], width, height, filters, own, height, 0, work, base, width, 0,
                     add, out, start, places)  # fmt: skip


def convolution_input(
    address: Blas, plan, workers, grad, grad_start, filters, bias, bias_start, work: Out, out: Out
):  # fmt: skip
    """The gradients for images: products of the filters with those for the results, added up where windows overlap.

    A ``bias`` for each channel of the images, if there is one, is added, too.  Each of the ``workers`` has whole
    groups of channels, and as much of ``work``.
    """
    height, places = _height(plan), plan[8] * plan[9] * plan[10]
    for worker in prange(workers):
        base = work.size // workers * worker
        pairs = plan[0] * plan[1]
        for pair in range(worker * pairs // workers, (worker + 1) * pairs // workers):
            group = pair % plan[1]
            for channel in range(plan[2]):
                value = bias[bias_start + group * plan[2] + channel] if bias.size else T(0)
                begin = (pair * plan[2] + channel) * plan[12]
                for j in range(plan[12]):
                    out[begin + j] = value
            for piece in range(pair * _strips(plan), (pair + 1) * _strips(plan)):
                start, width = grad_start + _start(plan, piece), _width(plan, piece)
                own = group * plan[3] * height
                gemm(address, height, width, plan[3], filters, own, height, 1, grad, start, places, 0,
                     0, work, base, width)  # fmt: skip
                _add_windows(plan, work, base, piece, out)


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
            own = part * out.size + group * plan[3] * height
            if plan[19]:
                corner = x_start + _corner(plan, piece) + _line(plan, piece % _strips(plan) * plan[4])
                gemm(address, plan[3], height, width, grad, start, places, 0, x, corner, plan[12], 1,
                     1, sums, own, height)  # fmt: skip
            else:
                _copy_windows(plan, x, x_start, piece, work, base)
                gemm(address, plan[3], height, width, grad, start, places, 0, work, base, width, 1,
                     1, sums, own, height)  # fmt: skip
    for j in range(out.size):
        out[j] = sums[j]
    for later in range(1, parts):
        for j in range(out.size):
            out[j] += sums[later * out.size + j]
