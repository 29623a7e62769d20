"""Convolutions in which each filter sees one channel, and their gradients, without copies of windows.

Images have three dimensions: those with fewer have a depth, and height, of 1.  For the last dimension a launch
specifies the columns of the results, from ``begins[k]`` to ``ends[k]``, for which element ``k`` of a filter meets no
padding.  The columns from ``begin`` to ``end``, for which no element meets padding, are computed in blocks.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..blocks import between, block, every_other, put, repeated, tree_total
from ..facts import Out
from ..local import local_array

#: Placeholder: the dtype of the elements.
T = np.float32

#: Elements of a line of images that are summed at a time.
COLUMNS = 256

#: Placeholder: elements of a block.
LANES = 8


def elements(x, offset):
    """A block whose elements are a stride of 1 apart; a launch may choose the next function instead."""
    return block(x, offset, LANES)


def elements_by_two(x, offset):
    """A block whose elements are a stride of 2 apart."""
    return every_other(x, offset, LANES)


def depthwise(
    x, weight, bias, begin, end, channels, multiplier, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, layers, rows, columns,
    out: Out
):  # fmt: skip
    """``bias`` (which may be empty) plus the products of windows with the ``multiplier`` filters of their channel."""
    for plane in prange(out.size // (layers * rows * columns)):
        number, image = plane % (channels * multiplier), plane // multiplier * depth
        filter = number * kernel_z * kernel_y * kernel_x
        initial = bias[number] if bias.size else T(0)
        for line in range(layers * rows):
            target = (plane * layers * rows + line) * columns
            top, front = line % rows * stride_y - padding_y, line // rows * stride_z - padding_z
            for start in range(begin, end, LANES):
                first = min(start, end - LANES)
                sums = repeated(initial, LANES)
                for c in range(kernel_z):
                    z = front + c * dilation_z
                    for b in range(kernel_y):
                        y = top + b * dilation_y
                        if 0 <= y < height and 0 <= z < depth:
                            base = ((image + z) * height + y) * width - padding_x + first * stride_x
                            factors = filter + (c * kernel_y + b) * kernel_x
                            for k in range(kernel_x):
                                sums = sums + elements(x, base + k * dilation_x) * weight[factors + k]
                put(out, target + first, sums)
            for j in range(columns - max(end - begin, 0)):
                column = j if j < begin else j + max(end - begin, 0)
                sum_ = initial
                for tap in range(kernel_z * kernel_y):
                    y, z = top + tap % kernel_y * dilation_y, front + tap // kernel_y * dilation_z
                    if 0 <= y < height and 0 <= z < depth:
                        base = ((image + z) * height + y) * width
                        for k in range(kernel_x):
                            i = column * stride_x + k * dilation_x - padding_x
                            if 0 <= i < width:
                                sum_ += weight[filter + tap * kernel_x + k] * x[base + i]
                out[target + column] = sum_


def _spread(sums, first, low, high, weight, grad, base):
    """``sums[first + j] += weight * grad[base + j]``, for the columns j from ``low`` to ``high``."""
    for j in range(low, high):
        sums[first + j] += weight * grad[base + j]


def depthwise_input(
    grad, weight, bias, begins, ends, channels, multiplier, depth, height, width, kernel_z, kernel_y, kernel_x,
    stride_z, stride_y, stride_x, padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, layers, rows,
    columns, out: Out
):  # fmt: skip
    """``bias`` (which may be empty) plus the gradients for the images: each line gathers from the results it affects.

    The sums of elements that are a stride apart are contiguous.
    """
    for plane in prange(out.size // (depth * height * width)):
        sums = local_array(COLUMNS, T)
        span = COLUMNS // stride_x
        channel = plane % channels
        initial = bias[channel] if bias.size else T(0)
        for line in range(depth * height):
            bottom, back = line % height + padding_y, line // height + padding_z
            for start in range(0, width, span * stride_x):
                count = min(span * stride_x, width - start)
                for i in range(COLUMNS):
                    sums[i] = initial
                for tap in range(multiplier * kernel_z * kernel_y):
                    which = tap // (kernel_z * kernel_y)
                    y = bottom - tap % kernel_y * dilation_y
                    z = back - tap // kernel_y % kernel_z * dilation_z
                    row, layer = y // stride_y, z // stride_z
                    if row * stride_y == y and layer * stride_z == z and 0 <= row < rows and 0 <= layer < layers:
                        base = (((plane * multiplier + which) * layers + layer) * rows + row) * columns
                        filter = (channel * multiplier * kernel_z * kernel_y + tap) * kernel_x
                        for k in range(kernel_x):
                            shift = k * dilation_x - padding_x - start  # column j went to j * stride + shift
                            phase, first = shift % stride_x, shift // stride_x
                            low = max(begins[k], -first)
                            high = min(ends[k], (count - phase + stride_x - 1) // stride_x - first)
                            _spread(sums, phase * span + first, low, high, weight[filter + k], grad, base)
                target = (plane * depth * height + line) * width + start
                for phase in range(min(stride_x, count)):
                    for i in range((count - phase + stride_x - 1) // stride_x):
                        out[target + i * stride_x + phase] = sums[phase * span + i]


def depthwise_weight(
    grad, x, begins, ends, images, channels, multiplier, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, layers, rows, columns,
    out: Out
):  # fmt: skip
    """The gradients for the filters, image by image."""
    taps = kernel_z * kernel_y * kernel_x
    for number in prange(channels * multiplier):
        for tap in range(taps):
            k, up, back = tap % kernel_x, tap // kernel_x % kernel_y, tap // (kernel_x * kernel_y)
            count = ends[k] - begins[k] if stride_x < 3 else 0  # columns of a line computed in blocks
            total = T(0)
            for n in range(images):
                plane, image = n * channels * multiplier + number, n * channels + number // multiplier
                sums = repeated(T(0), LANES)
                for layer in range(layers):
                    z = layer * stride_z - padding_z + back * dilation_z
                    for row in range(rows):
                        y = row * stride_y - padding_y + up * dilation_y
                        base = ((image * depth + z) * height + y) * width - padding_x + k * dilation_x
                        target = ((plane * layers + layer) * rows + row) * columns
                        if not (0 <= y < height and 0 <= z < depth):
                            continue
                        if count >= LANES:
                            for j in range(begins[k], ends[k] - LANES + 1, LANES):
                                sums = sums + block(grad, target + j, LANES) * elements(x, base + j * stride_x)
                            if count % LANES:
                                j = ends[k] - LANES
                                terms = block(grad, target + j, LANES) * elements(x, base + j * stride_x)
                                sums = sums + between(terms, LANES - count % LANES, LANES, T(0))
                        else:
                            for j in range(begins[k], ends[k]):
                                total += grad[target + j] * x[base + j * stride_x]
                total += tree_total(sums, LANES)
            out[number * taps + tap] = total
