"""Sorting short lines, or finding some elements in order: along one axis of (outer, length, inner), flattened.

``before`` says which of two elements comes first; a launch chooses it.  Equal elements stay in order.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out

#: Placeholder: the dtype of the elements.
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
        for place in range(length):
            value = x[base + place * inner]
            slot = min(place, count)
            while slot > 0 and before(value, out[first + (slot - 1) * inner]):
                slot -= 1
                if slot + 1 < count:
                    out[first + (slot + 1) * inner] = out[first + slot * inner]
                    indices[first + (slot + 1) * inner] = indices[first + slot * inner]
            if slot < count:
                out[first + slot * inner] = value
                indices[first + slot * inner] = place


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
        for place in range(length):
            value = x[base + place * inner]
            numbers += value == value
        wanted = rank(which, numbers, length)
        low = high = -1
        for place in range(length):
            value = x[base + place * inner]
            if (low >= 0 and not before(x[low], value)) or (high >= 0 and not before(value, x[high])):
                continue
            less = more = 0
            for other in range(length):
                element = x[base + other * inner]
                less += before(element, value)
                more += before(value, element)
            if less > wanted:
                high = base + place * inner
            elif length - more <= wanted:
                low = base + place * inner
            else:
                out[line], indices[line] = value, place
                break


def pick_modes(x, length, inner, out: Out, indices: Out):
    """The smallest of the most frequent elements of each line, and where it last stands; no NaN equals another."""
    for line in prange(out.size):
        base = line // inner * length * inner + line % inner
        out[line], indices[line], most = x[base], 0, -1
        for place in range(length):
            value, count = x[base + place * inner], 0
            for other in range(length):
                count += x[base + other * inner] == value
            if count > most or (count == most and value <= out[line]):
                out[line], indices[line], most = value, place, count
