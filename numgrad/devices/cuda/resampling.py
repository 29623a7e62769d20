"""Steps of products with sparse matrices along one axis, on a GPU; see the functions of the CPU."""

from __future__ import annotations

from typing import Any

from numgrad_kernels.cpu.resampling import begin_evenly
from numgrad_kernels.cuda import resampling

from ..plan import Buffer, Plan

__all__ = ["csr_axis", "csr_scatter", "csr_weights"]


def csr_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, channels: int, count: int, matrix: tuple[Any, ...],
    work: int, step: int, evenly: bool = False,
) -> Buffer:  # fmt: skip
    """Return the buffer of the products of sparse matrices, of ``count`` rows, and an array (outer, length, inner)."""
    parts: dict[str, Any] = {"begin": begin_evenly} if evenly else {}
    out = p.new(outer * count * inner, x.dtype)
    operands = x, length, inner, channels, count, *matrix, step, out.size, out
    p.run(resampling.csr_axis, x.dtype, *operands, work=out.size, **parts)
    return out


def csr_scatter(
    p: Plan, grad: Buffer, outer: int, length: int, channels: int, count: int, matrix: tuple[Any, ...], work: int
) -> Buffer:
    """Return the buffer of the transposed product, where the inner axis has one entry."""
    out, size = p.new(outer * length, grad.dtype, zeroed=True), outer * count
    operands = grad, length, channels, count, *matrix, size, out
    p.run(resampling.csr_scatter, grad.dtype, *operands, work=size, begin=begin_evenly)
    return out


def csr_weights(
    p: Plan, grad: Buffer, x: Buffer, length: int, channels: int, count: int, matrix: tuple[Any, Buffer], rows: int
) -> Buffer:
    """Return the buffer of the gradient with respect to the weights of the ``rows``."""
    out = p.new(matrix[1].size, x.dtype)
    operands = grad, x, length, channels, count, *matrix, rows, out
    p.run(resampling.csr_weights, x.dtype, *operands, work=rows, begin=begin_evenly)
    return out
