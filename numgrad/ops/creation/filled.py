"""Making tensors: filled with a number, as a range, at random, or like another."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from ... import devices, random
from ..._device import numbered
from ..._layout import Layout, layout_of
from ..._tensor import Tensor, check_differentiable, strided, tensor_of
from ..._types import (
    CPU,
    TensorType,
    bool_,
    complex_of,
    default_dtype_changed,
    dtype,
    get_default_dtype,
    int64,
    real_of,
    tensor_type,
    to_device,
    to_dtype,
)
from ...autograd.grad_mode import LEVELS, state
from ...autograd.origins import GIVEN
from ..arguments import wrong_kind
from ..batches import is_mapped, like_examples
from ..copying import filling, kept_layout
from ..examples import drawn
from ..moving import pin_memory as to_pinned_memory
from ..new import from_row
from ..numbers import NUMBERS, bounds, plain_number
from ..overwriting import fitting
from ..promotion import number_dtype
from ..table import attach, check_tensors, public

__all__ = [
    "SMALL", "arange", "as_size", "empty", "empty_like", "eye", "finished", "full", "full_like", "laid_out_as",
    "number_tensor", "ones", "ones_like", "rand", "randn", "scalar_tensor", "zeros", "zeros_like",
]


def _type(kind: Any, place: Any, default: dtype | None = None) -> TensorType:
    chosen = default or get_default_dtype() if kind is None else to_dtype(kind)
    return tensor_type(chosen, to_device(place))


def as_size(sizes: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """A size given as ints, as one sequence or by name.

    Raises:
        TypeError: it is neither, or not given, or given twice.
        RuntimeError: it is negative.
    """
    if size is not None:
        if sizes or not isinstance(size, Sequence):
            raise TypeError("argument 'size' must be one tuple of ints")
    elif not sizes:
        raise TypeError("missing 1 required positional argument: 'size'")
    else:
        size = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Sequence) else sizes
    for extent in size:
        if not hasattr(extent, "__index__") or isinstance(extent, bool):
            raise TypeError(f"a size must be ints, not {type(extent).__name__} ({extent!r})")
    result = tuple([extent.__index__() for extent in size])
    if any(extent < 0 for extent in result):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(result)}: {list(result)}")
    return result


def finished(result: Tensor, requires_grad: bool, pinned: bool = False) -> Tensor:
    """A new tensor, made a leaf that requires a gradient if that is asked for, or put into pinned memory."""
    if pinned:
        result = to_pinned_memory(result)
    result._origin = GIVEN
    if requires_grad:
        check_differentiable(result, "Only Tensors of floating point and complex dtype")
        result.requires_grad = True
    return result


# -- filled -----------------------------------------------------------------------------------------------------


class _Plan(NamedTuple):
    """How a new tensor is made: its layout, and what gives its memory, of a number between two bounds if of one."""

    layout: Layout
    launch: Callable[..., Any]
    low: float
    high: float


#: What stands for the class of a number where memory is zeroed, or left as it is.
_ZEROED, _EMPTY = "zeroed", "empty"


@functools.lru_cache(maxsize=4096)
def _plan(number: Any, layout: Layout) -> _Plan:
    """How a tensor of this layout is made, filled with a number of a class."""
    if number in (_ZEROED, _EMPTY):
        return _Plan(layout, devices.memory_launcher(layout, number == _ZEROED), 0, 0)
    launch = devices.pointwise_launcher(devices.filler(number, layout.type.numpy), [None], [layout])
    return _Plan(layout, launch, *((0, -1) if number is complex else bounds(number, layout.type.dtype)))


@functools.lru_cache(maxsize=4096, typed=True)
def _plan_on_cpu(number: Any, kind: Any, default: Any, *sizes: Any) -> _Plan:
    """The same for a new tensor on the CPU.

    Raises:
        TypeError: a size is none of Python's ints, which alone are to be looked up.
    """
    if any(size.__class__ is not int for size in sizes):
        raise TypeError
    return _plan(number, layout_of(_type(kind, CPU, default), as_size((sizes,))))


default_dtype_changed.append(_plan_on_cpu.cache_clear)


def plan_of(number: Any, sizes: tuple[Any, ...], size: Any, kind: Any, place: Any, default: Any = None) -> _Plan:
    """The same for the arguments of a call."""
    if size is None and sizes and to_device(place) is CPU:
        try:
            return _plan_on_cpu(number, kind, default, *(sizes[0] if isinstance(sizes[0], tuple | list) else sizes))
        except TypeError:
            pass
    return _plan(number, layout_of(_type(kind, place, default), as_size(sizes, size)))


def _filled(plan: _Plan, value: Any) -> Tensor:
    if value.__class__ is complex or not plan.low <= value <= plan.high:
        value = fitting(value, plan.layout.type.dtype)
    return tensor_of(plan.layout, plan.launch(value))


def zeros(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of zeros."""
    plan = plan_of(_ZEROED, sizes, size, dtype, device)
    return finished(tensor_of(plan.layout, plan.launch()), requires_grad, pin_memory)


def ones(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of ones."""
    plan = plan_of(int, sizes, size, dtype, device)
    return finished(tensor_of(plan.layout, plan.launch(1)), requires_grad, pin_memory)


def empty(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor whose elements are whatever the memory held."""
    plan = plan_of(_EMPTY, sizes, size, dtype, device)
    return finished(tensor_of(plan.layout, plan.launch()), requires_grad, pin_memory)


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor filled with a number, in the number's dtype unless one is given."""
    if size.__class__ is not tuple and not isinstance(size, Sequence):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    value = _number(fill_value)
    plan = plan_of(value.__class__, (size,), None, dtype, device, number_dtype(value))
    return finished(_filled(plan, value), requires_grad, pin_memory)


def number_tensor(value: float) -> Tensor | None:
    """A number as a tensor on the CPU; None if its dtype might not hold it."""
    number: Any = value.__class__
    plan = _plan_on_cpu(number, None, number_dtype(value))
    return tensor_of(plan.layout, plan.launch(value)) if plan.low <= value <= plan.high else None


def _number(value: Any) -> Any:
    """What a tensor is to be filled with, as Python's own number."""
    if value.__class__ in NUMBERS:
        return value
    value = value.item() if isinstance(value, Tensor | np.generic) else value
    return plain_number(value) if isinstance(value, int | float | complex) else fitting(value, bool_)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a tensor without dimensions, in the default dtype unless one is given."""
    return full((), s, dtype=_type(dtype, device).dtype, device=device, requires_grad=requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    plan = plan_of(_ZEROED, ((n, n if m is None else m),), None, dtype, device)
    diagonal, fill = _diagonal(plan.layout)
    row = plan.launch()
    fill(1, tensor_of(diagonal, row))
    return finished(tensor_of(plan.layout, row), requires_grad)


@functools.lru_cache(maxsize=1024)
def _diagonal(matrix: Layout) -> tuple[Layout, Callable[..., None]]:
    """The layout of a new matrix's diagonal, and what fills it."""
    rows, columns = matrix.shape
    layout = layout_of(matrix.type, (min(rows, columns),), (columns + 1,))
    return layout, filling(layout, int).launch


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
    return finished(tensor_of(layout, devices.counted(first, apart, layout.size, layout.type)), requires_grad)


@functools.lru_cache(maxsize=1024, typed=True)
def _range(start: Any, end: Any, step: Any, kind: Any, place: Any) -> tuple[Layout, Any, Any]:
    """The layout of a range, its first number and how far they are apart."""
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    whole = all(isinstance(v, int) for v in (start, end, step))
    type = _type(kind, place, int64 if whole else None)
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
    type = _type(dtype, device, default)
    if type.dtype is bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if type.dtype.kind == "i" and (steps > 1 or name == "linspace"):  # the ends are of the dtype, too
        start, end = [int(value.real) for value in (start, end)]
    return start, end, type


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    Raises:
        RuntimeError: the number of steps is negative.
    """
    real = start.__class__ in (int, float) and end.__class__ in (int, float)
    if real and steps.__class__ is int and 1 < steps <= _FEW and to_device(device) is CPU:
        layout, row = _few_spread(start, end, steps, dtype, CPU)
        return finished(tensor_of(layout, row.copy()), requires_grad)
    return finished(tensor_of(*_spread(start, end, steps, dtype, device)), requires_grad)


def _spread(start: Any, end: Any, steps: int, kind: Any, place: Any) -> tuple[Layout, Any]:
    start, end, type = _spaced("linspace", start, end, steps, kind, place)
    return layout_of(type, (steps,)), devices.spread(start, end, steps, type)


#: So many evenly spaced numbers are kept, and copied for the next who wants them.
_FEW = 1024
_few_spread = functools.lru_cache(maxsize=256, typed=True)(_spread)
default_dtype_changed.append(_few_spread.cache_clear)


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


# -- random -----------------------------------------------------------------------------------------------------


#: Elements below which there will be memory for some random numbers.
SMALL = 1 << 16


def _random(
    draw: str, layout: Layout, generator: random.Generator | None, requires_grad: bool, pinned: bool = False
) -> Tensor:
    size, type = layout.shape, layout.type
    if type.dtype.kind in "bi":
        raise NotImplementedError(f'"{draw}" not implemented for \'{type.dtype.legacy}\' (shape {list(size)})')
    source = random.given_or_default(generator, type.device)
    if layout.size < SMALL and not type.dtype.is_complex:
        return finished(tensor_of(layout, getattr(source, draw)(layout.size, type.numpy)), requires_grad, pinned)
    with devices.shape_told(size, type):
        if not type.dtype.is_complex:
            row = getattr(source, draw)(layout.size, type.numpy)
        elif draw == "uniform":  # the real and imaginary parts in turn
            row = source.uniform(2 * layout.size, real_of(type.dtype).numpy).view(type.numpy)
        else:  # each has half the variance
            parts, kind = 2 * layout.size, real_of(type.dtype).numpy
            if type.device is CPU:
                row = source.normal(parts, kind) * kind.type(math.sqrt(0.5))
            else:
                row = source.normal(parts, kind, 0.0, math.sqrt(0.5))
            row = row.view(type.numpy)
    return finished(tensor_of(layout, row), requires_grad, pinned)


@drawn
def rand(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Random numbers from the uniform distribution on [0, 1), on the CPU those of PyTorch for the same seed."""
    layout = plan_of(_EMPTY, sizes, size, dtype, device).layout
    return _random("uniform", layout, generator, requires_grad, pin_memory)


@drawn
def randn(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Random numbers from the standard normal distribution, on the CPU those of PyTorch for the same seed."""
    layout = plan_of(_EMPTY, sizes, size, dtype, device).layout
    return _random("normal", layout, generator, requires_grad, pin_memory)


# -- like another -----------------------------------------------------------------------------------------------


def laid_out_as(input: Tensor, made: Tensor) -> Tensor:
    """The new tensor with its dimensions in the order in which the input's lie in memory."""
    layout = input._layout
    if layout.row_major or is_mapped(made):
        return made
    return strided(made._storage, layout.shape, kept_layout(layout).strides, 0, made._layout.type)


@functools.lru_cache(maxsize=4096)
def _plan_like(number: Any, layout: Layout) -> _Plan:
    """How a tensor is made that lies in memory as one of this layout."""
    return _plan(number, kept_layout(layout))


def _layout_like(name: str, input: Tensor, kind: Any, place: Any) -> Layout:
    """The layout of a tensor, with another dtype or device if these are given."""
    if input.__class__ is not Tensor:
        check_tensors(name, input=input)
    own = input._layout
    if kind is None and place is None:
        return own
    type = _type(kind, own.type.device if place is None else place, own.type.dtype)
    return layout_of(type, own.shape, own.strides)


def _like(name: str, number: Any, *value: int) -> Callable[..., Tensor]:
    def like(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        plan = _plan_like(number, _layout_like(name, input, dtype, device))
        made = tensor_of(plan.layout, plan.launch(*value))
        if state.mode & LEVELS:
            made = like_examples(input, made)
        return finished(made, requires_grad)

    like.__name__ = like.__qualname__ = name
    made = f"``numgrad.{name.removesuffix('_like')}``"
    like.__doc__ = f"{made} of the shape and, unless others are given, the dtype and device of another tensor."
    return public(like, method=False)


zeros_like = _like("zeros_like", _ZEROED)
ones_like = _like("ones_like", int, 1)
empty_like = _like("empty_like", _EMPTY)


@drawn
def rand_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``numgrad.rand`` of the shape and, unless others are given, the dtype and device of another tensor."""
    layout = _layout_like("rand_like", input, dtype, device)
    made = _random("uniform", layout_of(layout.type, layout.shape), None, False)
    return finished(like_examples(input, laid_out_as(input, made)), requires_grad)


@drawn
def randn_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``numgrad.randn`` of the shape and, unless others are given, the dtype and device of another tensor."""
    check_tensors("randn_like", input=input)
    draw = "normal" if input._flat is not None else "normal_pairs"
    place = input.device if device is None else device
    made = _random(draw, layout_of(_type(dtype, place, input.dtype), input._layout.shape), None, False)
    return finished(laid_out_as(input, made), requires_grad)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``numgrad.full`` of the shape and, unless others are given, the dtype and device of another tensor."""
    layout = _layout_like("full_like", input, dtype, device)
    value = _number(fill_value)
    plan = _plan_like(value.__class__, layout)
    return finished(like_examples(input, _filled(plan, value)), requires_grad)


for _function in (
    zeros, ones, empty, full, eye, arange, linspace, logspace, rand, randn, rand_like, randn_like, full_like,
    scalar_tensor,
):
    public(_function, method=False)


def _new(function: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        kind, place = self.dtype if dtype is None else dtype, self.device if device is None else device
        made = function(*args, dtype=kind, device=place, **options)
        return like_examples(self, made)

    method.__name__ = method.__qualname__ = f"new_{function.__name__}"
    made = f"``numgrad.{function.__name__}``"
    method.__doc__ = f"{made} in the dtype and on the device of this tensor, unless others are given."
    attach(method.__name__, method)


for _function in (zeros, ones, empty, full):
    _new(_function)
