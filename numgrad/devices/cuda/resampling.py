"""Products with sparse matrices along one axis, on a GPU; see the CPU's."""

from __future__ import annotations

from typing import Any

from numgrad_kernels.cpu.resampling import begin_evenly
from numgrad_kernels.cuda import resampling

from ..plan import Buffer, Plan
from .launching import THREADS, blocks_for

__all__ = ["csr_axis", "csr_scatter", "csr_weights"]


def csr_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, channels: int, count: int, matrix: tuple[Any, ...],
    work: int, step: int, evenly: bool = False,
) -> Buffer:  # fmt: skip
    """Matrices of ``count`` rows times (outer, length, inner)."""
    size = outer * count * inner
    parts: dict[str, Any] = {"begin": begin_evenly} if evenly else {}
    out = p.new(size, x.dtype)
    p.run(
        resampling.csr_axis, x.dtype, x, length, inner, channels, count, *matrix, step, size, out,
        grid=(blocks_for(size), THREADS), **parts,
    )
    return out


def csr_scatter(
    p: Plan, grad: Buffer, outer: int, length: int, channels: int, count: int, matrix: tuple[Any, ...], work: int
) -> Buffer:
    """The transposed product where the inner axis has one entry."""
    out, size = p.new(outer * length, grad.dtype, zeroed=True), outer * count
    p.run(
        resampling.csr_scatter, grad.dtype, grad, length, channels, count, *matrix, size, out,
        grid=(blocks_for(size), THREADS), begin=begin_evenly,
    )
    return out


def csr_weights(
    p: Plan, grad: Buffer, x: Buffer, length: int, channels: int, count: int, matrix: tuple[Any, Buffer], rows: int
) -> Buffer:
    """The gradient for the weights of so many ``rows``."""
    out = p.new(matrix[1].size, x.dtype)
    p.run(
        resampling.csr_weights, x.dtype, grad, x, length, channels, count, *matrix, rows, out,
        grid=(blocks_for(rows), THREADS), begin=begin_evenly,
    )
    return out
