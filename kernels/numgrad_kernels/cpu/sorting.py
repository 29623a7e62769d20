"""Sorting short lines, or finding the first few elements in order: along one axis of (outer, length, inner), flattened.

``before`` says which of two elements comes first; a launch chooses it.  Equal elements stay in order.
"""

from __future__ import annotations

import numpy as np
from numba import prange

#: Placeholder: the dtype of the elements.
T = np.float32


def before(left, right):
    """Whether an element comes before another: if it is smaller, a NaN being larger than everything."""
    return left < right or (right != right and left == left)


def descending(left, right):
    """Whether an element comes before another: if it is larger, a NaN being larger than everything."""
    return left > right or (left != left and right == right)


def sort_lines(x, length, inner, count, out, indices):
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
