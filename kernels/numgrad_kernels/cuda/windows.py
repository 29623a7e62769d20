"""Sums of windows that overlap in memory, on GPUs: a thread for each element finds its values."""

from __future__ import annotations

import numpy as np

from ..facts import InOut
from .adapter import cuda

#: Placeholder: the dtype of the elements.
T = np.float32


def add_overlapping(values, start, out: InOut, first, size, sizes, steps, targets, apart, rank, count):
    """Add values to ``size`` elements from ``first`` on, to each in the same order as on the CPU.

    Of the ``rank`` dimensions, the first ``apart`` have ``count`` index combinations.  For each of these, the other
    dimensions lead to different elements, and each step in ``out`` exceeds the reach of the following dimensions.
    """
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        total = out[first + i]
        for number in range(count):
            source, position, remaining = start, i, number
            for d in range(apart - 1, -1, -1):
                at = remaining % sizes[d]
                remaining //= sizes[d]
                source += at * steps[d]
                position -= at * targets[d]
            for d in range(apart, rank):
                if position > 0:
                    at = min(position // targets[d], sizes[d] - 1)
                    source += at * steps[d]
                    position -= at * targets[d]
            if position == 0:
                total = T(total + values[source])
        out[first + i] = total
