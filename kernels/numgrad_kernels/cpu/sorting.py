"""Sorting and searching: short lines along one axis of (outer, length, inner), flattened; values in sorted rows.

A launch chooses ``before``, which decides which of two elements comes first.  Equal elements stay in order.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out

#: Placeholder: the dtype of the elements, or in which they are compared.
T = np.float32


def before(left, right):
    """Whether an element comes before another: if it is smaller, a NaN being larger than everything."""
    return left < right or (right != right and left == left)


def descending(left, right):
    """Whether an element comes before another: if it is larger, a NaN being larger than everything."""
    return left > right or (left != left and right == right)


def sort_lines(x, length, inner, count, out: Out, indices: Out):
    """The first ``count`` elements of each line in order, and where they stood: each is put in among those so far."""
    for line in prange(out.size // count):
        base = line // inner * length * inner + line % inner
        first = line // inner * count * inner + line % inner
        for index in range(length):
            value = x[base + index * inner]
            slot = min(index, count)
            while slot > 0 and before(value, out[first + (slot - 1) * inner]):
                slot -= 1
                if slot + 1 < count:
                    out[first + (slot + 1) * inner] = out[first + slot * inner]
                    indices[first + (slot + 1) * inner] = indices[first + slot * inner]
            if slot < count:
                out[first + slot * inner] = value
                indices[first + slot * inner] = index


def rank(k, numbers, length):
    """How many elements of a line come before the one wanted; ``numbers`` of the line's are not NaN."""
    return k


def median_rank(past_nan, numbers, length):
    """That of the lower of the middle elements, or of a NaN, which ``past_nan`` leaves out."""
    return max((numbers - 1) // 2, 0) if past_nan or numbers == length else length - 1


def pick_ranked(x, length, inner, which, out: Out, indices: Out):
    """The element of each line that ``rank(which, numbers, length)`` others come before, and where it first stands.

    Each element that lies between what is known to be too small and what is known to be too large is tried.
    """
    for line in prange(out.size):
        base = line // inner * length * inner + line % inner
        numbers = 0
        for index in range(length):
            value = x[base + index * inner]
            numbers += value == value
        wanted = rank(which, numbers, length)
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
            if less > wanted:
                high = base + index * inner
            elif length - more <= wanted:
                low = base + index * inner
            else:
                out[line], indices[line] = value, index
                break


def pick_modes(x, length, inner, out: Out, indices: Out):
    """The smallest of the most frequent elements of each line, and where it last stands; no NaN equals another."""
    for line in prange(out.size):
        base = line // inner * length * inner + line % inner
        out[line], indices[line], most = x[base], 0, -1
        for index in range(length):
            value, count = x[base + index * inner], 0
            for other in range(length):
                count += x[base + other * inner] == value
            if count > most or (count == most and value <= out[line]):
                out[line], indices[line], most = value, index, count


def search_rows(rows, length, values, count, right, out: Out):
    """Where each of ``count`` values to a sorted row belongs: after its equals if ``right``, else before them."""
    for i in prange(values.size):
        value = T(values[i])
        start = i // count * length
        low, high = 0, length
        while low < high:
            middle = (low + high) // 2
            element = T(rows[start + middle])
            if not (element > value if right else element >= value):  # a NaN belongs behind all others
                low = middle + 1
            else:
                high = middle
        out[i] = low
