"""Products with sparse matrices along one axis of arrays seen as (outer, length, inner): windows are summed, images
interpolated, or read at any points.

A matrix is given by rows (CSR): row ``r`` has the ``weights`` from number ``starts[r]`` to ``starts[r + 1]``, each for
the element at the index in ``indices``; a negative index stands for an element that is 0.  Each group of ``channels``
outer entries has ``count`` rows of its own.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import InOut, Out

#: Placeholder: the dtype of the elements.
T = np.float32


def _scale(weight, values, out):
    """``out = weight * values``: the first term of a sum, which preserves -0."""
    for c in range(out.size):
        out[c] = T(weight * values[c])


def _add(weight, values, out):
    for c in range(out.size):
        out[c] = T(out[c] + weight * values[c])


def _divide(divisor, out):
    for c in range(out.size):
        out[c] = T(out[c] / divisor)


def begin(starts, row):
    """The number of the first weight of a row."""
    return starts[row]


def begin_evenly(starts, row):
    """The index of the first weight of a row if all rows have the same number of weights, ``starts[0]``."""
    return row * starts[0]


def element(x, base, index):
    """The element at an index of the row that begins at ``base``; 0 outside."""
    return x[base + index] if index >= 0 else T(0)


def row_times(x, base, inner, first, end, indices, weights, divisor):
    """The product of the row of a matrix with elements ``inner`` apart, divided by ``divisor``."""
    total = T(0)
    if first < end:  # the first term is not added to 0, which preserves -0
        total = T(weights[first] * element(x, base, indices[first] * inner))
    k = first + 1
    while k < end:
        total = T(total + weights[k] * element(x, base, indices[k] * inner))
        k += 1
    return total if divisor == 1 else T(total / divisor)


def weight_gradient(grad, x, length, channels, count, row, index):
    """The sum of ``grad[o, j] * x[o, index]`` over the outer entries that share a row; 0 for a negative index."""
    total = T(0)
    if index >= 0:
        first = row // count * channels
        for o in range(first, first + channels):
            total += grad[o * count + row % count] * x[o * length + index]
    return total


def csr_axis(x, length, inner, channels, count, starts, indices, weights, divisors, step, chunk, out: Out):
    """``out[o, j, c]`` is ``sum(weights[k] * x[o, indices[k], c]) / divisors[j * step]`` over the numbers k of row j.

    The ``step`` is 1, or 0 for a single divisor.
    """
    chunks = (count + chunk - 1) // chunk
    for piece in prange(out.size // (count * inner) * chunks):
        o = piece // chunks
        low = piece % chunks * chunk
        base = o * length * inner
        row = o // channels * count
        for j in range(low, min(count, low + chunk)):
            first, end, divisor = begin(starts, row + j), begin(starts, row + j + 1), divisors[j * step]
            target = (o * count + j) * inner
            if inner == 1:
                out[target] = row_times(x, base, 1, first, end, indices, weights, divisor)
            else:
                sums = out[target : target + inner]
                if first == end:
                    sums[:] = T(0)
                for k in range(first, end):
                    source = base + indices[k] * inner
                    if k == first:
                        _scale(weights[k], x[source : source + inner], sums)
                    else:
                        _add(weights[k], x[source : source + inner], sums)
                if divisor != 1:
                    _divide(divisor, sums)


def csr_scatter(grad, length, channels, count, starts, indices, weights, out: InOut):
    """``out[o, indices[k]] += weights[k] * grad[o, j]`` for all numbers k of row j; the inner axis has one entry."""
    for o in prange(out.size // length):
        row = o // channels * count
        for j in range(count):
            value = grad[o * count + j]
            for k in range(begin(starts, row + j), begin(starts, row + j + 1)):
                if indices[k] >= 0:
                    out[o * length + indices[k]] += weights[k] * value


def csr_weights(grad, x, length, channels, count, starts, indices, rows, out: Out):
    """``out[k]`` is the sum of ``grad[o, j] * x[o, indices[k]]`` over the outer entries that share row j."""
    for row in prange(rows):
        for k in range(begin(starts, row), begin(starts, row + 1)):
            out[k] = weight_gradient(grad, x, length, channels, count, row, indices[k])
