"""Convolutions where each filter sees one channel, and their gradients, without copies of windows.

Images have three dimensions: those with fewer have a depth, and height, of 1.  Of the last dimension a launch says
between which columns of the results, ``begins[k]`` and ``ends[k]``, element ``k`` of a filter meets no padding.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..blocks import tree_total
from ..facts import Out
from ..local import local_array

#: Placeholder: the dtype of the elements.
T = np.float32

#: Columns that are summed at a time.
COLUMNS = 256

#: Partial sums of one element of a filter.
LANES = 32


def _add(sums, shift, low, high, weight, x, base, step):
    """``sums[j - shift] += weight * x[base + j * step]``, for the columns j from ``low`` to ``high``."""
    if step == 1:
        for j in range(low, high):
            sums[j - shift] += weight * x[base + j]
    else:
        for j in range(low, high):
            sums[j - shift] += weight * x[base + j * step]


def _spread(sums, shift, low, high, weight, grad, base, step):
    """``sums[j * step - shift] += weight * grad[base + j]``, for the columns j from ``low`` to ``high``."""
    if step == 1:
        for j in range(low, high):
            sums[j - shift] += weight * grad[base + j]
    else:
        for j in range(low, high):
            sums[j * step - shift] += weight * grad[base + j]


def _multiply(sums, low, high, grad, target, x, base, step):
    """The terms ``grad[target + j] * x[base + j * step]``, for columns from ``low`` to ``high``, dealt out to sums."""
    for first in range(low, high, LANES):
        count, own, other = min(LANES, high - first), target + first, base + first * step
        if step == 1:
            for lane in range(count):
                sums[lane] += grad[own + lane] * x[other + lane]
        else:
            for lane in range(count):
                sums[lane] += grad[own + lane] * x[other + lane * step]


def depthwise(
    x, weight, bias, begins, ends, channels, multiplier, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, layers, rows, columns,
    out: Out
):  # fmt: skip
    """``bias`` (which may be empty) and the products of windows with the ``multiplier`` filters of their channel."""
    for plane in prange(out.size // (layers * rows * columns)):
        sums = local_array(COLUMNS, T)
        number, image = plane % (channels * multiplier), plane // multiplier * depth
        own = number * kernel_z * kernel_y * kernel_x
        initial = bias[number] if bias.size else T(0)
        for line in range(layers * rows):
            target = (plane * layers * rows + line) * columns
            top, front = line % rows * stride_y - padding_y, line // rows * stride_z - padding_z
            for start in range(0, columns, COLUMNS):
                stop = min(start + COLUMNS, columns)
                for j in range(stop - start):
                    sums[j] = initial
                for tap in range(kernel_z * kernel_y):
                    y, z = top + tap % kernel_y * dilation_y, front + tap // kernel_y * dilation_z
                    if 0 <= y < height and 0 <= z < depth:
                        base = ((image + z) * height + y) * width - padding_x
                        for k in range(kernel_x):
                            low, high = max(begins[k], start), min(ends[k], stop)
                            factor = weight[own + tap * kernel_x + k]
                            _add(sums, start, low, high, factor, x, base + k * dilation_x, stride_x)
                for j in range(stop - start):
                    out[target + start + j] = sums[j]


def depthwise_input(
    grad, weight, bias, begins, ends, channels, multiplier, depth, height, width, kernel_z, kernel_y, kernel_x,
    stride_z, stride_y, stride_x, padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, layers, rows,
    columns, out: Out
):  # fmt: skip
    """``bias`` (which may be empty) and the gradients for the images: each line gathers what its elements went to."""
    for plane in prange(out.size // (depth * height * width)):
        sums = local_array(COLUMNS, T)
        channel = plane % channels
        initial = bias[channel] if bias.size else T(0)
        for line in range(depth * height):
            bottom, back = line % height + padding_y, line // height + padding_z
            for start in range(0, width, COLUMNS):
                stop = min(start + COLUMNS, width)
                for i in range(stop - start):
                    sums[i] = initial
                for tap in range(multiplier * kernel_z * kernel_y):
                    which = tap // (kernel_z * kernel_y)
                    y = bottom - tap % kernel_y * dilation_y
                    z = back - tap // kernel_y % kernel_z * dilation_z
                    row, layer = y // stride_y, z // stride_z
                    if row * stride_y == y and layer * stride_z == z and 0 <= row < rows and 0 <= layer < layers:
                        base = (((plane * multiplier + which) * layers + layer) * rows + row) * columns
                        own = (channel * multiplier * kernel_z * kernel_y + tap) * kernel_x
                        for k in range(kernel_x):
                            shift = start + padding_x - k * dilation_x  # column j went from element j * stride - shift
                            low, high = begins[k], ends[k]
                            if width > COLUMNS:
                                low = max(low, (shift + stride_x - 1) // stride_x)
                                high = min(high, (shift + stop - start + stride_x - 1) // stride_x)
                            _spread(sums, shift, low, high, weight[own + k], grad, base, stride_x)
                for i in range(stop - start):
                    out[(plane * depth * height + line) * width + start + i] = sums[i]


def depthwise_weight(
    grad, x, begins, ends, images, channels, multiplier, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, layers, rows, columns,
    out: Out
):  # fmt: skip
    """The gradients for the filters, image by image."""
    taps = kernel_z * kernel_y * kernel_x
    for number in prange(channels * multiplier):
        sums = local_array(LANES, T)
        for tap in range(taps):
            k, up, back = tap % kernel_x, tap // kernel_x % kernel_y, tap // (kernel_x * kernel_y)
            total = T(0)
            for n in range(images):
                plane, image = n * channels * multiplier + number, n * channels + number // multiplier
                for lane in range(LANES):
                    sums[lane] = T(0)
                for line in range(layers * rows):
                    y = line % rows * stride_y - padding_y + up * dilation_y
                    z = line // rows * stride_z - padding_z + back * dilation_z
                    if 0 <= y < height and 0 <= z < depth:
                        base = ((image * depth + z) * height + y) * width - padding_x + k * dilation_x
                        target = (plane * layers * rows + line) * columns
                        _multiply(sums, begins[k], ends[k], grad, target, x, base, stride_x)
                total += tree_total(sums, LANES)
            out[number * taps + tap] = total
