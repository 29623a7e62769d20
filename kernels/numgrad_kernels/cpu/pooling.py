"""The largest element of each window of images, and where it is.

Images have three dimensions; those with fewer have a depth, and height, of 1.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out

#: Placeholder: the dtype of the elements.
T = np.float32


def window(place, stride, padding, dilation, kernel, size):
    """Where the elements of a window that are no padding begin and end, in one dimension."""
    start = place * stride - padding
    first = start if start >= 0 else start % dilation
    return min(first, size - 1), min(start + dilation * kernel, size) if first < size else np.int64(0)


def largest(
    x, base, layer, row, column, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x,
    padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, lowest,
):  # fmt: skip
    """The first of the largest elements of a window, or the last NaN, and its index in the image at ``base``."""
    first_z, last_z = window(layer, stride_z, padding_z, dilation_z, kernel_z, depth)
    first_y, last_y = window(row, stride_y, padding_y, dilation_y, kernel_y, height)
    first_x, last_x = window(column, stride_x, padding_x, dilation_x, kernel_x, width)
    best, index = T(lowest), (first_z * height + first_y) * width + first_x
    z = first_z
    while z < last_z:
        y = first_y
        while y < last_y:
            line = (z * height + y) * width
            i = first_x
            while i < last_x:
                value = x[np.uint64(base + line + i)]
                if value > best or value != value:
                    best, index = value, line + i
                i += dilation_x
            y += dilation_y
        z += dilation_z
    return best, index


def max_pool(
    x, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x, padding_z, padding_y,
    padding_x, dilation_z, dilation_y, dilation_x, layers, rows, columns, lowest, out: Out, indices: Out
):  # fmt: skip
    """The largest elements of all windows of each image, ``layers * rows * columns`` of them, and their indices."""
    for line in prange(out.size // columns):
        layer, row = line // rows % layers, line % rows
        base = line // (layers * rows) * depth * height * width
        for column in range(columns):
            best, index = largest(
                x, base, layer, row, column, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y,
                stride_x, padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, lowest,
            )  # fmt: skip
            out[line * columns + column] = best
            indices[line * columns + column] = index
