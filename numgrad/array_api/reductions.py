"""Sums, statistics and truth values along dimensions, of the array API standard.

``axis`` is None for all dimensions, a number, or a tuple, of which the empty one names no dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numgrad as ng

from ..core.layout import normal_dims
from ..core.types import dtype as _dtype
from ..ops.table.op import named
from ..tensors.tensor import Tensor
from .elementwise import together


def _along(function: Callable[..., Tensor], x: Tensor, axis: Any, *args: Any, **options: Any) -> Tensor:
    """Return a reduction over some dimensions; if there are none, over a new one of size 1."""
    if axis == () or (axis is None and not x.shape):
        return function(x.unsqueeze(0), (0,), *args, **{**options, "keepdim": False})
    return function(x, tuple(range(x.ndim)) if axis is None else axis, *args, **options)


def _reduction(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def reduce(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _along(function, x, axis, keepdim=keepdims)

    return named(reduce, name, f"Return ``{name}`` of the elements along some dimensions, or all.")


def _count(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    return ng.sum(x != 0, dim, keepdim)


def _all(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    return ng.all(x, dim, keepdim).bool()  # that of uint8 is uint8


def _any(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    return ng.any(x, dim, keepdim).bool()


all = _reduction("all", _all)
any = _reduction("any", _any)
count_nonzero = _reduction("count_nonzero", _count)
max = _reduction("max", ng.amax)
mean = _reduction("mean", ng.mean)
min = _reduction("min", ng.amin)


def sum(x: Tensor, /, *, axis: Any = None, dtype: _dtype | None = None, keepdims: bool = False) -> Tensor:
    """Return the sums along some dimensions, or of all elements; those of integers are int64 unless ``dtype`` says."""
    return _along(ng.sum, x, axis, keepdim=keepdims, dtype=dtype)


def prod(x: Tensor, /, *, axis: Any = None, dtype: _dtype | None = None, keepdims: bool = False) -> Tensor:
    """Return the products along some dimensions, or of all elements; those of integers are int64 by default."""
    return _along(_product, x, axis, keepdim=keepdims, dtype=dtype)


def _product(x: Tensor, dim: Any, keepdim: bool, dtype: _dtype | None) -> Tensor:
    dims = normal_dims(dim, x.ndim)
    kept = [number for number in range(x.ndim) if number not in dims]
    sizes = [x.shape[number] for number in kept]
    count = 1
    for number in dims:
        count *= x.shape[number]
    row = x.permute(*kept, *dims).reshape((*sizes, count))
    result = ng.prod(row, -1, dtype=dtype)
    return result.reshape([1 if number in dims else x.shape[number] for number in range(x.ndim)]) if keepdim else result


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the variances along some dimensions, or of all elements: squares divided by the count less ``correction``.
    """
    return _along(ng.var, x, axis, keepdim=keepdims, correction=correction)


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the standard deviations along some dimensions, or of all elements; see :func:`var`."""
    return _along(ng.std, x, axis, keepdim=keepdims, correction=correction)


def _cumulative(name: str, function: Callable[..., Tensor], initial: int) -> Callable[..., Tensor]:
    def accumulate(
        x: Tensor, /, *, axis: int | None = None, dtype: _dtype | None = None, include_initial: bool = False
    ) -> Tensor:
        if axis is None and x.ndim != 1:
            raise ValueError(f"{name}: axis is required for a tensor of shape {list(x.shape)}")
        dim = 0 if axis is None else axis
        result = function(x, dim, dtype=dtype)
        if not include_initial:
            return result
        shape = list(x.shape)
        shape[dim] = 1
        return ng.cat([ng.full(shape, initial, dtype=result.dtype, device=x.device), result], dim)

    return named(accumulate, name, f"Return ``{name}`` along a dimension, which may begin with {initial}.")


cumulative_sum = _cumulative("cumulative_sum", ng.cumsum, 0)
cumulative_prod = _cumulative("cumulative_prod", ng.cumprod, 1)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the ``n``-th differences of neighbours along a dimension, after joining tensors to its ends."""
    ends = iter(together(x, *[end for end in (prepend, append) if end is not None]))
    x = next(ends)
    before = None if prepend is None else next(ends)
    return ng.diff(x, n, axis, before, None if append is None else next(ends))
