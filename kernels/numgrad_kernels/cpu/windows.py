"""Sums of windows that overlap in memory."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import InOut, reaches

#: Placeholder: the dtype of the elements.
T = np.float32


@reaches(lambda args: int(args.sizes.prod()))
def add_overlapping(values, start, out: InOut, first, sizes, steps, targets):
    """Add values, one after the other, to elements, some of which may be the same.

    For each dimension, ``sizes`` contains the extent, ``steps`` the step in the values and ``targets`` that in ``out``.
    Parts with different indices in the first dimension share no elements.  There are at least three dimensions.
    """
    last = sizes.size - 1
    rows, columns, step, goal = sizes[last - 1], sizes[last], steps[last], targets[last]
    planes = 1
    for k in range(1, last - 1):
        planes *= sizes[k]
    for part in prange(sizes[0]):
        for plane in range(planes):
            source, target, remaining = start + part * steps[0], first + part * targets[0], plane
            for d in range(last - 2, 0, -1):
                source += remaining % sizes[d] * steps[d]
                target += remaining % sizes[d] * targets[d]
                remaining //= sizes[d]
            for _ in range(rows):
                if step == goal == 1:
                    _add(values[source : source + columns], out[target : target + columns])
                else:
                    for i in range(columns):
                        out[target + i * goal] = T(out[target + i * goal] + values[source + i * step])
                source += steps[last - 1]
                target += targets[last - 1]


def _add(values, out):
    for i in range(out.size):
        out[i] = T(out[i] + values[i])
