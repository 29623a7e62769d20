"""What kernels over rows ask of a stretch of a row: its largest element, sums over it.

They go through 32 accumulators, which vectorise, and sums in blocks of a fixed length, too: the rounding error stays
small, and the order of additions depends on the length alone.  Places are unsigned, for a signed index may count from
the end, and to look whether it does costs more than the addition.
"""

from __future__ import annotations

import numpy as np

from ..local import local_array

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Elements of a block of a sum.
BLOCK = 1024


def largest(x, start, length):
    """The largest element of a stretch of at least one; of one with a NaN anything."""
    best = x[start]
    whole = length // 32 * 32
    if whole:
        lanes = local_array(32, T)
        for j in range(32):
            lanes[j] = best
        for i in range(0, whole, 32):
            place = np.uint64(start + i)
            for j in range(32):
                value = x[place + np.uint64(j)]
                lanes[j] = value if value > lanes[j] else lanes[j]
        for j in range(32):
            best = lanes[j] if lanes[j] > best else best
    for i in range(whole, length):
        value = x[np.uint64(start + i)]
        best = value if value > best else best
    return best


def _lanes_sum(lanes):
    """The sum of 32 accumulators."""
    width = 16
    while width:
        for j in range(width):
            lanes[j] += lanes[j + width]
        width //= 2
    return lanes[0]


def total(x, start, length):
    """The sum of a stretch."""
    result = T(0)
    lanes = local_array(32, T)
    whole = length // 32 * 32
    for low in range(0, whole, BLOCK):
        for j in range(32):
            lanes[j] = T(0)
        for i in range(low, min(whole, low + BLOCK), 32):
            place = np.uint64(start + i)
            for j in range(32):
                lanes[j] += x[place + np.uint64(j)]
        result += _lanes_sum(lanes)
    for i in range(whole, length):
        result += x[np.uint64(start + i)]
    return result


def products(x, a, y, b, start, length):
    """The sum of ``(x - a) * (y - b)`` over two stretches."""
    result = T(0)
    lanes = local_array(32, T)
    whole = length // 32 * 32
    for low in range(0, whole, BLOCK):
        for j in range(32):
            lanes[j] = T(0)
        for i in range(low, min(whole, low + BLOCK), 32):
            place = np.uint64(start + i)
            for j in range(32):
                lanes[j] += (x[place + np.uint64(j)] - a) * (y[place + np.uint64(j)] - b)
        result += _lanes_sum(lanes)
    for i in range(whole, length):
        place = np.uint64(start + i)
        result += (x[place] - a) * (y[place] - b)
    return result
