"""Products with sparse matrices along one axis; see the kernels."""

from __future__ import annotations

from typing import Any

from numgrad_kernels.cpu import resampling

from ..plan import Buffer, Plan

__all__ = ["csr_axis", "csr_scatter", "csr_weights"]

#: Results that one piece of parallel work computes, at least.
_PIECE = 256


def csr_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, channels: int, count: int, matrix: tuple[Any, ...],
    work: int, step: int, evenly: bool = False,
) -> Buffer:  # fmt: skip
    """Matrices of ``count`` rows times (outer, length, inner).

    ``matrix`` has the starts, the indices, the weights and the divisors; there is a matrix for each ``channels`` outer
    entries.  ``work`` is how many terms there are, and ``step`` 1, or 0 for a single divisor.  With ``evenly`` there is
    one number for the starts, how many weights each row has.
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
    """The transposed product where the inner axis has one entry; ``matrix`` has one start, indices and weights."""
    out = p.new(outer * length, grad.dtype, zeroed=True)
    p.run(
        resampling.csr_scatter, grad.dtype, grad, length, channels, count, *matrix, out, work=work, **_parts(True)
    )
    return out


def csr_weights(
    p: Plan, grad: Buffer, x: Buffer, length: int, channels: int, count: int, matrix: tuple[Any, Buffer], rows: int
) -> Buffer:
    """The gradient for the weights of so many ``rows``; ``matrix`` has one start and the indices."""
    size = matrix[1].size
    out = p.new(size, x.dtype)
    p.run(
        resampling.csr_weights, x.dtype, grad, x, length, channels, count, *matrix, rows, out, work=size * channels,
        **_parts(True),
    )
    return out


def _parts(evenly: bool) -> dict[str, Any]:
    return {"begin": resampling.begin_evenly} if evenly else {}
