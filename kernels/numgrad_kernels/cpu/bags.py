"""Sums of the rows of a table, or the largest element of each column, over bags of row numbers.

Bag ``b`` holds the ``indices`` from number ``starts[b]`` to ``starts[b + 1]``; those equal to ``padding``, unless that
is -1, do not count.  An index that is not in [0, rows) is not followed, and ``wrong[0]`` becomes true.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out, Report
from .indexing import inside

#: Placeholder: the dtype of the table.
T = np.float32


def _counts(index, padding, rows, wrong):
    """True if an index is that of a row and is no padding; ``wrong[0]`` becomes true if there is no such row."""
    exists = inside(index, rows)
    if not exists:
        wrong[0] = True
    return exists and index != padding


def _fill(value, out):
    for c in range(out.size):
        out[c] = value


def _add(factor, values, out):
    for c in range(out.size):
        out[c] += factor * values[c]


def _divide(divisor, out):
    for c in range(out.size):
        out[c] /= divisor


def _larger(values, index, out, chosen):
    for c in range(out.size):
        if chosen[c] < 0 or values[c] > out[c]:
            out[c] = values[c]
            chosen[c] = index


def bag_sums(
    x, rows, width, indices, starts, factors, padding, mean, chunk, out: Out, divisors: Out, wrong: Report
):  # fmt: skip
    """``out[b]`` is the sum of the rows in bag b, each multiplied by its factor if there are any.

    For a ``mean`` it is divided by ``divisors[b]``, the number of rows that count, or 1 if none does.
    """
    bags = starts.size - 1
    for piece in prange((bags + chunk - 1) // chunk):
        for b in range(piece * chunk, min(bags, (piece + 1) * chunk)):
            sums = out[b * width : (b + 1) * width]
            _fill(T(0), sums)
            count = 0
            for k in range(starts[b], starts[b + 1]):
                index = indices[k]
                if _counts(index, padding, rows, wrong):
                    factor = factors[k] if factors.size else T(1)
                    _add(factor, x[index * width : (index + 1) * width], sums)
                    count += 1
            divisors[b] = T(max(count, 1))
            if mean and count > 1:
                _divide(divisors[b], sums)


def bag_largest(x, rows, width, indices, starts, padding, chunk, out: Out, chosen: Out, wrong: Report):
    """``out[b, c]`` is the largest element of column c in the rows of bag b, and ``chosen[b, c]`` its row's number.

    Of equal elements, the first is chosen.  For a bag without rows that count, they are 0 and -1.
    """
    bags = starts.size - 1
    for piece in prange((bags + chunk - 1) // chunk):
        for b in range(piece * chunk, min(bags, (piece + 1) * chunk)):
            best, which = out[b * width : (b + 1) * width], chosen[b * width : (b + 1) * width]
            _fill(T(0), best)
            _fill(-1, which)
            for k in range(starts[b], starts[b + 1]):
                index = indices[k]
                if _counts(index, padding, rows, wrong):
                    _larger(x[index * width : (index + 1) * width], index, best, which)
