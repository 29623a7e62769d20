"""Places in sorted rows, by bisection."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out

#: Placeholder: the dtype in which elements are compared.
T = np.float32


def search_rows(rows, length, values, count, right, out: Out):
    """Where each of ``count`` values to a sorted row belongs: after its equals if ``right``, else before them."""
    for place in prange(values.size):
        value = T(values[place])
        start = place // count * length
        low, high = 0, length
        while low < high:
            middle = (low + high) // 2
            element = T(rows[start + middle])
            if not (element > value if right else element >= value):  # to a NaN belongs the last place
                low = middle + 1
            else:
                high = middle
        out[place] = low
