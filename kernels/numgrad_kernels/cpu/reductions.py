"""Reductions over one axis of arrays seen as (outer, length, inner), flattened.

Sums go through 64 accumulators, which vectorise, and then through a binary tree: the rounding error grows with the
logarithm of the length, and the order of additions depends on the length alone, never on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..local import local_array
from ..scalar import isnan

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Elements that one leaf of the tree sums.
LEAF = 4096

#: Columns that are reduced together.
COLUMNS = 256


def _sum_leaf(x, start, stop):
    """The sum of a stretch of up to LEAF elements."""
    lanes = local_array(64, T)
    lanes[:] = T(0)
    whole = start + (stop - start) // 64 * 64
    for i in range(start, whole, 64):
        for j in range(64):
            lanes[j] += T(x[i + j])
    for j in range(stop - whole):
        lanes[j] += T(x[whole + j])
    width = 32
    while width:
        for j in range(width):
            lanes[j] += lanes[j + width]
        width //= 2
    return lanes[0]


def _push(levels, depth, leaf, total):
    """Add the sum of leaf number ``leaf`` to the tree, and return how many sums of ever fewer leaves wait in it."""
    filled = leaf
    while filled % 2:  # two sums of one level make one of the next
        depth -= 1
        total = levels[depth] + total
        filled //= 2
    levels[depth] = total
    return depth + 1


def _collapse(levels, depth):
    """The sum of all that waits in the tree."""
    total = levels[depth - 1]
    for level in range(depth - 2, -1, -1):
        total = levels[level] + total
    return total


def _sum_stretch(x, start, length):
    """The sum of any number of elements, by pairs of equally long halves."""
    if length <= LEAF:
        return _sum_leaf(x, start, start + length)
    levels = local_array(64, T)
    depth = 0
    for leaf in range((length + LEAF - 1) // LEAF):
        low = start + leaf * LEAF
        depth = _push(levels, depth, leaf, _sum_leaf(x, low, min(start + length, low + LEAF)))
    return _collapse(levels, depth)


def sum_leaves(x, out):
    """The sums of the stretches of LEAF elements of ``x``."""
    for leaf in prange(out.size):
        low = leaf * LEAF
        out[leaf] = _sum_leaf(x, low, min(x.size, low + LEAF))


def combine_leaves(leaves, out):
    """The sum of what ``sum_leaves`` gives, added in the order that ``sum_rows`` adds in."""
    levels = local_array(64, T)
    depth = 0
    for leaf in range(leaves.size):
        depth = _push(levels, depth, leaf, leaves[leaf])
    out[0] = _collapse(levels, depth)


def sum_rows(x, length, out):
    """``out[r]`` is the sum of row ``r`` of ``x``, seen as (rows, length)."""
    for row in prange(out.size):
        out[row] = _sum_stretch(x, row * length, length)


def sum_columns(x, length, inner, out):
    """``out[o, c]`` is the sum over the middle axis of ``x``, seen as (outer, length, inner)."""
    chunks = (inner + COLUMNS - 1) // COLUMNS
    for piece in prange(out.size // inner * chunks):
        outer = piece // chunks
        first = piece % chunks * COLUMNS
        width = min(COLUMNS, inner - first)
        base = outer * length * inner + first
        total = local_array(COLUMNS, T)
        many = local_array(COLUMNS, T)
        few = local_array(COLUMNS, T)
        total[:] = T(0)
        for start in range(0, length, 4096):
            many[:] = T(0)
            for begin in range(start, min(length, start + 4096), 64):
                few[:] = T(0)
                for row in range(begin, min(length, begin + 64)):
                    for column in range(width):
                        few[column] += T(x[base + row * inner + column])
                for column in range(width):
                    many[column] += few[column]
            for column in range(width):
                total[column] += many[column]
        for column in range(width):
            out[outer * inner + first + column] = total[column]


def max_axis(x, length, inner, out, indices):
    """The largest element along the middle axis and its first place; a NaN is larger than everything."""
    for place in prange(out.size):
        base = place // inner * length * inner + place % inner
        best = x[base]
        index = 0
        if not isnan(best):
            for i in range(1, length):
                value = x[base + i * inner]
                if value > best or isnan(value):
                    best = value
                    index = i
                    if isnan(value):
                        break
        out[place] = best
        indices[place] = index


def min_axis(x, length, inner, out, indices):
    """The smallest element along the middle axis and its first place; a NaN is smaller than everything."""
    for place in prange(out.size):
        base = place // inner * length * inner + place % inner
        best = x[base]
        index = 0
        if not isnan(best):
            for i in range(1, length):
                value = x[base + i * inner]
                if value < best or isnan(value):
                    best = value
                    index = i
                    if isnan(value):
                        break
        out[place] = best
        indices[place] = index


def put_axis(grad, indices, length, inner, out):
    """``out`` (zeros), seen as (outer, length, inner), gets each gradient at its index on the middle axis."""
    for place in prange(grad.size):
        base = place // inner * length * inner + place % inner
        out[base + indices[place] * inner] = grad[place]


def take_axis(x, indices, length, inner, out):
    """The element of ``x``, seen as (outer, length, inner), at each index on the middle axis."""
    for place in prange(out.size):
        base = place // inner * length * inner + place % inner
        out[place] = x[base + indices[place] * inner]
