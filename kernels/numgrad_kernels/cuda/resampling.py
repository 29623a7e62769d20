"""Products with sparse matrices along one axis of arrays seen as (outer, length, inner), on GPUs: a thread for each
result.

See ``cpu/resampling.py`` for the parameters.
"""

from __future__ import annotations

import numpy as np

from ..cpu.resampling import begin, row_times, weight_gradient
from ..facts import InOut, Out
from .adapter import cuda
from .language import atomic_add

#: Placeholder: the dtype of the elements.
T = np.float32


def csr_axis(x, length, inner, channels, count, starts, indices, weights, divisors, step, size, out: Out):
    """``out[o, j, c]`` is ``sum(weights[k] * x[o, indices[k], c]) / divisors[j * step]`` over k of row j."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        line = i // inner
        o, j, c = line // count, line % count, i % inner
        row = o // channels * count + j
        first, end = begin(starts, row), begin(starts, row + 1)
        out[i] = row_times(x, o * length * inner + c, inner, first, end, indices, weights, divisors[j * step])


def csr_scatter(grad, length, channels, count, starts, indices, weights, size, out: InOut):
    """``out[o, indices[k]] += weights[k] * grad[o, j]`` for all numbers k of row j; ``grad`` has ``size`` elements."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        o, j = i // count, i % count
        row = o // channels * count + j
        for k in range(begin(starts, row), begin(starts, row + 1)):
            if indices[k] >= 0:
                atomic_add(out, o * length + indices[k], weights[k] * grad[i])


def csr_weights(grad, x, length, channels, count, starts, indices, rows, out: Out):
    """``out[k]`` is the sum of ``grad[o, j] * x[o, indices[k]]`` over the outer entries that share row j."""
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        for k in range(begin(starts, row), begin(starts, row + 1)):
            out[k] = weight_gradient(grad, x, length, channels, count, row, indices[k])
