"""Sums over a segment of a row, and its largest element; strips of columns.

Blocks of 64 elements go through 64 accumulators, which vectorise.  If the last block is not whole, the last 64
elements are read instead, those already counted masked out: no loop over single elements is left.  The accumulators
are added up after each leaf of a fixed length, so that the rounding error stays small; the order of additions
depends on the length alone.
"""

from __future__ import annotations

import numpy as np

from ..local import local_array, tree_largest, tree_total

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Elements of a leaf of a sum.
LEAF = 4096


def largest(x, start, length):
    """The largest element of a segment of at least one; anything where there is a NaN."""
    best = x[start]
    if length < 64:
        for j in range(1, length):
            value = x[start + j]
            best = value if value > best else best
    else:
        lanes = local_array(64, T)
        last = start + length - 64
        for j in range(64):
            lanes[j] = x[last + j]
        for i in range(0, length - 64, 64):
            offset = start + i
            for j in range(64):
                value = x[offset + j]
                lanes[j] = value if value > lanes[j] else lanes[j]
        best = tree_largest(lanes, 64)
    return best


def short_total(x, start, length):
    """The sum of fewer than 64 elements, through 4 accumulators: an addition need not wait for the one before."""
    lanes = local_array(4, T)
    for j in range(4):
        lanes[j] = T(0)
    for i in range(0, length - 3, 4):
        offset = start + i
        for j in range(4):
            lanes[j] += x[offset + j]
    for i in range(length // 4 * 4, length):
        lanes[0] += x[start + i]
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])


def long_total(term, x, a, y, b, start, length):
    """The sum of ``term(x, a, y, b, offset)`` over the offsets of a segment of 64 or more elements."""
    result = T(0)
    lanes = local_array(64, T)
    for first in range(0, length, LEAF):
        for j in range(64):
            lanes[j] = T(0)
        stop = min(first + LEAF, length)
        for i in range(first, stop - 63, 64):
            offset = start + i
            for j in range(64):
                lanes[j] += term(x, a, y, b, offset + j)
        counted = 64 - (stop - first) % 64  # of the last 64 elements
        if counted < 64:
            offset = start + stop - 64
            for j in range(64):
                value = term(x, a, y, b, offset + j)
                lanes[j] += value if j >= counted else T(0)
        result += tree_total(lanes, 64)
    return result


def _element(x, a, y, b, offset):
    return x[offset]


def _product(x, a, y, b, offset):
    return (x[offset] - a) * (y[offset] - b)


def total(x, start, length):
    """The sum of a segment."""
    if length < 64:
        return short_total(x, start, length)
    return long_total(_element, x, T(0), x, T(0), start, length)


def products(x, a, y, b, start, length):
    """The sum of ``(x - a) * (y - b)`` over two segments."""
    if length < 64:
        terms = local_array(64, T)
        for j in range(length):
            terms[j] = _product(x, a, y, b, start + j)
        return short_total(terms, 0, length)
    return long_total(_product, x, a, y, b, start, length)


# -- columns of arrays seen as (outer, length, inner): a piece of the work is a strip of neighbouring ones ------------


def strips(inner, most):
    """How many strips of ``most`` columns there are, the last of which may be narrower."""
    return (inner + most - 1) // most


def strip(piece, length, inner, most):
    """The offset of a strip's first element, and how many columns it has."""
    first = piece % strips(inner, most) * most
    return piece // strips(inner, most) * length * inner + first, min(most, inner - first)
