"""Correction of convolutions where zeros of padding meet infinities and NaN: the products of the two are left out.

Images are padded with zeros: in each dimension, the elements from ``low`` to ``end`` are the image's.  All have three
dimensions.  A finite result involves no such product and stays as it is.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import InOut

#: Placeholder: the dtype of the elements.
T = np.float32

#: Approximate number of results that are checked at a time.
PIECE = 4096


def _all_finite(out, begin, end):
    """True if no element from ``begin`` to ``end`` is infinite or NaN.  The loop has no exit, so that it vectorizes."""
    finite = True
    for i in range(begin, end):
        finite &= out[i] - out[i] == T(0)
    return finite


def mend_line(
    image, filters, bias, biased, groups, channels, count, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y, end_x, layers, rows,
    columns, begin, stop, line, first, apart, out
):  # fmt: skip
    """Recompute the results ``first``, ``first + apart`` and so on of a line, which may involve padding."""
    taps = kernel_z * kernel_y * kernel_x
    plane, front, top = line // (layers * rows), line // rows % layers * stride_z, line % rows * stride_y
    number, n = plane % (groups * count), plane // (groups * count)
    channel = (n * groups + number // count) * channels
    back, bottom = front + (kernel_z - 1) * dilation_z, top + (kernel_y - 1) * dilation_y
    inside = front >= low_z and back < end_z and top >= low_y and bottom < end_y
    skipped = max(stop - begin, 0) if inside else 0
    for j in range(first, columns - skipped, apart):
        column = j if j < begin or skipped == 0 else j + skipped
        target = line * columns + column
        if out[target] - out[target] == T(0):  # it is finite
            continue
        sum_ = bias[number] if biased else T(0)
        for tap in range(taps):
            z = front + tap // (kernel_x * kernel_y) * dilation_z
            y = top + tap // kernel_x % kernel_y * dilation_y
            x = column * stride_x + tap % kernel_x * dilation_x
            if low_z <= z < end_z and low_y <= y < end_y and low_x <= x < end_x:
                for c in range(channels):
                    source = (((channel + c) * depth + z) * height + y) * width + x
                    sum_ += filters[(number * channels + c) * taps + tap] * image[source]
        out[target] = sum_


def mended_weight(
    image, grad, groups, channels, count, images, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y, end_x, layers, rows,
    columns, i
):  # fmt: skip
    """The gradient for the element ``i`` of the filters."""
    taps = kernel_z * kernel_y * kernel_x
    tap, c, number = i % taps, i // taps % channels, i // (taps * channels)
    back, down, right = tap // (kernel_x * kernel_y), tap // kernel_x % kernel_y, tap % kernel_x
    total = T(0)
    for n in range(images):
        plane = (n * groups + number // count) * channels + c
        for line in range(layers * rows):
            z, y = line // rows * stride_z + back * dilation_z, line % rows * stride_y + down * dilation_y
            if total != total or not (low_z <= z < end_z and low_y <= y < end_y):
                continue
            source = ((plane * depth + z) * height + y) * width + right * dilation_x
            target = ((n * groups * count + number) * layers * rows + line) * columns
            sum_ = T(0)
            for j in range(columns):
                if low_x <= j * stride_x + right * dilation_x < end_x:
                    sum_ += grad[target + j] * image[source + j * stride_x]
            total += sum_
    return total


def mend(
    image, filters, bias, biased, groups, channels, count, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y, end_x, layers, rows,
    columns, begin, stop, out: InOut
):  # fmt: skip
    """Recompute the results that are not finite of windows and the ``count`` filters of each group.

    Along a line, the results from ``begin`` to ``stop`` involve no padding.  ``biased`` is true if there is a bias.
    """
    lines, tall = out.size // columns, max(1, PIECE // columns)
    for piece in prange((lines + tall - 1) // tall):
        low, high = piece * tall, min(lines, (piece + 1) * tall)
        if _all_finite(out, low * columns, high * columns):
            continue
        for line in range(low, high):
            mend_line(
                image, filters, bias, biased, groups, channels, count, depth, height, width, kernel_z, kernel_y,
                kernel_x, stride_z, stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z,
                end_y, end_x, layers, rows, columns, begin, stop, line, 0, 1, out,
            )  # fmt: skip


def mend_weight(
    image, grad, groups, channels, count, images, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y, end_x, layers, rows,
    columns, out: InOut
):  # fmt: skip
    """Recompute the gradients for filters that are not finite."""
    for i in prange(out.size):
        if out[i] - out[i] != T(0):  # it is not finite
            out[i] = mended_weight(
                image, grad, groups, channels, count, images, depth, height, width, kernel_z, kernel_y, kernel_x,
                stride_z, stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y,
                end_x, layers, rows, columns, i,
            )  # fmt: skip
