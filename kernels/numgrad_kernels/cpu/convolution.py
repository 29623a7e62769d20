"""Convolutions as matrix products by BLAS of filters and windows (im2col), a cache's worth of windows at a time.

``plan`` holds the numbers at the indices named below.  A line of windows extends along the last dimension.  Results and
their gradients are contiguous.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Blas, Out, reaches
from ..foreign import gemm

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Numbers of images, of groups of channels, of channels and of filters in a group, and of lines of windows that are
#: multiplied at a time.
IMAGES, GROUPS, CHANNELS, FILTERS, TALL = 0, 1, 2, 3, 4

#: The extents of a filter in three dimensions, and the numbers of windows in them.
BACK, DOWN, RIGHT, LAYERS, ROWS, COLUMNS = 5, 6, 7, 8, 9, 10

#: The steps in the array of images: from image to image, from channel to channel, from element to element of a window,
#: and from window to window.
IMAGE_STEP, CHANNEL_STEP, BACK_STEP, DOWN_STEP, RIGHT_STEP, LAYER_STEP, ROW_STEP, COLUMN_STEP = range(11, 19)

#: STRAIGHT is true if windows are single contiguous elements, which BLAS reads in place.  WIDE is the number of windows
#: of a line that are multiplied at a time: all, unless the lines are multiplied one by one.
STRAIGHT, WIDE = 19, 20

#: Pairs of a count and the step between the elements counted.
_STEPS = (
    (LAYERS, LAYER_STEP), (ROWS, ROW_STEP), (COLUMNS, COLUMN_STEP), (BACK, BACK_STEP), (DOWN, DOWN_STEP),
    (RIGHT, RIGHT_STEP),
)  # fmt: skip


def _reached(args):
    plan = args.plan.tolist()
    places, taps = plan[LAYERS] * plan[ROWS] * plan[COLUMNS], plan[BACK] * plan[DOWN] * plan[RIGHT]
    span = 1 + sum([(plan[count] - 1) * plan[step] for count, step in _STEPS])
    filters = plan[GROUPS] * plan[FILTERS] * plan[CHANNELS] * taps
    per_group = max(plan[FILTERS] * places, plan[CHANNELS] * min(places * taps, span))
    return max(plan[IMAGES] * plan[GROUPS] * per_group, filters)


def pieces(plan):
    """The number of pieces of work."""
    return plan[IMAGES] * plan[GROUPS] * _strips(plan)


def _strips(plan):
    """The number of pieces in which the windows of an image are multiplied."""
    return (plan[LAYERS] * plan[ROWS] + plan[TALL] - 1) // plan[TALL] * _cuts(plan)


def _cuts(plan):
    """The number of pieces into which a line is cut."""
    return (plan[COLUMNS] + plan[WIDE] - 1) // plan[WIDE]


def _first_line(plan, piece):
    """The line of an image at which a piece begins."""
    return piece % _strips(plan) // _cuts(plan) * plan[TALL]


def _first_column(plan, piece):
    """The position in its lines at which a piece begins."""
    return piece % _cuts(plan) * plan[WIDE]


def height(plan):
    """The number of elements of a window, in all channels of a group."""
    return plan[CHANNELS] * plan[BACK] * plan[DOWN] * plan[RIGHT]


def _start(plan, piece):
    """The offset in the result, or in its gradient, of the first filter's numbers for a piece."""
    lines = piece // _strips(plan) * plan[FILTERS] * plan[LAYERS] * plan[ROWS] + _first_line(plan, piece)
    return lines * plan[COLUMNS] + _first_column(plan, piece)


def _columns(plan, piece):
    """The number of windows of each line in a piece."""
    return min(plan[WIDE], plan[COLUMNS] - _first_column(plan, piece))


def _width(plan, piece):
    """The number of windows in a piece."""
    return min(plan[TALL], plan[LAYERS] * plan[ROWS] - _first_line(plan, piece)) * _columns(plan, piece)


def _corner(plan, piece):
    """The offset in an array of images of the first window of a piece, without the steps to its line."""
    return _steps_to_pair(plan, piece // _strips(plan)) + _first_column(plan, piece) * plan[COLUMN_STEP]


def _steps_to_pair(plan, pair):
    """The offset in an array of images of the channels of a group, in one image."""
    return pair // plan[GROUPS] * plan[IMAGE_STEP] + pair % plan[GROUPS] * plan[CHANNELS] * plan[CHANNEL_STEP]


def _element(plan, row):
    """The distance of the element with this number from the beginning of its window."""
    right = row % plan[RIGHT]
    down = row // plan[RIGHT] % plan[DOWN]
    back = row // (plan[RIGHT] * plan[DOWN]) % plan[BACK]
    channel = row // (plan[RIGHT] * plan[DOWN] * plan[BACK])
    within = back * plan[BACK_STEP] + down * plan[DOWN_STEP] + right * plan[RIGHT_STEP]
    return channel * plan[CHANNEL_STEP] + within


def _line(plan, line):
    """The distance of a line of windows from the first one."""
    return line // plan[ROWS] * plan[LAYER_STEP] + line % plan[ROWS] * plan[ROW_STEP]


def _for_each_line(move, plan, images, start, piece, work, base):
    """``move`` the windows of a piece, line by line: to or from the columns of a matrix at ``base``."""
    corner = start + _corner(plan, piece)
    columns, first = _columns(plan, piece), _first_line(plan, piece)
    last = first + _width(plan, piece) // columns
    position = base
    for row in range(height(plan)):
        element = corner + _element(plan, row)
        for line in range(first, last):
            move(images, element + _line(plan, line), plan[COLUMN_STEP], work, position, columns)
            position += columns


def _copy(images, source, step, work, target, count):
    if step == 1:
        for i in range(count):
            work[target + i] = images[source + i]
    else:
        for i in range(count):
            work[target + i] = images[source + i * step]


def _add(images, target, step, work, source, count):
    for i in range(count):
        images[target + i * step] += work[source + i]


def _windows(plan, x, x_start, piece, width, work, base):
    """The matrix whose columns are the windows of a piece, its offset, and its step from row to row."""
    if plan[STRAIGHT]:
        corner = x_start + _corner(plan, piece)
        return x, corner + _line(plan, _first_line(plan, piece)), plan[CHANNEL_STEP]
    _for_each_line(_copy, plan, x, x_start, piece, work, base)
    return work, base, width


@reaches(_reached)
def convolution(address: Blas, plan, workers, x, x_start, filters, bias, work: Out, out: Out):
    """``out`` becomes the products of the filters with all windows, plus the filters' ``bias`` if there is one.

    Each of the ``workers`` uses an equal part of ``work`` for windows.
    """
    size, places = height(plan), plan[LAYERS] * plan[ROWS] * plan[COLUMNS]
    for worker in prange(workers):
        base = work.size // workers * worker
        for piece in range(worker * pieces(plan) // workers, (worker + 1) * pieces(plan) // workers):
            group = piece // _strips(plan) % plan[GROUPS]
            start, width = _start(plan, piece), _width(plan, piece)
            if bias.size:
                for number in range(plan[FILTERS]):
                    value = bias[group * plan[FILTERS] + number]
                    for i in range(width):
                        out[start + number * places + i] = value
            windows, corner, step = _windows(plan, x, x_start, piece, width, work, base)
            gemm(
                address, plan[FILTERS], width, size, filters, group * plan[FILTERS] * size, size, 0,
                windows, corner, step, 0, 1 if bias.size else 0, out, start, places,
            )  # fmt: skip


@reaches(_reached)
def convolution_input(address: Blas, plan, workers, grad, filters, bias, work: Out, out: Out):
    """The gradients for images: products of the filters with those for the results, summed where windows overlap.

    A ``bias`` for each channel of the images, if there is one, is added.  Each of the ``workers`` processes whole
    groups of channels, in an equal part of ``work``.
    """
    size, places = height(plan), plan[LAYERS] * plan[ROWS] * plan[COLUMNS]
    for worker in prange(workers):
        base = work.size // workers * worker
        pairs = plan[IMAGES] * plan[GROUPS]
        for pair in range(worker * pairs // workers, (worker + 1) * pairs // workers):
            group = pair % plan[GROUPS]
            for channel in range(plan[CHANNELS]):
                value = bias[group * plan[CHANNELS] + channel] if bias.size else T(0)
                begin = (pair * plan[CHANNELS] + channel) * plan[CHANNEL_STEP]
                for j in range(plan[CHANNEL_STEP]):
                    out[begin + j] = value
            for piece in range(pair * _strips(plan), (pair + 1) * _strips(plan)):
                start, width = _start(plan, piece), _width(plan, piece)
                gemm(
                    address, size, width, plan[FILTERS], filters, group * plan[FILTERS] * size, size, 1,
                    grad, start, places, 0, 0, work, base, width,
                )  # fmt: skip
                _for_each_line(_add, plan, out, 0, piece, work, base)


@reaches(_reached)
def convolution_weight(address: Blas, plan, parts, grad, x, x_start, work: Out, sums: Out, out: Out):
    """The gradients for the filters: sums of products of those for the results with the windows.

    Each of the ``parts`` of the pieces has its own ``sums`` and an equal part of ``work``.  The number of parts does
    not depend on the number of threads, so neither does the rounding.
    """
    size, places = height(plan), plan[LAYERS] * plan[ROWS] * plan[COLUMNS]
    for part in prange(parts):
        base = work.size // parts * part
        for i in range(out.size):
            sums[part * out.size + i] = T(0)
        for piece in range(part * pieces(plan) // parts, (part + 1) * pieces(plan) // parts):
            group = piece // _strips(plan) % plan[GROUPS]
            start, width = _start(plan, piece), _width(plan, piece)
            windows, corner, step = _windows(plan, x, x_start, piece, width, work, base)
            gemm(
                address, plan[FILTERS], size, width, grad, start, places, 0, windows, corner, step, 1,
                1, sums, part * out.size + group * plan[FILTERS] * size, size,
            )  # fmt: skip
    for j in range(out.size):
        out[j] = sums[j]
    for later in range(1, parts):
        for j in range(out.size):
            out[j] += sums[later * out.size + j]


def gemm_of_any(
    address, m, n, k, x, x_start, x_step, x_transposed, y, y_start, y_step, y_transposed, add, out, out_start, out_step
):  # fmt: skip
    """Replacement of ``gemm`` for elements that BLAS does not support, or if BLAS is not available."""
    down, right = (1, x_step) if x_transposed else (x_step, 1)
    for i in range(m):
        source, target = x_start + i * down, out_start + i * out_step
        if add == 0:
            for j in range(n):
                out[target + j] = T(0)
        if y_transposed:
            for j in range(n):
                total = T(0)
                for h in range(k):
                    total = T(total + x[source + h * right] * y[y_start + j * y_step + h])
                out[target + j] = T(out[target + j] + total)
        else:
            for h in range(k):
                begin = y_start + h * y_step
                _add_times(x[source + h * right], y[begin : begin + n], out[target : target + n])


def _add_times(factor, values, out):
    for j in range(out.size):
        out[j] = T(out[j] + factor * values[j])
