"""Sums of the rows of a table, or the largest element of each column, over bags of row numbers, on GPUs: a thread for
each result.

See ``cpu/bags.py`` for a definition of bags.  A wrong index is noted in ``report``.
"""

from __future__ import annotations

import numpy as np

from ..facts import InOut, Out
from .adapter import cuda
from .indexing import note

#: Placeholder: the dtype of the table.
T = np.float32


def bag_sums(
    x, rows, width, indices, starts, factors, weighted, padding, mean, size, out: Out, divisors: Out, report: InOut
):  # fmt: skip
    """``out[b]`` is the sum of the rows in bag b, each multiplied by its factor if they are ``weighted``."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        b, c = i // width, i % width
        total, count = T(0), 0
        for k in range(starts[b], starts[b + 1]):
            index = indices[k]
            if index < 0 or index >= rows:
                note(report, index, 0, rows)
            elif index != padding:
                factor = T(1)
                if weighted:
                    factor = factors[k]
                total += factor * x[index * width + c]
                count += 1
        divisor = T(max(count, 1))
        if c == 0:
            divisors[b] = divisor
        out[i] = total / divisor if mean else total


def bag_largest(x, rows, width, indices, starts, padding, size, out: Out, chosen: Out, report: InOut):
    """``out[b, c]`` is the largest element of column c in the rows of bag b, and ``chosen[b, c]`` its row's number."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        b, c = i // width, i % width
        best, which = T(0), np.int64(-1)
        for k in range(starts[b], starts[b + 1]):
            index = indices[k]
            if index < 0 or index >= rows:
                note(report, index, 0, rows)
            elif index != padding:
                value = x[index * width + c]
                if which < 0 or value > best:
                    best, which = value, np.int64(index)
        out[i] = best
        chosen[i] = which
