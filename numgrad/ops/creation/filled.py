"""Making tensors: filled with a number, at random, or like another."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import devices, random
from ...autograd.grad_mode import LEVELS, state
from ...autograd.locations import GIVEN
from ...core.device import to_device
from ...core.differentiable import check_differentiable
from ...core.layout import Layout, layout_of
from ...core.tensor import Tensor, strided, tensor_of
from ...core.types import (
    CPU,
    TensorType,
    default_dtype_changed,
    dtype,
    get_default_dtype,
    real_of,
    tensor_type,
    to_dtype,
)
from ...devices import NUMBERS
from ..batching.batches import is_mapped
from ..batching.examples import drawn
from ..batching.physical import like_examples
from ..memory.copying import filling, kept_layout
from ..memory.moving import pin_memory as to_pinned_memory
from ..memory.overwriting import as_number, fitting
from ..table.op import attach, check_tensors, named, public
from ..table.promotion import bounds, number_dtype


def chosen_type(kind: Any, place: Any, default: dtype | None = None) -> TensorType:
    """The type of a new tensor, given a dtype and a device, or None for either."""
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
    type = layout.type
    if number in (_ZEROED, _EMPTY):
        return _Plan(layout, type.backend.memory_launcher(layout, number == _ZEROED), 0, 0)
    launch = type.backend.pointwise_launcher(devices.filler(number, type.numpy), [None], [layout])
    return _Plan(layout, launch, *((0, -1) if number is complex else bounds(number, type.dtype)))


@functools.lru_cache(maxsize=4096, typed=True)
def _plan_on_cpu(number: Any, kind: Any, default: Any, *sizes: Any) -> _Plan:
    """The same for a new tensor on the CPU.

    Raises:
        TypeError: a size is none of Python's ints, which alone are to be looked up.
    """
    if any(size.__class__ is not int for size in sizes):
        raise TypeError
    return _plan(number, layout_of(chosen_type(kind, CPU, default), as_size((sizes,))))


default_dtype_changed.append(_plan_on_cpu.cache_clear)


def plan_of(number: Any, sizes: tuple[Any, ...], size: Any, kind: Any, place: Any, default: Any = None) -> _Plan:
    """The same for the arguments of a call."""
    if size is None and sizes and to_device(place) is CPU:
        try:
            return _plan_on_cpu(number, kind, default, *(sizes[0] if isinstance(sizes[0], tuple | list) else sizes))
        except TypeError:
            pass
    return _plan(number, layout_of(chosen_type(kind, place, default), as_size(sizes, size)))


def _filled(plan: _Plan, value: Any) -> Tensor:
    if value.__class__ is complex or not plan.low <= value <= plan.high:
        value = fitting(value, plan.layout.type.dtype)
    return tensor_of(plan.layout, plan.launch(value))


def _of_size(name: str, what: str, number: Any, *value: int) -> Callable[..., Tensor]:
    """The function that makes a tensor of a size, of a number if that is given."""

    def new(
        *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        plan = plan_of(number, sizes, size, dtype, device)
        return finished(tensor_of(plan.layout, plan.launch(*value)), requires_grad, pin_memory)

    return public(named(new, name, f"A tensor {what}."), method=False, direct=True)


zeros = _of_size("zeros", "of zeros", _ZEROED)
ones = _of_size("ones", "of ones", int, 1)
empty = _of_size("empty", "whose elements are whatever the memory held", _EMPTY)


@public(method=False, direct=True)
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
    return as_number(value.item() if isinstance(value, Tensor) else value)


@public(method=False, direct=True)
def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a tensor without dimensions, in the default dtype unless one is given."""
    return full((), s, dtype=chosen_type(dtype, device).dtype, device=device, requires_grad=requires_grad)


@public(method=False, direct=True)
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


# -- random -----------------------------------------------------------------------------------------------------


#: Elements below which there will be memory for some random numbers.
SMALL = 1 << 16


def row_drawn(draw: Callable[..., Any], layout: Layout, *arguments: float, **out: Any) -> Any:
    """As many numbers of its dtype as a tensor has; of complex ones the real and imaginary parts in turn."""
    kind = layout.type.dtype
    if not kind.is_complex:
        return draw(layout.size, kind.numpy, *arguments, **out)
    real = real_of(kind).numpy
    own = {name: row.view(real) for name, row in out.items()}
    return draw(2 * layout.size, real, *arguments, **own).view(kind.numpy)


def _random(
    draw: str, layout: Layout, generator: random.Generator | None, requires_grad: bool, pinned: bool = False
) -> Tensor:
    size, type = layout.shape, layout.type
    if type.dtype.kind in "bi":
        raise NotImplementedError(f'"{draw}" not implemented for \'{type.dtype.legacy}\' (shape {list(size)})')
    source = random.given_or_default(generator, type.device)
    if layout.size < SMALL and not type.dtype.is_complex:
        return finished(tensor_of(layout, getattr(source, draw)(layout.size, type.numpy)), requires_grad, pinned)
    spread = () if draw == "uniform" or not type.dtype.is_complex else (0.0, 1 / math.sqrt(2))
    with devices.shape_told(size, type):
        row = row_drawn(getattr(source, draw), layout, *spread)
    return finished(tensor_of(layout, row), requires_grad, pinned)


def _from(distribution: str, draw: str, name: str) -> Callable[..., Tensor]:
    """The function that draws from a distribution."""

    def new(
        *sizes: Any, size: Any = None, generator: Any = None, dtype: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False,
    ) -> Tensor:
        layout = plan_of(_EMPTY, sizes, size, dtype, device).layout
        return _random(draw, layout, generator, requires_grad, pin_memory)

    doc = f"Random numbers from the {distribution}, on the CPU those of PyTorch for the same seed."
    return public(drawn(named(new, name, doc)), method=False, direct=True)


rand = _from("uniform distribution on [0, 1)", "uniform", "rand")
randn = _from("standard normal distribution", "normal", "randn")


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
    type = chosen_type(kind, own.type.device if place is None else place, own.type.dtype)
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

    made = f"``numgrad.{name.removesuffix('_like')}``"
    doc = f"{made} of the shape and, unless others are given, the dtype and device of another tensor."
    return public(named(like, name, doc), method=False, direct=True)


zeros_like = _like("zeros_like", _ZEROED)
ones_like = _like("ones_like", int, 1)
empty_like = _like("empty_like", _EMPTY)


@public(method=False, direct=True)
@drawn
def rand_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``numgrad.rand`` of the shape and, unless others are given, the dtype and device of another tensor."""
    layout = _layout_like("rand_like", input, dtype, device)
    made = _random("uniform", layout_of(layout.type, layout.shape), None, False)
    return finished(like_examples(input, laid_out_as(input, made)), requires_grad)


@public(method=False, direct=True)
@drawn
def randn_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``numgrad.randn`` of the shape and, unless others are given, the dtype and device of another tensor."""
    check_tensors("randn_like", input=input)
    draw = "normal" if input._flat is not None else "normal_pairs"
    place = input.device if device is None else device
    made = _random(draw, layout_of(chosen_type(dtype, place, input.dtype), input._layout.shape), None, False)
    return finished(laid_out_as(input, made), requires_grad)


@public(method=False, direct=True)
def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``numgrad.full`` of the shape and, unless others are given, the dtype and device of another tensor."""
    layout = _layout_like("full_like", input, dtype, device)
    value = _number(fill_value)
    plan = _plan_like(value.__class__, layout)
    return finished(like_examples(input, _filled(plan, value)), requires_grad)


def _new(function: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        kind, place = self.dtype if dtype is None else dtype, self.device if device is None else device
        made = function(*args, dtype=kind, device=place, **options)
        return like_examples(self, made)

    made, name = f"``numgrad.{function.__name__}``", f"new_{function.__name__}"
    doc = f"{made} in the dtype and on the device of this tensor, unless others are given."
    attach(name, named(method, name, doc))


for _function in (zeros, ones, empty, full):
    _new(_function)
