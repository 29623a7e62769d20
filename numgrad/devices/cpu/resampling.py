"""Products with sparse matrices along one axis; see the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import resampling

from ..memory import LARGE, empty_row
from .launching import kernel_for, zeros

__all__ = ["csr_launcher", "csr_scatter_launcher", "csr_weights_launcher"]

_INT64 = np.dtype(np.int64)

#: Results that one piece of parallel work computes, at least.
_PIECE = 256


def csr_launcher(
    type: Any, outer: int, length: int, inner: int, channels: int, count: int, work: int, step: int
) -> Callable[..., np.ndarray]:
    """What multiplies matrices of ``count`` rows with (outer, length, inner): ``launch(row, *matrix)``.

    ``matrix`` are the rows that hold the starts, the indices, the weights and the divisors; there is a matrix for each
    ``channels`` outer entries.  ``work`` is how many terms there are, and ``step`` 1, or 0 for a single divisor.
    """
    dtype, size = type.numpy, outer * count * inner
    real = dtype.type(0).real.dtype
    signature = dtype, int, int, int, int, _INT64, _INT64, real, real, int, int, dtype
    kernel = kernel_for(resampling.csr_axis, dtype, signature, work)
    numbers, chunk = (length, inner, channels, count), max(_PIECE // max(inner, 1), 1)
    new = empty_row if size * dtype.itemsize >= LARGE else np.empty

    def launch(row: Any, *matrix: Any) -> np.ndarray:
        out = new(size, dtype)
        if size:
            kernel().entry(row, *numbers, *matrix, step, chunk, out)
        return out

    return launch


def csr_scatter_launcher(
    type: Any, outer: int, length: int, channels: int, count: int, work: int
) -> Callable[..., np.ndarray]:
    """The transposed product, ``launch(grad, starts, indices, weights)``, where the inner axis has one entry."""
    dtype = type.numpy
    signature = dtype, int, int, int, _INT64, _INT64, dtype, dtype
    kernel = kernel_for(resampling.csr_scatter, dtype, signature, work)

    def launch(grad: Any, *matrix: Any) -> np.ndarray:
        out = zeros((outer * length,), type)
        if out.size and work:
            kernel().entry(grad, length, channels, count, *matrix, out)
        return out

    return launch


def csr_weights_launcher(type: Any, length: int, channels: int, count: int, work: int) -> Callable[..., np.ndarray]:
    """The gradient for the weights: ``launch(grad, row, starts, indices)``."""
    dtype = type.numpy
    signature = dtype, dtype, int, int, int, _INT64, _INT64, dtype
    kernel = kernel_for(resampling.csr_weights, dtype, signature, work)

    def launch(grad: Any, row: Any, starts: Any, indices: Any) -> np.ndarray:
        out = np.empty(indices.size, dtype)
        if out.size:
            kernel().entry(grad, row, length, channels, count, starts, indices, out)
        return out

    return launch
