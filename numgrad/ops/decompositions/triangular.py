"""Systems of equations with triangular matrices."""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, broadcast_shapes, by_columns, layout_of
from ...tensors.tensor import Tensor
from ..matrices.products import check_types
from ..memory.copying import clone
from ..reductions.axes import return_type
from ..shapes.broadcasting import expand
from ..shapes.diagonals import tril_op, triu_op
from ..shapes.dimensions import adjoint
from ..shapes.views import reshape
from ..table.checks import check
from ..table.lookup import lookup, operation
from .matrices import check_matrices, check_square


@operation(
    "LinalgSolveTriangularBackward0", aten="linalg_solve_triangular", inputs=["A", "B"], joint=True, dims=(),
    host=devices.lapack("linalg_solve_triangular"),
)
def linalg_solve_triangular_op(A: Layout, B: Layout, upper: bool, left: bool, unitriangular: bool) -> Layout:
    shape = (*broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:])
    return by_columns(A.type, shape) if left else layout_of(A.type, shape)


@linalg_solve_triangular_op.gradient("A", "B")
def _(grad, A, out, upper, left, unitriangular, needed):
    """``-triangle(solve(A.mH, grad) @ out.mH), solve(A.mH, grad)``."""
    gradient = linalg_solve_triangular_op(adjoint(A), grad, not upper, left, unitriangular)
    if not needed[0]:
        return None, gradient
    product = gradient @ adjoint(out) if left else adjoint(out) @ gradient
    of_triangle = triu_op(product, int(unitriangular)) if upper else tril_op(product, -int(unitriangular))
    return -of_triangle, gradient


def solve_triangular(A: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """Return the solution ``X`` of ``A @ X = B``, or of ``X @ A = B``, for triangular matrices."""
    rank = max(len(A._layout.shape), len(B._layout.shape))
    A, B = [
        x if len(x._layout.shape) == rank else reshape(x, (*[1] * (rank - len(x._layout.shape)), *x._layout.shape))
        for x in (A, B)
    ]
    return linalg_solve_triangular_op(A, B, upper, left, unitriangular)


def _check(name: str, A: Layout, B: Layout, left: bool) -> None:
    check_square(name, A)
    check_matrices(name, B, "B")
    message = "Expected A and B to have the same dtype, but found A of type {} and B of type {} instead"
    check_types(f"{name}: {message}", A, B)
    n, (rows, columns) = A.shape[-1], B.shape[-2:]
    equation = "AX = B" if left else "XA = B"
    check(
        n == (rows if left else columns),
        "{!s}: Incompatible shapes of A and B for the equation {!s} ({}x{} and {}x{})", name, equation, n, n, rows,
        columns,
    )


@lookup(export=False, exact_out=True)
def linalg_solve_triangular(
    A: Layout, B: Layout, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """The solution ``X`` of ``A @ X = B`` for triangular matrices, or of ``X @ A = B`` if ``left`` is False.

    Only the upper triangle of ``A``, or the lower one, is read.  With ``unitriangular``, its diagonal counts as ones.
    Batches are broadcast.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ or are not floating-point or complex.

    Example:
        >>> import numgrad
        >>> A, B = numgrad.tensor([[2.0, 1.0], [0.0, 4.0]]), numgrad.tensor([[4.0], [8.0]])
        >>> numgrad.linalg.solve_triangular(A, B, upper=True)
        tensor([[1.],
                [2.]])
    """
    _check("linalg.solve_triangular", A, B, left)
    return solve_triangular, (upper, left, unitriangular)


@lookup(results=return_type("triangular_solve", "solution", "cloned_coefficient"), exact_out=True)
def triangular_solve(
    b: Layout, A: Layout, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The solution of ``A @ X = b`` for triangular matrices, and a copy of ``A``; see ``linalg.solve_triangular``.

    With ``transpose``, the system is ``A.mT @ X = b``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ or are not floating-point or complex.
    """
    _check("triangular_solve", A, b, True)
    return _solution_and_copy, (upper, transpose, unitriangular)


def _solution_and_copy(
    b: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> tuple[Tensor, Tensor]:
    matrices = A.mT if transpose else A
    solution = solve_triangular(matrices, b, upper != transpose, True, unitriangular)
    return solution, clone(expand(A, (*solution._layout.shape[:-2], *A._layout.shape[-2:])))
