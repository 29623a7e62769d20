"""Creation of tensors by the array API standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numgrad as ng

from ..core.types import dtype as _dtype
from ..ops import public_functions
from ..ops.table.op import named
from ..tensors.tensor import Tensor

empty_like = public_functions["empty_like"]
full_like = public_functions["full_like"]
ones_like = public_functions["ones_like"]
zeros_like = public_functions["zeros_like"]


def asarray(
    obj: Any, /, *, dtype: _dtype | None = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """Return an array, a number, or nested sequences of tensors or numbers as a tensor; see ``numgrad.asarray``."""
    if isinstance(obj, list | tuple) and any(isinstance(item, Tensor) for item in obj):
        obj = ng.stack([asarray(item) for item in obj])
    return ng.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: _dtype | None = None, device: Any = None
) -> Tensor:
    """Return numbers from ``start`` to ``stop``, which is excluded; none if ``step`` leads away from ``stop``."""
    first, last = (0, start) if stop is None else (start, stop)
    if (last - first) * step < 0:
        last = first + 0 * last  # a float, if that is one
    return ng.arange(first, last, step, dtype=dtype, device=device)


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: _dtype | None = None, device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``, which is included if ``endpoint``."""
    if dtype is None:
        dtype = ng.get_default_dtype()
        if isinstance(start, complex) or isinstance(stop, complex):
            dtype = ng.complex128 if dtype is ng.float64 else ng.complex64
    if endpoint:
        return ng.linspace(start, stop, num, dtype=dtype, device=device)
    return ng.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: _dtype | None = None, device: Any = None
) -> Tensor:
    """Return a matrix with ones on its ``k``-th diagonal and zeros elsewhere."""
    result = ng.zeros(n_rows, n_rows if n_cols is None else n_cols, dtype=dtype, device=device)
    result.diagonal(k).fill_(1)
    return result


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Return the coordinates of the points of a grid, one tensor for each vector of coordinates."""
    return list(ng.meshgrid(*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return matrices with zeros above their ``k``-th diagonal."""
    return ng.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return matrices with zeros below their ``k``-th diagonal."""
    return ng.triu(x, k)


def full(shape: Any, fill_value: complex, *, dtype: _dtype | None = None, device: Any = None) -> Tensor:
    """Return a tensor filled with a number."""
    return ng.full(_size(shape), fill_value, dtype=dtype, device=device)


def _size(shape: Any) -> Any:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _of_shape(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def new(shape: Any, *, dtype: _dtype | None = None, device: Any = None) -> Tensor:
        return function(_size(shape), dtype=dtype, device=device)

    return named(new, name, f"Return ``numgrad.{name}`` of a shape.")


empty, ones, zeros = [_of_shape(name, public_functions[name]) for name in ("empty", "ones", "zeros")]
