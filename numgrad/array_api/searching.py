"""Sorting, searching, sets and indexing by tensors, of the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import numgrad as ng

from ..tensors.tensor import Tensor
from .elementwise import together


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the indices of the largest elements along a dimension, or of the largest of all."""
    return ng.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the indices of the smallest elements along a dimension, or of the smallest of all."""
    return ng.argmin(x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of the nonzero elements, a vector for each dimension.

    Raises:
        ValueError: the tensor has no dimensions.
    """
    if not x.ndim:
        raise ValueError("nonzero() of a tensor without dimensions: reshape it to a vector")
    return ng.nonzero(x, as_tuple=True)


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Return the positions in the sorted vector ``x1`` before which, or after which, the elements of ``x2`` belong."""
    row, values = together(x1, x2)
    return ng.searchsorted(row if sorter is None else row[sorter], values, side=side)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """Return the elements of ``x1`` where the condition holds, and those of ``x2`` elsewhere, in their common dtype."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        return ng.where(condition, x1, x2)
    return ng.where(condition, *together(x1, x2))


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the elements in order along a dimension."""
    return ng.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the indices that sort the elements along a dimension."""
    return ng.argsort(x, dim=axis, descending=descending, stable=stable)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return the parts of a tensor at the indices of one dimension, which a vector may omit.

    Negative indices count from the end.
    """
    dim = 0 if axis is None else axis
    return ng.index_select(x, dim, ng.where(indices < 0, indices + x.shape[dim], indices))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the elements at indices along a dimension; the other dimensions are broadcast."""
    return ng.take_along_dim(x, indices, axis)


class UniqueAll(NamedTuple):
    """The distinct elements, where each occurs first, where each element is among them, and how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The distinct elements, and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct elements, and where each element is among them."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """Return the distinct elements, where each occurs first, where each element is among them, and their counts."""
    values, inverse, counts = _unique(x)
    flat = inverse.reshape(-1)
    order = ng.argsort(flat, stable=True)
    starts = ng.cumsum(counts, 0) - counts
    return UniqueAll(values, order[starts], inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Return the distinct elements, and how often each occurs."""
    values, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Return the distinct elements, and where each element is among them."""
    values, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """Return the distinct elements; each NaN counts as distinct."""
    return _unique(x)[0]


def _unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct elements, where each element is among them, and their counts."""
    if not x.is_complex():
        return ng.unique(x, return_inverse=True, return_counts=True)
    pairs = ng.view_as_real(x).reshape(-1, 2)
    values, inverse, counts = ng.unique(pairs, dim=0, return_inverse=True, return_counts=True)
    return ng.view_as_complex(values), inverse.reshape(x.shape), counts
