"""Making tensors: filled with a number, as a range, at random, or like another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from ... import devices, random
from ..._layout import numel, output_strides
from ..._tensor import Tensor, check_differentiable, fresh, strided
from ..._types import (
    CPU,
    TensorType,
    bool_,
    complex_of,
    dtype,
    get_default_dtype,
    int64,
    real_of,
    tensor_type,
    to_device,
    to_dtype,
)
from ...autograd.grad_mode import no_grad
from ...autograd.origins import GIVEN
from ..arguments import wrong_kind
from ..batches import is_mapped, like_examples
from ..copying import pin_memory as to_pinned_memory
from ..examples import drawn
from ..new import empty_of, from_row, zeros_of
from ..overwriting import fill_
from ..promotion import number_dtype
from ..table import attach, check_tensors, public

__all__ = [
    "arange", "as_size", "empty", "empty_like", "eye", "finished", "full", "full_like", "laid_out_as", "ones",
    "ones_like", "rand", "randn", "scalar_tensor", "zeros", "zeros_like",
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


def _filled(shape: tuple[int, ...], value: Any, type: TensorType) -> Tensor:
    result = empty_of(shape, type)
    with no_grad():
        fill_(result, value)
    result._counter[0] = 0
    return result


def zeros(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of zeros."""
    return finished(zeros_of(as_size(sizes, size), _type(dtype, device)), requires_grad, pin_memory)


def ones(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of ones."""
    return finished(_filled(as_size(sizes, size), 1, _type(dtype, device)), requires_grad, pin_memory)


def empty(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor whose elements are whatever the memory held."""
    return finished(empty_of(as_size(sizes, size), _type(dtype, device)), requires_grad, pin_memory)


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor filled with a number, in the number's dtype unless one is given."""
    if not isinstance(size, Sequence):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    value = fill_value.item() if isinstance(fill_value, Tensor | np.generic) else fill_value
    result = _filled(as_size((size,)), value, _type(dtype, device, number_dtype(value)))
    return finished(result, requires_grad, pin_memory)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a tensor without dimensions, in the default dtype unless one is given."""
    return full((), s, dtype=_type(dtype, device).dtype, device=device, requires_grad=requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    rows, columns = as_size((n, n if m is None else m))
    result = zeros_of((rows, columns), _type(dtype, device))
    count = min(rows, columns)
    with no_grad():
        fill_(strided(result._storage, (count,), (columns + 1,), 0, result._layout.type), 1)
    return finished(result, requires_grad)


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
        start, end = None, start
    start, end, step = [
        v.item() if isinstance(v, Tensor | np.generic) else v for v in (0 if start is None else start, end, step)
    ]
    for value in (start, end, step):
        if not isinstance(value, bool | int | float):
            raise TypeError(f"arange(): start, end and step must be numbers, not {value.__class__.__name__}")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    whole = all(isinstance(v, int) for v in (start, end, step))
    type = _type(dtype, device, int64 if whole else None)
    if type.dtype is bool_ or type.dtype.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type.dtype.legacy}'")
    if not type.dtype.is_floating_point:
        start, end, step, whole = int(start), int(end), int(step), True
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError(f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}")
    count = -((start - end) // step) if whole else max(0, math.ceil((end - start) / step))
    return finished(fresh(devices.counted(start, step, count, type), (count,), type), requires_grad)


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
    start, end, type = _spaced("linspace", start, end, steps, dtype, device)
    return finished(fresh(devices.spread(start, end, steps, type), (steps,), type), requires_grad)


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


def _random(
    draw: str, size: tuple[int, ...], type: TensorType, generator: random.Generator | None, requires_grad: bool,
    pinned: bool = False,
) -> Tensor:
    if type.dtype.kind in "bi":
        raise NotImplementedError(f'"{draw}" not implemented for \'{type.dtype.legacy}\' (shape {list(size)})')
    source = random.given_or_default(generator, type.device)
    with devices.shape_told(size, type):
        if not type.dtype.is_complex:
            row = getattr(source, draw)(numel(size), type.numpy)
        elif draw == "uniform":  # the real and imaginary parts in turn
            row = source.uniform(2 * numel(size), real_of(type.dtype).numpy).view(type.numpy)
        else:  # each has half the variance
            parts, kind = 2 * numel(size), real_of(type.dtype).numpy
            if type.device is CPU:
                row = source.normal(parts, kind) * kind.type(math.sqrt(0.5))
            else:
                row = source.normal(parts, kind, 0.0, math.sqrt(0.5))
            row = row.view(type.numpy)
    return finished(fresh(row, size, type), requires_grad, pinned)


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
    return _random("uniform", as_size(sizes, size), _type(dtype, device), generator, requires_grad, pin_memory)


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
    return _random("normal", as_size(sizes, size), _type(dtype, device), generator, requires_grad, pin_memory)


# -- like another -----------------------------------------------------------------------------------------------


def laid_out_as(input: Tensor, made: Tensor) -> Tensor:
    """The new tensor with its dimensions in the order in which the input's lie in memory."""
    layout = input._layout
    if layout.row_major or is_mapped(made):
        return made
    strides = output_strides(layout.shape, ((layout.shape, layout.strides),))
    return strided(made._storage, made._layout.shape, strides, 0, made._layout.type)


def _like(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    def like(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        check_tensors(name, input=input)
        made = function(
            input._layout.shape,
            dtype=input.dtype if dtype is None else dtype,
            device=input.device if device is None else device,
        )
        return finished(like_examples(input, laid_out_as(input, made)), requires_grad)

    like.__name__ = like.__qualname__ = name
    made = f"``numgrad.{function.__name__}``"
    like.__doc__ = f"{made} of the shape and, unless others are given, the dtype and device of another tensor."
    return public(like, method=False)


zeros_like = _like(zeros, "zeros_like")
ones_like = _like(ones, "ones_like")
empty_like = _like(empty, "empty_like")
rand_like = drawn(_like(rand, "rand_like"))


@drawn
def randn_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``numgrad.randn`` of the shape and, unless others are given, the dtype and device of another tensor."""
    check_tensors("randn_like", input=input)
    draw = "normal" if input._flat is not None else "normal_pairs"
    place = input.device if device is None else device
    made = _random(draw, input._layout.shape, _type(dtype, place, input.dtype), None, False)
    return finished(laid_out_as(input, made), requires_grad)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``numgrad.full`` of the shape and, unless others are given, the dtype and device of another tensor."""
    check_tensors("full_like", input=input)
    made = full(
        input._layout.shape,
        fill_value,
        dtype=input.dtype if dtype is None else dtype,
        device=input.device if device is None else device,
    )
    return finished(like_examples(input, laid_out_as(input, made)), requires_grad)


for _function in (
    zeros, ones, empty, full, eye, arange, linspace, logspace, rand, randn, randn_like, full_like, scalar_tensor,
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
