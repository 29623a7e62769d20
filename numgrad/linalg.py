"""Norms, products and systems of linear equations, under the names of PyTorch's ``torch.linalg``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .core.layout import normal_dim as _normal_dim
from .core.missing import found_later as _found_later
from .core.types import to_dtype as _to_dtype
from .devices import LinAlgError
from .ops.matrices.linalg import chain_matmul as _chain_matmul
from .ops.matrices.linalg import cross as _cross
from .ops.matrices.linalg import linalg_solve_op as _solve_op
from .ops.matrices.linalg import matrix_power as _matrix_power
from .ops.matrices.matmul import matmul
from .ops.memory.copying import convert as _convert
from .ops.pointwise.arithmetic import abs as _abs
from .ops.pointwise.arithmetic import conj as _conj
from .ops.pointwise.arithmetic import mul as _mul
from .ops.reductions.extremes import amax as _amax
from .ops.reductions.extremes import amin as _amin
from .ops.reductions.norms import vector_norm
from .ops.reductions.sums import sum as _sum
from .ops.shapes.diagonals import diagonal as _diagonal
from .ops.shapes.dimensions import squeeze_dim as _squeeze
from .ops.shapes.dimensions import unsqueeze as _unsqueeze
from .ops.table.arguments import checked as _checked
from .ops.table.op import check_tensors as _check_tensors
from .tensors.tensor import Tensor

__all__ = [
    "LinAlgError", "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "multi_dot", "norm", "solve", "vecdot",
    "vector_norm",
]

solve = _solve_op.public


@_checked
def matrix_norm(
    A: Tensor, ord: float | str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Return the norm of the matrices in two dimensions.

    ``ord`` "fro" is the square root of the sum of squares, 1 the largest sum of absolute values of a column, and
    infinity the largest sum of a row; with a minus sign, they are the smallest sums.

    Raises:
        RuntimeError: ``ord`` has another value (numgrad has no singular values, which 2 and "nuc" require).
    """
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {tuple(dim)}")
    rank = len(A._layout.shape)
    if rank < 2:
        raise RuntimeError(f"linalg.matrix_norm: The input tensor A must have at least 2 dimensions, not {rank}.")
    row, column = [_normal_dim(number, rank) for number in dim]
    if row == column:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({row}, {column})")
    if ord == "fro":
        return vector_norm(A, 2, (row, column), keepdim, dtype=dtype)
    if ord not in (1, -1, float("inf"), float("-inf")):
        raise RuntimeError(
            f"linalg.matrix_norm: Order {ord} not supported: numgrad has 'fro', 1, -1, inf and -inf "
            f"(shape {list(A.shape)})"
        )
    assert not isinstance(ord, str)
    summed, chosen = (row, column) if ord in (1, -1) else (column, row)
    extreme = _amax if ord > 0 else _amin
    sums = _sum(_abs(A if dtype is None else _convert(A, _to_dtype(dtype))), summed, True)
    result = extreme(sums, chosen, True)
    return result if keepdim else result.squeeze((row, column))


@_checked
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


@_checked
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the sums of ``conj(x) * y`` along a dimension; the other dimensions are broadcast."""
    _check_tensors("vecdot", x=x, y=y)
    return _sum(_mul(_conj(x), y), dim)


@_checked
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cross product of vectors of three elements in a dimension; see :func:`numgrad.cross`."""
    return _cross(input, other, dim)


@_checked
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of matrices in two dimensions, as last dimension; see :func:`numgrad.diagonal`."""
    return _diagonal(A, offset, dim1, dim2)


@_checked
def matrix_power(A: Tensor, n: int) -> Tensor:
    """Return the ``n``-th power of a square matrix or of each matrix of a batch; see :func:`numgrad.matrix_power`."""
    return _matrix_power(A, n)


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
