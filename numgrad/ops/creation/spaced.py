"""Evenly spaced numbers, and their powers."""

from __future__ import annotations

import functools
import math
import warnings
from numbers import Number
from typing import Any

import numpy as np

from ... import devices
from ...core.device import device, numbered, to_device
from ...core.halves import narrowed
from ...core.layout import Layout, layout_of
from ...core.types import (
    TensorType,
    bool_,
    complex_of,
    default_dtype_changed,
    dtype,
    get_default_dtype,
    int64,
    layout,
)
from ...tensors.tensor import Tensor, tensor_of
from ..memory.copying import from_buffer
from ..table.arguments import wrong_kind
from ..table.checks import check, check_implemented
from ..table.op import named, public
from ..table.promotion import number_dtype
from .factories import chosen_type, finished
from .into import takes_out


@public(method=False, direct=True)
@takes_out
def arange(
    start: Any = None, end: Any = None, step: Any = 1, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` to ``end``, which is excluded, ``step`` apart; int64 if all three are ints.

    An integer dtype truncates ``start`` and ``step``.  The length is ``ceil((end - start) / step)`` of the numbers as
    given.  For int64, all three are truncated first, as in PyTorch: ``arange(0, 3.1, dtype=int64)`` has 3 elements,
    and 4 with any other integer dtype.

    Raises:
        RuntimeError: a bound is infinite or NaN, or the step is 0 or leads away from ``end``.

    Example:
        >>> import numgrad
        >>> numgrad.arange(2, 10, 3)
        tensor([2, 5, 8])
    """
    if end is None:
        start, end = 0 if start is not None else None, start
    if start.__class__ is not int or end.__class__ is not int or step.__class__ is not int:
        start, end, step = _numbers("arange", 0 if start is None else start, end, step)
    new, first, apart = _range(start, end, step, dtype, numbered(to_device(device)))
    counted = tensor_of(new, new.type.backend.counted(first, apart, new.size, new.type))
    return finished(counted, requires_grad, scheme=layout)


def _numbers(name: str, *values: Any) -> list[Any]:
    """Return the bounds and the step of a range as Python numbers."""
    numbers = [value.item() if isinstance(value, Tensor | np.generic) else value for value in values]
    for value in numbers:
        if not isinstance(value, bool | int | float):
            raise TypeError(f"{name}(): start, end and step must be numbers, not {value.__class__.__name__}")
    return numbers


@functools.lru_cache(maxsize=1024, typed=True)
def _range(start: Any, end: Any, step: Any, dtype: Any, device: Any) -> tuple[Layout, Any, Any]:
    """Return the layout of a range, its first number and its step."""
    _check_bounds(start, end)
    whole = all(isinstance(v, int) for v in (start, end, step))
    type = chosen_type(dtype, device, int64 if whole else None)
    if type.dtype is bool_ or type.dtype.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type.dtype.legacy}'")
    if type.dtype is int64:  # as in PyTorch: for the other integer dtypes the numbers as given determine the count
        start, end, step, whole = int(start), int(end), int(step), True
    _check_step(start, end, step)
    count = -((start - end) // step) if whole else max(0, math.ceil((end - start) / step))
    if not type.dtype.is_floating_point:
        start, step = int(start), int(step)
    return layout_of(type, (count,)), start, step


default_dtype_changed.append(_range.cache_clear)


def _check_bounds(start: Any, end: Any) -> None:
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")


def _check_step(start: Any, end: Any, step: Any) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError(f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}")


def _inclusive(
    start: Any, end: Any, step: Any = 1, *, dtype: dtype | None = None, device: device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` to ``end``, which is included, ``step`` apart; deprecated in favour of ``arange``.

    An integer dtype truncates ``start`` and ``step``.

    Raises:
        RuntimeError: a bound is infinite or NaN, or the step is 0 or leads away from ``end``.
    """
    warnings.warn("range is deprecated: use arange, which excludes the end, as Python's range does", stacklevel=3)
    start, end, step = _numbers("range", start, end, step)
    _check_bounds(start, end)
    type = chosen_type(dtype, device)
    check_implemented(type.dtype.kind in "if", "\"range_cpu\" not implemented for '{!s}'", type.dtype.legacy)
    if type.dtype.kind == "i":
        start, step = int(start), int(step)
    _check_step(start, end, step)
    layout = layout_of(type, (math.floor((end - start) / step) + 1,))
    return finished(tensor_of(layout, type.backend.counted(start, step, layout.size, type)), requires_grad)


public(named(_inclusive, "range", _inclusive.__doc__), method=False)


def _spaced(name: str, start: Any, end: Any, steps: int, dtype: Any, device: Any) -> tuple[Any, Any, TensorType]:
    start, end = [v.item() if isinstance(v, Tensor | np.generic) else v for v in (start, end)]
    for number, value in enumerate((start, end)):
        if not isinstance(value, Number):
            raise wrong_kind(name, ("start", "end")[number], number + 1, complex, value)
    check(steps >= 0, "number of steps must be non-negative, not {}", steps)
    dtypes = [number_dtype(value) for value in (start, end)]
    default = complex_of(get_default_dtype()) if any(type_of_bound.is_complex for type_of_bound in dtypes) else None
    type = chosen_type(dtype, device, default)
    check_implemented(type.dtype is not bool_, "\"{}_cpu\" not implemented for 'Bool'", name)
    if type.dtype.kind == "i" and (steps > 1 or name == "linspace"):  # the ends have the dtype, too
        start, end = [int(value.real) for value in (start, end)]
    return start, end, type


@public(method=False, direct=True)
@takes_out
def linspace(
    start: Any, end: Any, steps: int, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    Raises:
        RuntimeError: the number of steps is negative.

    Example:
        >>> import numgrad
        >>> numgrad.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    start, end, type = _spaced("linspace", start, end, steps, dtype, device)
    spread = tensor_of(layout_of(type, (steps,)), type.backend.spread(start, end, steps, type))
    return finished(spread, requires_grad, scheme=layout)


@public(method=False, direct=True)
@takes_out
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: dtype | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> Tensor:
    """``base`` to the power of ``steps`` evenly spaced numbers from ``start`` to ``end``.

    Raises:
        RuntimeError: the number of steps is negative.

    Example:
        >>> import numgrad
        >>> numgrad.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    start, end, type = _spaced("logspace", start, end, steps, dtype, device)
    wide = np.dtype(np.complex128 if type.dtype.is_complex else np.float64)
    powers = np.power(wide.type(base), devices.evenly_spaced(start, end, steps, wide))
    return finished(from_buffer(narrowed(powers, type.numpy), (steps,), type), requires_grad)
