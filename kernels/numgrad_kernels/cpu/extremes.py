"""The largest or smallest elements over one axis of arrays seen as (outer, length, inner), and their first indices; the
largest elements of windows.

A launch chooses ``fold``, which returns the winner of two elements.  A NaN wins over everything else.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out, reaches
from ..local import local_array
from ..scalar import isnan, where
from .reductions import fold, fold_leaf
from .segments import strip, strips

#: Placeholder: the dtype of the elements.
T = np.float32

#: Number of elements whose extreme is computed before its index is searched for.
LEAF = 4096

#: Columns that are reduced together.
COLUMNS = 256


def _index_of_extreme(x, start, length):
    """The index of the extreme of ``length`` elements, counted from the first of them."""
    index = 0
    for low in range(0, length, LEAF):
        best = x[start + index]
        if isnan(best):
            break
        size = min(LEAF, length - low)
        value = fold(best, fold_leaf(x, start + low, size, best, best))
        if low == 0 or value != best:  # a NaN differs, too
            index = low
            element = x[start + index]
            while index < low + size - 1 and not (element == value or (isnan(value) and isnan(element))):
                index += 1
                element = x[start + index]
    return index


def extreme_leaves(x, candidates: Out):
    """The indices of the extremes of each LEAF elements."""
    for leaf in prange(candidates.size):
        low = leaf * LEAF
        candidates[leaf] = low + _index_of_extreme(x, low, min(LEAF, x.size - low))


@reaches(lambda args: args.candidates.size)
def combine_extremes(x, candidates, out: Out, indices: Out):
    """The extreme of the elements at these ascending indices."""
    index = candidates[0]
    for candidate in candidates:
        best = x[index]
        if not isnan(best) and fold(best, x[candidate]) != best:
            index = candidate
    out[0] = x[index]
    indices[0] = index


def extreme_rows(x, length, out: Out, indices: Out):
    """The extreme of each row and its index in it."""
    for row in prange(out.size):
        index = _index_of_extreme(x, row * length, length)
        out[row] = x[row * length + index]
        indices[row] = index


def extreme_columns(x, length, inner, out: Out, indices: Out):
    """The extreme along the middle axis and its index on it."""
    for piece in prange(out.size // inner * strips(inner, COLUMNS)):
        base, width = strip(piece, length, inner, COLUMNS)
        target, _ = strip(piece, 1, inner, COLUMNS)
        best = local_array(COLUMNS, T)
        index = local_array(COLUMNS, np.int64)
        for column in range(width):
            best[column] = x[base + column]
            index[column] = 0
        for row in range(1, length):
            line = base + row * inner
            for column in range(width):
                value = x[line + column]
                present = best[column]
                changes = (present == present) & (fold(present, value) != present)
                best[column] = where(changes, value, present)
                index[column] = where(changes, row, index[column])
        for column in range(width):
            out[target + column] = best[column]
            indices[target + column] = index[column]


# -- windows of images of three dimensions; missing dimensions have size 1 --------------------------------------------


def window(index, stride, padding, dilation, kernel, size):
    """The beginning and end of the elements of a window that are not padding, in one dimension."""
    start = index * stride - padding
    first = start if start >= 0 else start % dilation
    return min(first, size - 1), min(start + dilation * kernel, size) if first < size else np.int64(0)


def adaptive_window(index, stride, padding, dilation, kernel, size):
    """Replacement of ``window``: the beginning and end of one of ``stride`` windows that divide a dimension."""
    return index * size // stride, ((index + 1) * size + stride - 1) // stride


def largest_of_window(
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
                value = x[base + line + i]
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
            best, index = largest_of_window(
                x, base, layer, row, column, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y,
                stride_x, padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, lowest,
            )  # fmt: skip
            out[line * columns + column] = best
            indices[line * columns + column] = index


def spacing(stride):
    """Placeholder: a stride that may be a constant, for which the compiler generates better code."""
    return stride


def spacing_of_one(stride):
    """A stride of 1."""
    return 1


def spacing_of_two(stride):
    """A stride of 2."""
    return 2


def _keep_larger(best, index, low, high, x, base, step, within):
    """Update columns ``low`` to ``high`` with ``x[base + within + j * step]`` where that is larger than their best."""
    for j in range(low, high):
        value = x[base + within + j * step]
        changes = (value > best[j]) | (value != value) | (index[j] < 0)
        best[j] = where(changes, value, best[j])
        index[j] = where(changes, np.int32(within + j * step), index[j])


def max_pool_lines(
    x, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x, padding_z, padding_y,
    padding_x, dilation_z, dilation_y, dilation_x, layers, rows, columns, lowest, out: Out, indices: Out
):  # fmt: skip
    """The largest elements of all windows of each image with fewer than 2**31 elements, and their indices.

    All windows of a line are computed together, element by element.
    """
    for line in prange(out.size // columns):
        best = local_array(COLUMNS, T)
        index = local_array(COLUMNS, np.int32)
        front, top = line // rows % layers * stride_z - padding_z, line % rows * stride_y - padding_y
        base = line // (layers * rows) * depth * height * width
        for start in range(0, columns, COLUMNS):
            stop = min(start + COLUMNS, columns)
            for j in range(stop - start):
                best[j] = T(lowest)
                index[j] = np.int32(-1)
            for tap in range(kernel_z * kernel_y):
                z, y = front + tap // kernel_y * dilation_z, top + tap % kernel_y * dilation_y
                if 0 <= z < depth and 0 <= y < height:
                    for k in range(kernel_x):
                        shift = k * dilation_x - padding_x  # from the first element of a line
                        low, high = -(shift // stride_x), (width - 1 - shift) // stride_x + 1
                        low, high = max(low, start) - start, min(high, stop) - start
                        within = (z * height + y) * width + shift + start * stride_x
                        _keep_larger(best, index, low, high, x, base, spacing(stride_x), within)
            for j in range(stop - start):
                out[line * columns + start + j] = best[j]
                indices[line * columns + start + j] = max(index[j], 0)
