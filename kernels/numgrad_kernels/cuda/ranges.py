"""Numbers at equal distances, on GPUs."""

from __future__ import annotations

import numpy as np

from ..facts import Out
from .adapter import cuda

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def count(start, step, size, out: Out):
    """Numbers from ``start``, ``step`` apart."""
    first, distance = T(start), T(step)
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[i] = first + T(i) * distance


def spread(start, end, step, size, out: Out):
    """Numbers from ``start`` to ``end``; each half is counted from its own end, so that both ends are exact."""
    first, last, distance = T(start), T(end), T(step)
    half = size // 2
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        if i < half:
            out[i] = first + T(i) * distance
        else:
            out[i] = last - T(size - 1 - i) * distance
