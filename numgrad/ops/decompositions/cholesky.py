"""Cholesky factors, and systems of equations with them."""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, by_columns, layout_of
from ...tensors.tensor import Tensor
from ..creation.factories import eye
from ..matrices.products import check_types
from ..reductions.axes import return_type
from ..shapes.diagonals import tril_op
from ..shapes.dimensions import adjoint
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import composite
from .matrices import check_square, diagonal_of, first_of, reports, with_diagonal
from .triangular import solve_triangular


@operation(
    "LinalgCholeskyExBackward0", aten="linalg_cholesky_ex", inputs=["A"], extras=["info"], dims=(),
    host=devices.lapack("linalg_cholesky"),
)
def linalg_cholesky_op(A: Layout, upper: bool, check: str) -> Any:
    return layout_of(A.type, A.shape) if upper else by_columns(A.type, A.shape), reports(A)


@linalg_cholesky_op.gradient("A")
def _(grad, out, upper):
    """``inv(L).mH @ (P + P.mH) @ inv(L) / 2``, where ``P`` is ``tril(L.mH @ grad)`` with half of its diagonal."""
    L, gradient = (adjoint(out), adjoint(grad)) if upper else (out, grad)
    product = tril_op(adjoint(L) @ gradient, 0)
    product = product - with_diagonal(diagonal_of(product)) / 2
    product = (product + adjoint(product)) / 2
    return solve_triangular(L, solve_triangular(adjoint(L), product, True), False, False)


@lookup(export=False, exact_out=True)
def linalg_cholesky(A: Layout, *, upper: bool = False) -> Any:
    """The Cholesky factors of positive-definite matrices: lower triangular ``L`` with ``A = L @ L.mH``.

    Only the lower triangle of each matrix is read; with ``upper``, only the upper one, and the result is ``L.mH``.

    Raises:
        LinAlgError: a matrix is not positive-definite.
        RuntimeError: the matrices are not square, or their elements are integers.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.cholesky(numgrad.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    check_square("linalg.cholesky", A)
    return first_of(linalg_cholesky_op), (upper, "linalg.cholesky")


@lookup(export=False, results=return_type("linalg_cholesky_ex", "L", "info"), exact_out=True)
def linalg_cholesky_ex(A: Layout, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factors of matrices, and for each matrix 0, or the order of a minor that is not positive-definite.

    Raises:
        LinAlgError: a matrix is not positive-definite, and ``check_errors`` is True.
        RuntimeError: the matrices are not square, or their elements are integers.
    """
    check_square("linalg.cholesky", A)
    return linalg_cholesky_op, (upper, "linalg.cholesky_ex" if check_errors else "")


@lookup
def cholesky(input: Layout, upper: bool = False) -> Any:
    """The Cholesky factors of positive-definite matrices; see ``linalg.cholesky``.

    Raises:
        LinAlgError: a matrix is not positive-definite.
        RuntimeError: the matrices are not square, or their elements are integers.
    """
    check_square("cholesky", input)
    return first_of(linalg_cholesky_op), (upper, "cholesky")


@composite
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The solutions ``X`` of ``L @ L.mH @ X = input`` for Cholesky factors ``L``, or of ``L.mH @ L @ X`` if ``upper``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    Example:
        >>> import numgrad
        >>> numgrad.cholesky_solve(numgrad.tensor([[4.0]]), numgrad.tensor([[2.0]]))
        tensor([[1.]])
    """
    for rank, name in ((input.dim(), "b"), (L.dim(), "u")):
        check(rank >= 2, "{!s} should have at least 2 dimensions, but has {} dimensions instead", name, rank)
    check_square("cholesky_solve", L._layout)
    message = "Expected b and A to have the same dtype, but found b of type {} and A of type {} instead."
    check_types(message, input._layout, L._layout)
    n, (rows, columns) = L._layout.shape[-1], input._layout.shape[-2:]
    check(
        n == rows,
        "Incompatible matrix sizes for cholesky_solve: each A matrix is {} by {} but each b matrix is {} by {}", n, n,
        rows, columns,
    )
    first, second = (adjoint(L), L) if upper else (L, adjoint(L))
    return solve_triangular(second, solve_triangular(first, input, False), True)


@composite
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverses of ``L @ L.mH`` for Cholesky factors ``L``, or of ``L.mH @ L`` if ``upper``.

    Raises:
        RuntimeError: the matrices are not square.

    Example:
        >>> import numgrad
        >>> numgrad.cholesky_inverse(numgrad.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    check_square("cholesky_inverse", L._layout)
    identity = eye(L._layout.shape[-1], dtype=L.dtype, device=L.device)
    return cholesky_solve(identity, L, upper)
