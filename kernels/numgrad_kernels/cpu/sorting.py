"""Sorting and searching: short lines along one axis of (outer, length, inner), flattened; values in sorted rows.

A launch chooses ``before``, which is true if the first of two elements precedes the second.  Equal elements stay in
order.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out

#: Placeholder: the dtype of the elements, or in which they are compared.
T = np.float32


def before(left, right):
    """True if an element precedes another by being smaller, where a NaN is larger than everything."""
    return left < right or (right != right and left == left)


def descending(left, right):
    """True if an element precedes another by being larger, where a NaN is larger than everything."""
    return left > right or (left != left and right == right)


def sort_lines(x, length, inner, out: Out, indices: Out):
    """The elements of each line in order, and their indices, by insertion into a sorted list."""
    for line in prange(out.size // length):
        base = line // inner * length * inner + line % inner
        for index in range(length):
            value, slot = x[base + index * inner], index
            while slot > 0 and before(value, out[base + (slot - 1) * inner]):
                out[base + slot * inner] = out[base + (slot - 1) * inner]
                indices[base + slot * inner] = indices[base + (slot - 1) * inner]
                slot -= 1
            out[base + slot * inner] = value
            indices[base + slot * inner] = index


def follows(value, index, other, other_index):
    """True if an element follows another in the order, in which equal elements follow each other by index."""
    return before(other, value) or (index > other_index and not before(value, other))


def sink(value, index, slot, size, out, indices, first, inner):
    """Put an element at ``slot`` of a heap of ``size`` elements, or below, where it follows those beneath it."""
    child = 2 * slot + 1
    while child < size:
        at = first + child * inner
        if child + 1 < size and follows(out[at + inner], indices[at + inner], out[at], indices[at]):
            child, at = child + 1, at + inner
        if not follows(out[at], indices[at], value, index):
            break
        out[first + slot * inner] = out[at]
        indices[first + slot * inner] = indices[at]
        slot, child = child, 2 * child + 1
    out[first + slot * inner] = value
    indices[first + slot * inner] = index


def pick_first(x, length, inner, count, out: Out, indices: Out):
    """The first ``count`` elements of each line in order, and their indices.

    A heap holds the first of the elements up to now, with the last of them at its root (Williams, 1964).
    """
    for line in prange(out.size // count):
        base = line // inner * length * inner + line % inner
        first = line // inner * count * inner + line % inner
        for index in range(count):
            out[first + index * inner] = x[base + index * inner]
            indices[first + index * inner] = index
        for slot in range(count // 2 - 1, -1, -1):
            value, index = out[first + slot * inner], indices[first + slot * inner]
            sink(value, index, slot, count, out, indices, first, inner)
        for index in range(count, length):
            value = x[base + index * inner]
            if before(value, out[first]):
                sink(value, index, 0, count, out, indices, first, inner)
        for size in range(count - 1, 0, -1):  # the root is the last of the rest
            at = first + size * inner
            value, index = out[at], indices[at]
            out[at], indices[at] = out[first], indices[first]
            sink(value, index, 0, size, out, indices, first, inner)


def rank(k, numbers, length):
    """The rank of the element to pick in a line: ``k``; ``numbers`` elements of the line are not NaN."""
    return k


def median_rank(past_nan, numbers, length):
    """The rank of the lower middle element, or of a NaN if there is one; with ``past_nan``, NaN is left out."""
    return max((numbers - 1) // 2, 0) if past_nan or numbers == length else length - 1


def pick_ranked(x, length, inner, which, out: Out, indices: Out):
    """The element of each line at the rank ``rank(which, numbers, length)``, and the index at which it first occurs.

    Candidates are the elements between the largest known to be too small and the smallest known to be too large.
    """
    for line in prange(out.size):
        base = line // inner * length * inner + line % inner
        numbers = 0
        for index in range(length):
            value = x[base + index * inner]
            numbers += value == value
        target = rank(which, numbers, length)
        low = high = -1
        for index in range(length):
            value = x[base + index * inner]
            if (low >= 0 and not before(x[low], value)) or (high >= 0 and not before(value, x[high])):
                continue
            less = more = 0
            for other in range(length):
                element = x[base + other * inner]
                less += before(element, value)
                more += before(value, element)
            if less > target:
                high = base + index * inner
            elif length - more <= target:
                low = base + index * inner
            else:
                out[line], indices[line] = value, index
                break


def pick_modes(x, length, inner, out: Out, indices: Out):
    """The smallest of the most frequent elements of each line, and its last index; no NaN equals another."""
    for line in prange(out.size):
        base = line // inner * length * inner + line % inner
        out[line], indices[line], most = x[base], 0, -1
        for index in range(length):
            value, count = x[base + index * inner], 0
            for other in range(length):
                count += x[base + other * inner] == value
            if count > most or (count == most and value <= out[line]):
                out[line], indices[line], most = value, index, count


def position(rows, start, length, value, right):
    """The position of a value in the sorted row that begins at ``start``."""
    low, high = 0, length
    while low < high:
        middle = (low + high) >> 1
        element = T(rows[start + middle])
        behind = not element > value if right else not element >= value  # a NaN follows all others
        if behind:
            low = middle + 1
        else:
            high = middle
    return low


def search_rows(rows, length, values, count, right, out: Out):
    """The positions of ``count`` values in a sorted row: after equal elements if ``right``, else before them."""
    for i in prange(values.size):
        out[i] = position(rows, i // count * length, length, T(values[i]), right)
