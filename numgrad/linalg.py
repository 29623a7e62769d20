"""Decompositions, systems of equations, norms and products, under the names of PyTorch's ``torch.linalg``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .core.missing import found_later as _found_later
from .devices import LinAlgError
from .ops.decompositions.cholesky import linalg_cholesky as cholesky
from .ops.decompositions.cholesky import linalg_cholesky_ex as cholesky_ex
from .ops.decompositions.determinants import linalg_det as det
from .ops.decompositions.determinants import linalg_slogdet as slogdet
from .ops.decompositions.eigenvalues import linalg_eig as eig
from .ops.decompositions.eigenvalues import linalg_eigh as eigh
from .ops.decompositions.eigenvalues import linalg_eigvals as eigvals
from .ops.decompositions.eigenvalues import linalg_eigvalsh as eigvalsh
from .ops.decompositions.functions import linalg_ldl_factor as ldl_factor
from .ops.decompositions.functions import linalg_ldl_factor_ex as ldl_factor_ex
from .ops.decompositions.functions import linalg_ldl_solve as ldl_solve
from .ops.decompositions.functions import linalg_matrix_exp as matrix_exp
from .ops.decompositions.functions import linalg_vander as vander
from .ops.decompositions.functions import matrix_power as _matrix_power
from .ops.decompositions.least_squares import linalg_lstsq as lstsq
from .ops.decompositions.lu import linalg_lu as lu
from .ops.decompositions.lu import linalg_lu_factor as lu_factor
from .ops.decompositions.lu import linalg_lu_factor_ex as lu_factor_ex
from .ops.decompositions.lu import linalg_lu_solve as lu_solve
from .ops.decompositions.orthogonal import linalg_householder_product as householder_product
from .ops.decompositions.orthogonal import linalg_qr as qr
from .ops.decompositions.singular import linalg_cond as cond
from .ops.decompositions.singular import linalg_matrix_norm as matrix_norm
from .ops.decompositions.singular import linalg_matrix_rank as matrix_rank
from .ops.decompositions.singular import linalg_pinv as pinv
from .ops.decompositions.singular import linalg_svd as svd
from .ops.decompositions.singular import linalg_svdvals as svdvals
from .ops.decompositions.systems import linalg_inv as inv
from .ops.decompositions.systems import linalg_inv_ex as inv_ex
from .ops.decompositions.systems import linalg_solve as solve
from .ops.decompositions.systems import linalg_solve_ex as solve_ex
from .ops.decompositions.systems import linalg_tensorinv as tensorinv
from .ops.decompositions.systems import linalg_tensorsolve as tensorsolve
from .ops.decompositions.triangular import linalg_solve_triangular as solve_triangular
from .ops.matrices.linalg import chain_matmul as _chain_matmul
from .ops.matrices.linalg import cross as _cross
from .ops.matrices.matmul import matmul as _matmul
from .ops.matrices.products import check_types as _check_types
from .ops.pointwise.arithmetic import conj as _conj
from .ops.pointwise.arithmetic import mul as _mul
from .ops.reductions.norms import vector_norm
from .ops.reductions.sums import sum as _sum
from .ops.shapes.diagonals import diagonal as _diagonal
from .ops.shapes.dimensions import squeeze_dim as _squeeze
from .ops.shapes.dimensions import unsqueeze as _unsqueeze
from .ops.table.arguments import checked as _checked
from .ops.table.autocasting import autocasting as _autocasting
from .ops.table.checks import check as _check
from .ops.table.op import check_tensors as _check_tensors
from .ops.table.op import public as _public
from .tensors.tensor import Tensor

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu",
    "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank",
    "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
    "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]

matmul = _public(_matmul, export=False, takes_out=True, exact_out=True)


@_public(export=False, takes_out=True, exact_out=True)
def norm(
    A: Tensor, ord: float | str | None = None, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: Any = None,
) -> Tensor:
    """Return the norm of vectors (one dimension) or of matrices (two); without ``ord`` and ``dim``, of all elements.

    Raises:
        RuntimeError: the dimensions do not match ``ord``, or ``ord`` is not supported.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.norm(numgrad.tensor([[3.0, 0.0], [4.0, 0.0]]))
        tensor(5.)
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    rank = len(A._layout.shape)
    if dim is None:
        if rank not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
                f"Got {rank}D (shape {list(A.shape)})."
            )
        dim = tuple(range(rank))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) == 2:
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: Order {ord} is defined for matrices, but dim has {len(dims)} dimensions")
    return vector_norm(A, ord, dims, keepdim, dtype=dtype)


@_public(export=False, takes_out=True, exact_out=True)
@_autocasting
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the sums of ``conj(x) * y`` along a dimension; the other dimensions are broadcast.

    Raises:
        RuntimeError: the elements are not floating-point or complex numbers, or the dtypes differ.
    """
    _check_tensors("vecdot", x=x, y=y)
    dtype = x._layout.type.dtype
    _check(
        dtype.differentiable, "linalg.vecdot: Expected a floating point or complex tensor as input. Got {!s}",
        dtype.legacy, x,
    )
    _check_types(
        "linalg.vecdot: Expected x and y to have the same dtype, but found x of type {} and y of type {} instead",
        x._layout, y._layout,
    )
    return _sum(_mul(_conj(x), y), dim)


@_public(export=False, takes_out=True, exact_out=True)
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cross product of vectors of three elements in a dimension; see :func:`numgrad.cross`."""
    return _cross(input, other, dim)


@_checked
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of matrices in two dimensions, as last dimension; see :func:`numgrad.diagonal`."""
    return _diagonal(A, offset, dim1, dim2)


@_public(export=False, takes_out=True, exact_out=True)
def matrix_power(A: Tensor, n: int) -> Tensor:
    """Return the ``n``-th power of a square matrix or of each matrix of a batch; see :func:`numgrad.matrix_power`."""
    return _matrix_power(A, n)


@_public(export=False, takes_out=True, exact_out=True)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Return the product of several matrices, in the order with the fewest multiplications.

    The first tensor may be a vector, which is treated as a row, and the last one a vector that is treated as a column;
    the result lacks the dimensions added.

    Raises:
        RuntimeError: there are fewer than two, one has another number of dimensions, or their shapes do not match.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.multi_dot([numgrad.ones(2, 3), numgrad.ones(3, 4), numgrad.ones(4)])
        tensor([12., 12.])
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = [len(tensor._layout.shape) == 1 for tensor in (tensors[0], tensors[-1])]
    matrices = [*tensors]
    if first:
        matrices[0] = _unsqueeze(matrices[0], 0)
    if last:
        matrices[-1] = _unsqueeze(matrices[-1], -1)
    product = _chain_matmul(*matrices)
    product = _squeeze(product, 1) if last else product
    return _squeeze(product, 0) if first else product


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "linalg")
