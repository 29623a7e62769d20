"""LU factors with partial pivoting."""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, broadcast_shapes, by_columns, layout_of
from ...core.types import int32, int64
from ...tensors.tensor import Tensor
from ..creation.factories import eye
from ..creation.spaced import arange
from ..indexing.gathering import gather_op
from ..matrices.products import check_types
from ..memory.copying import convert
from ..pointwise.comparison import eq
from ..reductions.axes import return_type
from ..shapes.broadcasting import expand
from ..shapes.diagonals import tril_op, triu_op
from ..shapes.dimensions import adjoint, unsqueeze
from ..shapes.joining import cat
from ..shapes.parts import narrow
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import public
from ..table.public_signatures import Several
from .matrices import check_matrices, reports
from .triangular import solve_triangular


@operation(
    "LinalgLuFactorExBackward0", aten="linalg_lu_factor_ex", inputs=["A"], extras=["pivots", "info"], dims=(),
    host=devices.lapack("linalg_lu_factor"),
)
def linalg_lu_factor_op(A: Layout, check: str) -> Any:
    least = min(A.shape[-2:])
    return by_columns(A.type, A.shape), reports(A, (*A.shape[:-2], least)), reports(A)


@linalg_lu_factor_op.gradient("A")
def _(grad, out, pivots):
    """``P @ inv(L).mH @ (tril(L.mH @ grad, -1) + triu(grad @ U.mH)) @ inv(U).mH``, for square matrices."""
    m, n = out._layout.shape[-2:]
    least = min(m, n)
    square, gradient = [narrow(narrow(part, -2, 0, least), -1, 0, least) for part in (out, grad)]
    upper, of_L, of_U = adjoint(square), tril_op(gradient, -1), triu_op(gradient, 0)  # L.mH above, U.mH below
    if m > n:
        more = solve_triangular(upper, narrow(grad, -2, n, m - n), False, False)
        of_U = of_U - triu_op(adjoint(narrow(out, -2, n, m - n)) @ more, 0)
    elif n > m:
        more = solve_triangular(upper, narrow(grad, -1, m, n - m), True, True, True)
        of_L = of_L - tril_op(more @ adjoint(narrow(out, -1, m, n - m)), -1)
    unit = tril_op(square, -1) + eye(least, dtype=out.dtype, device=out.device)
    middle = tril_op(adjoint(unit) @ of_L, -1) + triu_op(of_U @ adjoint(triu_op(square, 0)), 0)
    rows = solve_triangular(upper, solve_triangular(upper, middle, True, True, True), False, False)
    if m != n:
        rows = cat([rows, more], -2 if m > n else -1)
    return rearranged(rows, lu_permutation(pivots, m).argsort(-1))


@operation(
    "LuPermutationBackward0", aten="lu_unpack", inputs=["pivots"], nondifferentiable=["pivots"], dims=(),
    host=devices.lapack("lu_permutation"),
)
def lu_permutation(pivots: Layout, rows: int) -> Any:
    return layout_of(pivots.type.with_dtype(int64), (*pivots.shape[:-1], rows))


def rearranged(rows: Tensor, permutation: Tensor) -> Tensor:
    """Return the rows of matrices in the order of a permutation for each matrix."""
    shape = rows._layout.shape
    return gather_op(rows, expand(unsqueeze(permutation, -1), (*permutation._layout.shape, shape[-1])), len(shape) - 2)


def _check(name: str, A: Layout, pivot: bool) -> None:
    check(
        len(A.shape) >= 2, "{!s}: Expected tensor with 2 or more dimensions. Got size: {} instead", name, A.shape,
    )
    check_matrices(name, A)
    check(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@lookup(export=False, results=return_type("linalg_lu_factor", "LU", "pivots"), exact_out=True)
def linalg_lu_factor(A: Layout, *, pivot: bool = True) -> Any:
    """The LU factors of matrices in one matrix, and the rows, counted from 1, with which each row was exchanged.

    Raises:
        LinAlgError: a diagonal element of U is 0.
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers, or ``pivot`` is False.
    """
    _check("torch.lu_factor", A, pivot)
    return lambda A: linalg_lu_factor_op(A, "torch.linalg.lu_factor")[:2], ()


@lookup(export=False, results=return_type("linalg_lu_factor_ex", "LU", "pivots", "info"), exact_out=True)
def linalg_lu_factor_ex(A: Layout, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """The LU factors, pivots, and for each matrix 0, or the position of a diagonal element of U that is 0.

    Raises:
        LinAlgError: a diagonal element of U is 0, and ``check_errors`` is True.
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers, or ``pivot`` is False.
    """
    _check("torch.lu_factor", A, pivot)
    return linalg_lu_factor_op, ("torch.linalg.lu_factor_ex" if check_errors else "",)


@public
def lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> Several:
    """Return the LU factors in one matrix and the pivots, as ``linalg.lu_factor_ex``, under PyTorch's older name.

    With ``get_infos`` a third tensor reports for each matrix 0, or the position of a diagonal element of U that is 0.

    Raises:
        RuntimeError: ``input`` is not a matrix of floating-point or complex numbers, or ``pivot`` is False.

    Example:
        >>> import numgrad
        >>> numgrad.lu(numgrad.tensor([[2.0, 1.0], [4.0, 4.0]]))[1]
        tensor([2, 2], dtype=torch.int32)
    """
    factors = linalg_lu_factor_ex(input, pivot=pivot)
    return tuple(factors if get_infos else factors[:2])


@lookup(export=False, results=return_type("linalg_lu", "P", "L", "U"), exact_out=True)
def linalg_lu(A: Layout, *, pivot: bool = True) -> Any:
    """Permutation matrices, lower triangular ``L`` with ones on the diagonal and upper triangular ``U``.

    ``A`` is ``P @ L @ U``.

    Raises:
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers, or ``pivot`` is False.

    Example:
        >>> import numgrad
        >>> P, L, U = numgrad.linalg.lu(numgrad.tensor([[2.0, 1.0], [4.0, 4.0]]))
        >>> U
        tensor([[ 4.,  4.],
                [ 0., -1.]])
    """
    _check("linalg.lu", A, pivot)
    return _factors_of, ()


def _factors_of(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    LU, pivots, _ = linalg_lu_factor_op(A, "")
    return _unpacked(LU, pivots, True, True)


def _unpacked(LU: Tensor, pivots: Tensor, unpack_data: bool, unpack_pivots: bool) -> tuple[Tensor, Tensor, Tensor]:
    m, n = LU._layout.shape[-2:]
    least, type = min(m, n), {"dtype": LU.dtype, "device": LU.device}
    P = L = U = LU.new_empty(0)
    if unpack_pivots:
        permutation = unsqueeze(lu_permutation(pivots, m), -2)
        numbers = unsqueeze(arange(m, device=LU.device), -1)
        P = convert(eq(numbers, permutation), LU.dtype)
    if unpack_data:
        L = tril_op(narrow(LU, -1, 0, least), -1) + eye(m, least, **type)
        U = triu_op(narrow(LU, -2, 0, least), 0)
    return P, L, U


@lookup(method=False, results=return_type("lu_unpack", "P", "L", "U"))
def lu_unpack(LU_data: Layout, LU_pivots: Layout, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The factors that ``linalg.lu_factor`` returns in one matrix; empty tensors for those not to be unpacked.

    Raises:
        RuntimeError: the pivots are not int32.
    """
    check(
        LU_pivots.type.dtype is int32 or not unpack_pivots,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function "
        "is intended to be used with the output produced by torch.linalg.lu_factor",
    )
    return _unpacked, (unpack_data, unpack_pivots)


@lookup(export=False, exact_out=True)
def linalg_lu_solve(LU: Layout, pivots: Layout, B: Layout, *, left: bool = True, adjoint: bool = False) -> Any:
    """The solution ``X`` of ``A @ X = B`` for the LU factors of ``A``, or of ``X @ A = B`` if ``left`` is False.

    With ``adjoint``, ``A.mH`` takes the place of ``A``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    check_matrices("torch.linalg.lu_solve", LU, "LU")
    check_matrices("torch.linalg.lu_solve", B, "B")
    check_types(
        "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {} and B of type {} instead",
        LU, B,
    )
    check(
        pivots.type.dtype is int32,
        "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32, but got {!s}", pivots.type.dtype,
    )
    n, (rows, columns) = LU.shape[-1], B.shape[-2:]
    equation = "AX = B" if left else "XA = B"
    check(
        LU.shape[-2] == n == (rows if left else columns),
        "linalg.lu_solve: Incompatible shapes of A and B for the equation {!s} ({}x{} and {}x{})", equation,
        LU.shape[-2], n, rows, columns,
    )
    return _solution, (left, adjoint)


def _solution(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, conjugated: bool) -> Tensor:
    if not left:  # the adjoint of the system
        return adjoint(_solution(LU, pivots, adjoint(B), True, not conjugated))
    permutation = lu_permutation(pivots, LU._layout.shape[-1])
    if conjugated:
        middle = solve_triangular(adjoint(LU), B, False)
        return _permuted(solve_triangular(adjoint(LU), middle, True, True, True), permutation.argsort(-1))
    return solve_triangular(LU, solve_triangular(LU, _permuted(B, permutation), False, True, True), True)


def _permuted(rows: Tensor, permutation: Tensor) -> Tensor:
    """Return the rows of matrices in the order of permutations; batches are broadcast."""
    if len(rows._layout.shape) - 1 != len(permutation._layout.shape) or (
        rows._layout.shape[:-2] != permutation._layout.shape[:-1]
    ):
        batch = broadcast_shapes(rows._layout.shape[:-2], permutation._layout.shape[:-1])
        rows = expand(rows, (*batch, *rows._layout.shape[-2:]))
        permutation = expand(permutation, (*batch, permutation._layout.shape[-1]))
    return rearranged(rows, permutation)


@lookup
def lu_solve(b: Layout, LU_data: Layout, LU_pivots: Layout) -> Any:
    """The solution of ``A @ X = b`` for the LU factors of ``A``; see ``linalg.lu_solve``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    linalg_lu_solve.resolve(LU_data, LU_pivots, b)
    return lambda b, LU_data, LU_pivots: _solution(LU_data, LU_pivots, b, True, False), ()
