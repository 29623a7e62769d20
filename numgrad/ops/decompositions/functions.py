"""Functions of matrices other than factorizations: exponentials, powers, norms, symmetric and Vandermonde matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import devices
from ...core.layout import Layout, broadcast_shapes, by_columns, layout_of
from ...core.types import int32
from ...tensors.tensor import Tensor
from ..creation.factories import eye, ones_like
from ..matrices.matmul import matmul
from ..matrices.products import check_types
from ..memory.copying import clone
from ..pointwise.arithmetic import conj
from ..pointwise.comparison import where
from ..reductions.axes import return_type
from ..reductions.norms import vector_norm
from ..shapes.broadcasting import expand
from ..shapes.dimensions import adjoint, unsqueeze
from ..shapes.joining import cat
from ..shapes.parts import flip, narrow
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import composite
from .matrices import check_matrices, check_square, reports
from .singular import linalg_matrix_norm
from .systems import linalg_inv


@operation("LinalgMatrixExpBackward0", aten="linalg_matrix_exp", inputs=["A"], dims=(), host=devices.linalg_matrix_exp)
def linalg_matrix_exp_op(A: Layout) -> Layout:
    return layout_of(A.type, A.shape)


@linalg_matrix_exp_op.gradient("A")
def _(grad, A):
    """``matrix_exp(block_matrix(A.mH, grad, 0, A.mH))[:n, n:]``, where ``n`` is the number of rows of ``A``."""
    n, turned = A._layout.shape[-1], adjoint(A)
    blocks = cat([cat([turned, grad], -1), cat([turned * 0, turned], -1)], -2)
    return narrow(narrow(linalg_matrix_exp_op(blocks), -2, 0, n), -1, n, n)


@lookup(export=False)
def linalg_matrix_exp(A: Layout) -> Any:
    """The exponentials of square matrices: the sums of their powers, divided by factorials.

    Raises:
        RuntimeError: the matrices are not square, or their elements are integers.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.matrix_exp(numgrad.tensor([[0.0, 1.0], [0.0, 0.0]]))
        tensor([[1., 1.],
                [0., 1.]])
    """
    check_square("linalg.matrix_exp", A)
    return linalg_matrix_exp_op, ()


@lookup
def matrix_exp(input: Layout) -> Any:
    """The exponentials of square matrices; see ``linalg.matrix_exp``.

    Raises:
        RuntimeError: the matrices are not square, or their elements are integers.
    """
    return linalg_matrix_exp.resolve(input)


@composite
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The ``n``-th power of a square matrix (or each of several), by repeated squaring; for 0 the identity matrix.

    Raises:
        LinAlgError: ``n`` is negative, and the matrix is singular.
        RuntimeError: the matrix is not square.

    Example:
        >>> import numgrad
        >>> numgrad.matrix_power(numgrad.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    shape = input._layout.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise RuntimeError(f"linalg.matrix_power: A must be batches of square matrices, but is of shape {list(shape)}")
    result, square = None, input if n >= 0 else linalg_inv(input)
    left = -n if n < 0 else n
    while left:
        if left & 1:
            result = square if result is None else matmul(result, square)
        left >>= 1
        square = matmul(square, square) if left else square
    if result is None:
        kept = eye(shape[-1], dtype=input.dtype, device=input.device)
        return where(kept == kept, kept, input)  # constant, but recorded
    return clone(result) if result is input else result


@lookup(exact_out=True)
def norm(
    input: Layout, p: float | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    dtype: Any = None,
) -> Any:
    """The norm of order ``p`` of all elements, or over some dimensions; "fro" and None stand for 2.

    "nuc" is the sum of the singular values of a matrix, or of the matrices in two dimensions.

    Raises:
        RuntimeError: the elements are integers or bools, ``p`` is another string, or there are no two dimensions.

    Example:
        >>> import numgrad
        >>> numgrad.norm(numgrad.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if p == "fro" and isinstance(dim, Sequence) and len(dim) > 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {tuple(dim)}")
    if p is None or p == "fro":
        p = 2
    if p == "nuc":
        whole = tuple(range(len(input.shape)))
        check(dim is not None or len(whole) == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got {!s}", whole)
        return linalg_matrix_norm, (p, (-2, -1) if dim is None else dim, keepdim)
    check(not isinstance(p, str), "linalg.matrix_norm: Order {} not supported", p, input)
    return vector_norm.resolve(input, p, dim, keepdim, dtype=dtype)


@lookup(export=False)
def linalg_vander(x: Layout, *, N: int | None = None) -> Any:
    """The Vandermonde matrices of vectors, whose columns are the powers of ``x`` from 0 to ``N - 1``.

    Raises:
        RuntimeError: ``N`` is less than 2, or the elements are bools.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.vander(numgrad.tensor([2, 3]))
        tensor([[1, 2],
                [1, 3]])
    """
    check(
        x.type.dtype.kind != "b", "linalg.vander supports floating point, complex, and integer tensors, but got {!s}",
        x.type.dtype.legacy, x,
    )
    count = (x.shape or (1,))[-1] if N is None else N
    check(count > 1, "N must be greater than 1.")
    return _vander, (count,)


def _vander(x: Tensor, count: int) -> Tensor:
    column = unsqueeze(x if x._layout.shape else unsqueeze(x, -1), -1)
    powers = expand(column, (*column._layout.shape[:-1], count - 1)).cumprod(-1)
    return cat([ones_like(column, dtype=powers.dtype), powers], -1)


@composite(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the Vandermonde matrix of a vector, whose columns are powers of ``x``, from ``N - 1`` down to 0.

    Args:
        x: a vector of numbers.
        N: the number of columns, by default that of rows.
        increasing: True for columns in the opposite order, as ``linalg.vander`` has them.

    Raises:
        RuntimeError: ``x`` is not a vector, or ``N`` is negative.

    Example:
        >>> import numgrad
        >>> numgrad.vander(numgrad.tensor([2, 3]), 3)
        tensor([[4, 2, 1],
                [9, 3, 1]])
    """
    check(len(x._layout.shape) == 1, "x must be a one-dimensional tensor.", x)
    count = x._layout.shape[0] if N is None else N
    check(count >= 0, "N must be non-negative, not {}", count)
    result = _vander(x, max(count, 1))[:, :count]
    return result if increasing else flip(result, (1,))


# -- symmetric systems ------------------------------------------------------------------------------------------------


@operation(
    "LinalgLdlFactorExBackward0", aten="linalg_ldl_factor_ex", inputs=["A"], underived=["A"], dims=(),
    extras=["pivots", "info"], host=devices.lapack("linalg_ldl_factor"),
)
def linalg_ldl_factor_op(A: Layout, hermitian: bool, check: str) -> Any:
    return by_columns(A.type, A.shape), reports(A, A.shape[:-1]), reports(A)


@lookup(export=False, results=return_type("linalg_ldl_factor", "LD", "pivots"), exact_out=True)
def linalg_ldl_factor(A: Layout, *, hermitian: bool = False) -> Any:
    """The LDL factors of symmetric, or Hermitian, matrices in one matrix, and pivots; backward raises an error.

    Only the lower triangle of each matrix is read.

    Raises:
        LinAlgError: a matrix is singular.
        RuntimeError: the matrices are not square.
    """
    check_square("torch.linalg.ldl_factor_ex", A)
    return lambda A: linalg_ldl_factor_op(A, hermitian, "torch.linalg.ldl_factor")[:2], ()


@lookup(export=False, results=return_type("linalg_ldl_factor_ex", "LD", "pivots", "info"), exact_out=True)
def linalg_ldl_factor_ex(A: Layout, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """The LDL factors, pivots, and for each matrix 0, or the position of a diagonal element of D that is 0.

    Raises:
        LinAlgError: a matrix is singular, and ``check_errors`` is True.
        RuntimeError: the matrices are not square.
    """
    check_square("torch.linalg.ldl_factor_ex", A)
    return linalg_ldl_factor_op, (hermitian, "torch.linalg.ldl_factor_ex" if check_errors else "")


@operation(
    "LinalgLdlSolveBackward0", aten="linalg_ldl_solve", inputs=["LD", "pivots", "B"],
    nondifferentiable=["LD", "pivots"], host=devices.lapack("linalg_ldl_solve"),
)
def linalg_ldl_solve_op(LD: Layout, pivots: Layout, B: Layout, hermitian: bool) -> Layout:
    batch = broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    return by_columns(B.type, (*batch, *B.shape[-2:]))


@linalg_ldl_solve_op.gradient("B")
def _(grad, LD, pivots, hermitian):
    """``conj(ldl_solve(LD, pivots, conj(grad)))``, without conjugates if the matrix is Hermitian."""
    if hermitian:
        return linalg_ldl_solve_op(LD, pivots, grad, True)
    return conj(linalg_ldl_solve_op(LD, pivots, conj(grad), False))


@lookup(export=False, exact_out=True)
def linalg_ldl_solve(LD: Layout, pivots: Layout, B: Layout, *, hermitian: bool = False) -> Any:
    """The solution ``X`` of ``A @ X = B`` for the LDL factors of ``A``, differentiable in ``B``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    name = "torch.linalg.ldl_solve"
    check_square(name, LD, "LD")
    check(
        len(B.shape) >= 2, "{!s}: Expected B to have at least 2 dimensions, but it has {} dimensions instead", name,
        len(B.shape),
    )
    check_matrices(name, B, "B")
    check(
        LD.shape[:-1] == pivots.shape,
        "{!s}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape {} instead", name,
        pivots,
    )
    check(pivots.type.dtype is int32, "{!s}: Expected pivots to be integers. Got {!s}", name, pivots.type.dtype.legacy)
    check_types(f"{name}: LD dtype {{}} does not match b dtype {{}}", LD, B)
    check(
        LD.shape[-1] == B.shape[-2],
        "{!s}: Incompatible matrix sizes: each A matrix is {} by {} but each b matrix is {} by {}", name,
        *LD.shape[-2:], *B.shape[-2:],
    )
    return linalg_ldl_solve_op, (hermitian,)
