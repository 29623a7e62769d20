"""The sum and the largest element of a segment of a row; strips of columns.

Blocks of 64 elements go through 64 accumulators, which vectorise.  If the last block is incomplete, the last 64
elements are read instead, with those already counted masked out, so that no loop over single elements remains.  The
accumulators are added up after each leaf of a fixed length, so that the rounding error stays small; the order of
additions depends on the length alone.
"""

from __future__ import annotations

import numpy as np

from ..blocks import between, block, larger, repeated, tree_largest, tree_total
from ..local import local_array

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Elements of a leaf of a sum.
LEAF = 4096


def largest(x, start, length):
    """The largest element of a non-empty segment; undefined if there is a NaN."""
    best = x[start]
    if length < 64:
        for j in range(1, length):
            value = x[start + j]
            best = value if value > best else best
    else:
        lanes = block(x, start + length - 64, 64)
        for i in range(0, length - 64, 64):
            lanes = larger(block(x, start + i, 64), lanes)
        best = tree_largest(lanes, 64)
    return best


def short_total(x, start, length):
    """The sum of fewer than 64 elements, through 4 accumulators: an addition need not wait for the previous one."""
    lanes = repeated(T(0), 4)
    for i in range(0, length - 3, 4):
        lanes = lanes + block(x, start + i, 4)
    for i in range(length // 4 * 4, length):
        lanes = lanes + between(repeated(x[start + i], 4), 0, 1, T(0))
    return tree_total(lanes, 4)


def long_total(term, x, a, y, b, start, length):
    """The sum over a segment of 64 or more elements of ``term(x, a, y, b, offset)``, which returns blocks of 64."""
    result = T(0)
    for first in range(0, length, LEAF):
        lanes = repeated(T(0), 64)
        stop = min(first + LEAF, length)
        for i in range(first, stop - 63, 64):
            lanes = lanes + term(x, a, y, b, start + i)
        counted = 64 - (stop - first) % 64  # number of the last 64 elements already counted
        if counted < 64:
            lanes = lanes + between(term(x, a, y, b, start + stop - 64), counted, 64, T(0))
        result += tree_total(lanes, 64)
    return result


def _elements(x, a, y, b, offset):
    return block(x, offset, 64)


def _products(x, a, y, b, offset):
    return (block(x, offset, 64) - a) * (block(y, offset, 64) - b)


def total(x, start, length):
    """The sum of a segment."""
    if length < 64:
        return short_total(x, start, length)
    return long_total(_elements, x, T(0), x, T(0), start, length)


def products(x, a, y, b, start, length):
    """The sum of ``(x - a) * (y - b)`` over two segments."""
    if length < 64:
        terms = local_array(64, T)
        for j in range(length):
            terms[j] = (x[start + j] - a) * (y[start + j] - b)
        return short_total(terms, 0, length)
    return long_total(_products, x, a, y, b, start, length)


# -- columns of arrays seen as (outer, length, inner): a piece of the work is a strip of neighbouring columns ----------


def strips(inner, most):
    """The number of strips of ``most`` columns, the last of which may be narrower."""
    return (inner + most - 1) // most


def strip(piece, length, inner, most):
    """The offset of a strip's first element, and its number of columns."""
    first = piece % strips(inner, most) * most
    return piece // strips(inner, most) * length * inner + first, min(most, inner - first)
