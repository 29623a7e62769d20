"""Convolutions' results where zeros of padding met infinities and NaN, without the products of the two.

Images lie among zeros: of each dimension, the elements from ``low`` to ``end``, ``step`` apart, are theirs.  All have
three dimensions.  A result that is finite met nothing of the kind and stays as it is.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import InOut

#: Placeholder: the dtype of the elements.
T = np.float32


def own(place, low, end, step):
    """Whether an element is the image's."""
    return low <= place < end and (place - low) % step == 0


def mend(
    image, filters, bias, bias_start, groups, channels, count, depth, height, width, kernel_z, kernel_y, kernel_x,
    stride_z, stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y, end_x,
    step_z, step_y, step_x, layers, rows, columns, begin, stop, out: InOut
):  # fmt: skip
    """Sum anew what is not finite of the products of windows with the ``count`` filters of each group.

    Results from ``begin`` to ``stop`` of a line met no padding in it.
    """
    taps = kernel_z * kernel_y * kernel_x
    for plane in prange(out.size // (layers * rows * columns)):
        number, n = plane % (groups * count), plane // (groups * count)
        first = (n * groups + number // count) * channels
        for line in range(layers * rows):
            front, top = line // rows * stride_z, line % rows * stride_y
            back, bottom = front + (kernel_z - 1) * dilation_z, top + (kernel_y - 1) * dilation_y
            inside = front >= low_z and back < end_z and top >= low_y and bottom < end_y
            skipped = max(stop - begin, 0) if inside and step_z == step_y == step_x == 1 else 0
            for j in range(columns - skipped):
                column = j if j < begin or skipped == 0 else j + skipped
                target = (plane * layers * rows + line) * columns + column
                if out[target] - out[target] == 0:
                    continue
                sum_ = bias[bias_start + number] if bias.size else T(0)
                for tap in range(taps):
                    z = front + tap // (kernel_x * kernel_y) * dilation_z
                    y = top + tap // kernel_x % kernel_y * dilation_y
                    x = column * stride_x + tap % kernel_x * dilation_x
                    if own(z, low_z, end_z, step_z) and own(y, low_y, end_y, step_y) and own(x, low_x, end_x, step_x):
                        for c in range(channels):
                            source = (((first + c) * depth + z) * height + y) * width + x
                            sum_ += filters[(number * channels + c) * taps + tap] * image[source]
                out[target] = sum_


def mend_weight(
    image, grad, groups, channels, count, images, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y, end_x, layers, rows,
    columns, out: InOut
):  # fmt: skip
    """The same of the gradients for filters, of images whose elements lie side by side."""
    taps = kernel_z * kernel_y * kernel_x
    for i in prange(out.size):
        if out[i] - out[i] == 0:
            continue
        tap, c, number = i % taps, i // taps % channels, i // (taps * channels)
        back, down, right = tap // (kernel_x * kernel_y), tap // kernel_x % kernel_y, tap % kernel_x
        total = T(0)
        for n in range(images):
            plane = (n * groups + number // count) * channels + c
            for line in range(layers * rows):
                z, y = line // rows * stride_z + back * dilation_z, line % rows * stride_y + down * dilation_y
                if total != total or not (own(z, low_z, end_z, 1) and own(y, low_y, end_y, 1)):
                    continue
                source = ((plane * depth + z) * height + y) * width + right * dilation_x
                target = ((n * groups * count + number) * layers * rows + line) * columns
                sum_ = T(0)
                for j in range(columns):
                    if own(j * stride_x + right * dilation_x, low_x, end_x, 1):
                        sum_ += grad[target + j] * image[source + j * stride_x]
                total += sum_
        out[i] = total
