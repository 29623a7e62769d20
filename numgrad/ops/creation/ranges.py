"""Making tensors of evenly spaced numbers."""

from __future__ import annotations

import functools
import math
from numbers import Number
from typing import Any

import numpy as np

from ... import devices
from ...core.device import numbered, to_device
from ...core.layout import Layout, layout_of
from ...core.tensor import Tensor, tensor_of
from ...core.types import TensorType, bool_, complex_of, default_dtype_changed, get_default_dtype, int64
from ..memory.copying import from_row
from ..table.arguments import wrong_kind
from ..table.op import public
from ..table.promotion import number_dtype
from .filled import chosen_type, finished


@public(method=False, direct=True)
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` up to and without ``end``, ``step`` apart; int64 if all three are ints.

    Raises:
        RuntimeError: a bound is infinite or NaN, or the step is 0 or leads away from ``end``.
    """
    if end is None:
        start, end = 0 if start is not None else None, start
    if start.__class__ is not int or end.__class__ is not int or step.__class__ is not int:
        start, end, step = [
            v.item() if isinstance(v, Tensor | np.generic) else v for v in (0 if start is None else start, end, step)
        ]
        for value in (start, end, step):
            if not isinstance(value, bool | int | float):
                raise TypeError(f"arange(): start, end and step must be numbers, not {value.__class__.__name__}")
    layout, first, apart = _range(start, end, step, dtype, numbered(to_device(device)))
    row = layout.type.backend.counted(first, apart, layout.size, layout.type)
    return finished(tensor_of(layout, row), requires_grad)


@functools.lru_cache(maxsize=1024, typed=True)
def _range(start: Any, end: Any, step: Any, kind: Any, place: Any) -> tuple[Layout, Any, Any]:
    """The layout of a range, its first number and how far they are apart."""
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    whole = all(isinstance(v, int) for v in (start, end, step))
    type = chosen_type(kind, place, int64 if whole else None)
    if type.dtype is bool_ or type.dtype.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type.dtype.legacy}'")
    if not type.dtype.is_floating_point:
        start, end, step, whole = int(start), int(end), int(step), True
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError(f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}")
    count = -((start - end) // step) if whole else max(0, math.ceil((end - start) / step))
    return layout_of(type, (count,)), start, step


default_dtype_changed.append(_range.cache_clear)


def _spaced(name: str, start: Any, end: Any, steps: int, dtype: Any, device: Any) -> tuple[Any, Any, TensorType]:
    start, end = [v.item() if isinstance(v, Tensor | np.generic) else v for v in (start, end)]
    for place, value in enumerate((start, end)):
        if not isinstance(value, Number):
            raise wrong_kind(name, ("start", "end")[place], place + 1, complex, value)
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, not {steps}")
    kinds = [number_dtype(value) for value in (start, end)]
    default = complex_of(get_default_dtype()) if any(kind.is_complex for kind in kinds) else None
    type = chosen_type(dtype, device, default)
    if type.dtype is bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if type.dtype.kind == "i" and (steps > 1 or name == "linspace"):  # the ends are of the dtype, too
        start, end = [int(value.real) for value in (start, end)]
    return start, end, type


@public(method=False, direct=True)
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    Raises:
        RuntimeError: the number of steps is negative.
    """
    start, end, type = _spaced("linspace", start, end, steps, dtype, device)
    return finished(tensor_of(layout_of(type, (steps,)), type.backend.spread(start, end, steps, type)), requires_grad)


@public(method=False, direct=True)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``base`` to the power of ``steps`` evenly spaced numbers from ``start`` to ``end``.

    Raises:
        RuntimeError: the number of steps is negative.
    """
    start, end, type = _spaced("logspace", start, end, steps, dtype, device)
    wide = np.dtype(np.complex128 if type.dtype.is_complex else np.float64)
    row = np.power(wide.type(base), devices.evenly_spaced(start, end, steps, wide)).astype(type.numpy)
    return finished(from_row(row, (steps,), type), requires_grad)
