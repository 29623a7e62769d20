"""Checks of matrices, and parts that decompositions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.layout import Layout, layout_of
from ...core.types import int32
from ...tensors.tensor import Tensor
from ..shapes.diagonals import diag_embed_op, diagonal_op
from ..table.checks import check


def check_matrices(name: str, A: Layout, parameter: str = "A") -> None:
    """Raise unless a tensor is a matrix, or a batch of them, of floating-point or complex numbers.

    Raises:
        RuntimeError: the tensor has another shape or dtype.
    """
    rank, dtype = len(A.shape), A.type.dtype
    check(rank >= 2, "{!s}: The input tensor {!s} must have at least 2 dimensions.", name, parameter, A)
    check(
        dtype.differentiable, "{!s}: Expected a floating point or complex tensor as input. Got {!s}", name,
        dtype.legacy, A,
    )
    check(not dtype.is_half, "{!s}: Low precision dtypes not supported. Got {!s}", name, dtype.legacy)


def check_square(name: str, A: Layout, parameter: str = "A") -> None:
    """Raise unless a tensor is a square matrix, or a batch of them, of floating-point or complex numbers.

    Raises:
        RuntimeError: the tensor has another shape or dtype.
    """
    check_matrices(name, A, parameter)
    rows, columns = A.shape[-2:]
    message = "{!s}: {!s} must be batches of square matrices, but they are {} by {} matrices"
    check(rows == columns, message, name, parameter, rows, columns, A)


def reports(A: Layout, shape: tuple[int, ...] | None = None) -> Layout:
    """Return the layout of the reports on matrices, or of other int32 numbers."""
    return layout_of(A.type.with_dtype(int32), A.shape[:-2] if shape is None else shape)


def first_of(op: Any) -> Callable[..., Tensor]:
    """Return the function that returns the first result of an operation."""
    return lambda *arguments: op(*arguments)[0]


def diagonal_of(matrices: Tensor) -> Tensor:
    """Return the diagonals of matrices as a last dimension."""
    rank = len(matrices._layout.shape)
    return diagonal_op(matrices, 0, rank - 2, rank - 1)


def with_diagonal(values: Tensor) -> Tensor:
    """Return diagonal matrices."""
    rank = len(values._layout.shape)
    return diag_embed_op(values, 0, rank - 1, rank)
