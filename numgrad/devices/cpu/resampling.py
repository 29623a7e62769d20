"""Steps of products with sparse matrices along one axis; see the kernels."""

from __future__ import annotations

from typing import Any

from numgrad_kernels.cpu import resampling

from ..plan import Buffer, Plan

__all__ = ["csr_axis", "csr_scatter", "csr_weights"]

#: Least number of results that one piece of parallel work computes.
_PIECE = 256


def csr_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, channels: int, count: int, matrix: tuple[Any, ...],
    work: int, step: int, evenly: bool = False,
) -> Buffer:  # fmt: skip
    """Return the buffer of the products of sparse matrices, of ``count`` rows, and an array (outer, length, inner).

    ``matrix`` contains the starts, the indices, the weights and the divisors of a matrix for each ``channels`` outer
    entries.  ``work`` is the number of terms.  ``step`` is 1, or 0 for a single divisor.  With ``evenly`` the starts
    are one number: the number of weights of each row.
    """
    out = p.new(outer * count * inner, x.dtype)
    p.run(
        resampling.csr_axis, x.dtype, x, length, inner, channels, count, *matrix, step, max(_PIECE // max(inner, 1), 1),
        out, work=work, **_parts(evenly),
    )  # fmt: skip
    return out


def csr_scatter(
    p: Plan, grad: Buffer, outer: int, length: int, channels: int, count: int, matrix: tuple[Any, ...], work: int
) -> Buffer:
    """Return the buffer of the transposed product, where the inner axis has one entry.

    ``matrix`` contains the number of weights of each row, the indices and the weights.
    """
    out = p.new(outer * length, grad.dtype, zeroed=True)
    operands = grad, length, channels, count, *matrix, out
    p.run(resampling.csr_scatter, grad.dtype, *operands, work=work, **_parts(True))
    return out


def csr_weights(
    p: Plan, grad: Buffer, x: Buffer, length: int, channels: int, count: int, matrix: tuple[Any, Buffer], rows: int
) -> Buffer:
    """Return the buffer of the gradient with respect to the weights of the ``rows``.

    ``matrix`` contains the number of weights of each row, and the indices.
    """
    out = p.new(matrix[1].size, x.dtype)
    operands = grad, x, length, channels, count, *matrix, rows, out
    p.run(resampling.csr_weights, x.dtype, *operands, work=out.size * channels, **_parts(True))
    return out


def _parts(evenly: bool) -> dict[str, Any]:
    return {"begin": resampling.begin_evenly} if evenly else {}
