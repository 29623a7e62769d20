"""Linear algebra of the array API standard."""

from __future__ import annotations

from typing import Any

import numgrad as ng

from .. import linalg as _own
from ..core.types import dtype as _dtype
from ..tensors.tensor import Tensor
from .elementwise import together
from .reductions import sum as _sum

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]

cholesky = _own.cholesky
det = _own.det
eigh = _own.eigh
eigvalsh = _own.eigvalsh
inv = _own.inv
matrix_power = _own.matrix_power
slogdet = _own.slogdet
svd = _own.svd
svdvals = _own.svdvals


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return the matrices with rows and columns exchanged."""
    return x.mT


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of matrices, in their common dtype."""
    return ng.matmul(*together(x1, x2))


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Return the sums of products over the last ``axes`` dimensions of ``x1`` and the first of ``x2``."""
    a, b = together(x1, x2)
    return ng.tensordot(a, b, dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the sums of products along a dimension, with the first factor conjugated, in the common dtype.

    Raises:
        ValueError: the sizes of the dimension differ.
    """
    a, b = together(x1, x2)
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vecdot() of vectors of {a.shape[axis]} and {b.shape[axis]} elements")
    if a.is_floating_point() or a.is_complex():
        return _own.vecdot(a, b, dim=axis)
    return ng.sum(a * b, axis, dtype=a.dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of all elements of a vector with all of another."""
    return ng.outer(*together(x1, x2))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of three elements along a dimension."""
    return _own.cross(*ng.broadcast_tensors(*together(x1, x2)), dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return a diagonal of each matrix."""
    return ng.diagonal(x, offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: _dtype | None = None) -> Tensor:
    """Return the sum of a diagonal of each matrix."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return the norms of matrices: "fro", "nuc", or a number as for ``numgrad.linalg.matrix_norm``."""
    return _own.matrix_norm(x, ord, (-2, -1), keepdims)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """Return the norms of vectors along some dimensions, or of all elements as one vector."""
    if axis == ():
        return ng.abs(x) if ord != 0 else (x != 0).to(ng.abs(x).dtype)
    return _own.vector_norm(x, ord, axis, keepdims)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Return the number of singular values of each matrix that exceed ``rtol`` times the largest."""
    return _own.matrix_rank(x, rtol=rtol)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Return the pseudoinverses, with singular values below ``rtol`` times the largest taken as 0."""
    return _own.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """Return ``Q``, with orthonormal columns, and the upper triangular ``R``, whose product is ``x``."""
    return _own.qr(x, mode)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solutions ``X`` of ``x1 @ X = x2``; ``x2`` is a vector only if it has one dimension."""
    a, b = together(x1, x2)
    if b.ndim == 1:
        return _own.solve(a, b.unsqueeze(-1).expand(*a.shape[:-1], 1)).squeeze(-1)
    batch = ng.broadcast_shapes(a.shape[:-2], b.shape[:-2])  # a batch of vectors would be ambiguous
    return _own.solve(a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:]))
