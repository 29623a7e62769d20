"""How the factors of a matrix product lie in memory, in the terms of BLAS, which both devices use."""

from __future__ import annotations

from typing import NamedTuple

from ..core.layout import contiguous_strides

__all__ = ["Factor", "factor", "product_sizes"]


class Factor(NamedTuple):
    """Matrices as BLAS takes them: rows, or if ``turned`` columns, that lie in one piece, one after another."""

    step: int  # elements from one row, or column, to the next
    batch: int  # elements from one matrix of a stack to the next
    turned: bool  # whether the columns lie in one piece
    copied: bool  # whether neither did: this is how a contiguous copy lies


def factor(shape: tuple[int, ...], strides: tuple[int, ...] | None, turned: bool) -> Factor:
    """How a matrix or a stack of matrices lies, which if ``turned`` is to be transposed."""
    steps = contiguous_strides(shape) if strides is None else strides
    step = _step(shape, steps)
    copied = step is None
    if step is None:
        steps = contiguous_strides(shape)
        step = _step(shape, steps) or (1, False)
    return Factor(step[0], steps[0] if len(shape) == 3 else 0, step[1] != turned, copied)


def _step(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, bool] | None:
    """The step between a matrix's rows, or, with True, between its columns; None if neither lies in one piece."""
    (rows, columns), (down, right) = shape[-2:], strides[-2:]
    if (right == 1 or columns == 1) and (rows == 1 or down >= columns):
        return max(columns if rows == 1 else down, 1), False
    if (down == 1 or rows == 1) and (columns == 1 or right >= rows):
        return max(rows if columns == 1 else right, 1), True
    return None


def product_sizes(
    left: tuple[int, ...], right: tuple[int, ...], turned: tuple[bool, bool]
) -> tuple[int, int, int, int]:
    """How many matrices there are, and m, n and k, in the product of (m, k) and (k, n) matrices."""
    count = left[0] if len(left) == 3 else 1
    m, k = left[:-3:-1] if turned[0] else left[-2:]
    return count, m, right[-2] if turned[1] else right[-1], k
