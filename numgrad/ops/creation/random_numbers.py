"""Tensors of random numbers, new or overwritten; on the CPU they equal PyTorch's for the same seed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels import scalar

from ... import devices, random
from ...core.device import device, to_device
from ...core.layout import Layout, layout_of, output_strides
from ...core.types import (
    CPU,
    bfloat16,
    bool_,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    int64,
    layout,
    memory_format,
    real_of,
    tensor_type,
    to_dtype,
    uint8,
)
from ...tensors.tensor import Tensor, fresh, strided, tensor_of
from ..batching.examples import drawn
from ..batching.physical import like_examples
from ..memory.copying import write
from ..memory.overwriting import FilledNode, OverwriteCall
from ..table.checks import check, check_implemented, check_supported, check_type, not_implemented
from ..table.entries import Entries, Entry
from ..table.op import attach, named, public
from ..table.operands import fused
from ..table.out import is_plain
from ..table.recording import node_class
from .factories import EMPTY, as_size, finished, laid_out_as, layout_like, plan_of
from .into import takes_out

#: The entries that fill new memory, or a tensor, with random numbers from a distribution.
_draws = Entries()


def _drawing(draw: str, layout: Layout, into: bool, kinds: tuple[Any, ...]) -> Entry:
    """Return the entry that draws numbers for a new tensor of this layout, or ``into`` an existing one.

    ``kinds`` holds the classes of the numbers passed with the call, or layouts of tensors.
    """
    key = draw, layout, into, kinds
    return _draws.find(key) or _draws.make(key, lambda again: Entry(None, _plan_of(*key), layout, False, None, again))


def _plan_of(draw: str, layout: Layout, into: bool, kinds: tuple[Any, ...]) -> devices.Plan:
    type = layout.type
    p = devices.Plan(type.backend, type.device.index)
    generator, operands = p.operand(random.Generator), [p.operand(kind) for kind in kinds]
    operands = [p.contiguous(operand) if isinstance(operand, devices.TensorRef) else operand for operand in operands]
    target = p.operand(layout) if into else p.new_tensor(layout)
    whole, real = layout.contiguous, type.dtype.compute
    in_target = whole and real is type.dtype
    buffer = p.contiguous(target) if in_target else p.new(layout.size, real.numpy)
    name = draw if whole or draw != "normal" else "normal_pairs"
    if name == "uniform" and type.dtype.is_half:
        numbers = p.backend.draw_uniform(p, generator, buffer, 0.0, 1.0)
        _keep_last_bits(p, p.tensor(numbers, type.with_dtype(real), layout.shape), type.dtype, *operands)
    else:
        numbers = getattr(p.backend, f"draw_{name}")(p, generator, buffer, *operands)
    drawn = type.with_dtype(dtype.of_numpy[numbers.dtype])
    steps = output_strides(layout.shape, ((layout.shape, layout.strides),))  # in the memory order of the elements
    result = p.tensor(numbers, drawn, layout.shape).viewed(layout_of(drawn, layout.shape, steps))
    if not into and drawn is type:
        return p.returns(result)
    if not (in_target and numbers is buffer):
        p.assign(result, target)
    return p.returns(*() if into else (target,))


def _keep_last_bits(p: devices.Plan, numbers: devices.TensorRef, dtype: dtype, low: Any, high: Any) -> None:
    """Add the step that makes uniform numbers of float16 or bfloat16, on [low, high), of such of float32.

    As in PyTorch, they are the last of the random bits, as many as the dtype has.
    """
    operands = [numbers, low, high, _EXACT[float32] / _EXACT[dtype]]
    fused(p, "uniform", _last_bits, operands, numbers.layout, into=numbers)


def _last_bits(unit, low, high, factor):
    shifted = unit * factor
    return (shifted - scalar.floor(shifted)) * (high - low) + low


def new_drawn(draw: str, layout: Layout, source: Any, *parameters: Any) -> Tensor:
    """Return a new contiguous tensor of random numbers; real and imaginary parts of complex ones are drawn in turn."""
    dtype = layout.type.dtype
    if dtype.is_complex:
        parts = new_drawn(draw, _parts_of(layout), source, *parameters)
        return tensor_of(layout, parts._storage.view(dtype.numpy))
    return tensor_of(layout, _drawing(draw, layout, False, _kinds(parameters)).launch(source, *parameters))


def _kinds(parameters: Iterable[Any]) -> tuple[Any, ...]:
    return tuple([tensor._layout if isinstance(tensor, Tensor) else tensor.__class__ for tensor in parameters])


def _parts_of(layout: Layout) -> Layout:
    """Return the layout of a buffer of the real and imaginary parts of a tensor's elements."""
    return layout_of(layout.type.with_dtype(real_of(layout.type.dtype)), (2 * layout.size,))


def _random(
    draw: str, layout: Layout, generator: random.Generator | None, requires_grad: bool, pinned: bool = False,
    scheme: Any = None,
) -> Tensor:
    type = layout.type
    if type.dtype.kind in "bi":
        raise not_implemented(draw, layout)
    source = random.given_or_default(generator, type.device)
    spread = 1.0 if draw == "uniform" or not type.dtype.is_complex else 1 / math.sqrt(2)
    return finished(new_drawn(draw, layout, source, 0.0, spread), requires_grad, pinned, scheme)


def _from(distribution: str, draw: str, name: str, example: str) -> Callable[..., Tensor]:
    """Return the public function that draws from a distribution; ``example`` are two numbers for the seed 0."""

    def new(
        *sizes: int | Sequence[int], size: Sequence[int] | None = None, generator: random.Generator | None = None,
        dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
        requires_grad: bool = False, pin_memory: bool = False,
    ) -> Tensor:
        plan = plan_of(EMPTY, sizes, size, dtype, device)
        return _random(draw, plan.layout, generator, requires_grad, pin_memory, layout)

    doc = f"""Random numbers from the {distribution}, on the CPU those of PyTorch for the same seed.

    Example:
        >>> import numgrad
        >>> numgrad.{name}(2, generator=numgrad.Generator().manual_seed(0))
        tensor([{example}])
    """
    return public(takes_out(drawn(named(new, name, doc))), method=False, direct=True)


rand = _from("uniform distribution on [0, 1)", "uniform", "rand", "0.4963, 0.7682")
randn = _from("standard normal distribution", "normal", "randn", " 1.5410, -0.2934")


def _like(name: str, draw: str, in_pairs: str) -> Callable[..., Tensor]:
    """Return the public function that draws in the shape of a tensor; strided tensors use the draw ``in_pairs``."""

    def like(
        input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, requires_grad: bool = False,
        device: device | str | int | None = None, memory_format: memory_format | None = None,
    ) -> Tensor:
        new, kind = layout_like(name, input, dtype, device), draw if input._flat is not None else in_pairs
        result = _random(kind, layout_of(new.type, new.shape), None, False)
        return finished(like_examples(input, laid_out_as(input, result, memory_format)), requires_grad, scheme=layout)

    function = f"``numgrad.{name.removesuffix('_like')}``"
    doc = f"{function} of the shape and, unless others are given, the dtype and device of another tensor."
    return public(drawn(named(like, name, doc)), method=False, direct=True)


rand_like, randn_like = _like("rand_like", "uniform", "uniform"), _like("randn_like", "normal", "normal_pairs")


# -- random tensors -----------------------------------------------------------------------------------------------


@public(method=False, direct=True)
@takes_out
@drawn
def randint(
    *args: Any, low: int | None = None, high: int | None = None, size: Sequence[int] | None = None,
    generator: random.Generator | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> Tensor:
    """Random integers: ``randint(high, size)`` from [0, high), ``randint(low, high, size)`` from [low, high).

    Raises:
        RuntimeError: the range is empty, or the dtype (int64 unless one is given) cannot hold it.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.randint(10, (4,))
        tensor([4, 9, 3, 0])
    """
    remaining = list(args)
    if size is None:
        if not remaining:
            raise TypeError("randint(): missing argument 'size'")
        size = remaining.pop()
    if high is None:
        if not remaining:
            raise TypeError("randint(): missing argument 'high'")
        high = remaining.pop()
    start: Any = remaining.pop() if remaining else 0 if low is None else low
    if remaining:
        raise TypeError(f"randint() takes low, high and size, but got {len(args)} arguments")
    type = tensor_type(int64 if dtype is None else to_dtype(dtype), to_device(device))
    bounds = [value.item() if isinstance(value, Tensor) else value for value in (start, high)]
    low, high = map(int, bounds)
    _check_range(low, high, type.dtype)
    source = random.given_or_default(generator, type.device)
    result = new_drawn(_integers_of(low, high), layout_of(type, as_size((size,))), source, low, high)
    return finished(result, requires_grad, scheme=layout)


@public(method=False)
@drawn
def randint_like(
    input: Tensor,
    *bounds: int,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    **named_bounds: Any,
) -> Tensor:
    """``randint`` of the shape and, unless others are given, the dtype and device of another tensor."""
    chosen = input.dtype if dtype is None else dtype
    target = input._layout.type.device if device is None else device
    result = randint(*bounds, size=input._layout.shape, dtype=chosen, device=target, **named_bounds)
    return finished(laid_out_as(input, result, memory_format), requires_grad)


@public(method=False, direct=True)
@takes_out
@drawn
def randperm(
    n: int, *, generator: random.Generator | None = None, dtype: dtype | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order.

    Raises:
        RuntimeError: ``n`` is negative, or the dtype (int64 unless one is given) cannot hold the integers.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.randperm(4)
        tensor([0, 1, 3, 2])
    """
    (size,) = as_size((n,))
    type = tensor_type(int64 if dtype is None else to_dtype(dtype), to_device(device))
    highest = _EXACT.get(type.dtype) or np.iinfo(type.numpy).max
    if size - 1 > highest:
        raise RuntimeError(f"value cannot be converted to type {type.dtype.name} without overflow: {size} numbers")
    devices.check_countable((size,), np.dtype(np.int64))
    source = random.given_or_default(generator, type.device)
    return finished(new_drawn("permutation", layout_of(type, (size,)), source), requires_grad)


# -- filling in place -------------------------------------------------------------------------------------------


_UniformBackward0, _NormalBackward0, _RandomBackward0, _ExponentialBackward0 = [
    node_class(name, FilledNode)
    for name in ("UniformBackward0", "NormalBackward0", "RandomBackward0", "ExponentialBackward0")
]


def overwrite_drawn(input: Tensor, node: type[FilledNode], draw: str, source: Any, *parameters: Any) -> Tensor:
    """Fill the tensor with numbers from a distribution, in the memory order of its elements."""

    def fill(target: Tensor) -> None:
        layout = target._layout
        if layout.type.dtype.is_complex:
            buffer = target._flat
            if buffer is None:
                steps = output_strides(layout.shape, ((layout.shape, layout.strides),))
                numbers = new_drawn(draw, layout_of(layout.type, layout.shape), source, *parameters)
                write(target, strided(numbers._storage, layout.shape, steps, 0, layout.type))
                return
            layout = _parts_of(layout)
            target = tensor_of(layout, buffer.view(layout.type.numpy))
        _drawing(draw, layout, True, _kinds(parameters)).launch(source, *parameters, target)

    return OverwriteCall(f"{node.op_name.lower()}_", fill, node, input, draws=True).run()


def _drawn_in_buffer(input: Tensor, draw: str, first: float, second: float) -> bool:
    """Fill a plain CPU tensor from the default generator and return True; return False if the call needs more."""
    layout = input._layout
    dtype = layout.type.dtype
    if not (is_plain(input) and layout.contiguous and dtype.is_floating_point and layout.type.device is CPU):
        return False
    _drawing(draw, layout, True, (float, float)).launch(random.default_generator, first, second, input)
    input._counter[0] += 1
    return True


# "from" is a Python keyword, but the name of a PyTorch parameter: hence the **kwargs.
def _bounds(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], low: Any, high: Any) -> tuple[Any, Any]:
    if len(args) > 2 or kwargs.keys() - {"from", "to"}:
        raise TypeError(f"{name}() takes 'from' and 'to', not {[*args, *kwargs]}")
    bounds = dict(zip(("from", "to"), args, strict=False))
    if bounds.keys() & kwargs.keys():
        raise TypeError(f"{name}() got multiple values for argument '{(bounds.keys() & kwargs.keys()).pop()}'")
    bounds.update(kwargs)
    return bounds.get("from", low), bounds.get("to", high)


def uniform_(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill the tensor with random numbers from the uniform distribution on [from, to), by default [0, 1).

    Both parts of complex numbers are drawn from it.

    Raises:
        RuntimeError: from exceeds to, or one of them or their distance is too large for the dtype.
    """
    if not args and not kwargs and generator is None and _drawn_in_buffer(self, "uniform", 0.0, 1.0):
        return self
    low, high = map(float, _bounds("uniform_", args, kwargs, 0.0, 1.0)) if args or kwargs else (0.0, 1.0)
    check_supported(self._layout, "fc", "check_uniform_bounds")
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    largest = finfo(real_of(self.dtype)).max
    for name, value in (("from", low), ("to", high), ("to - from", high - low)):
        if not -largest <= value <= largest:
            raise RuntimeError(f"uniform_ expects a range that {self.dtype} can hold, but found {name}={value:g}")
    source = random.given_or_default(generator, self._layout.type.device)
    return overwrite_drawn(self, _UniformBackward0, "uniform", source, low, high)


def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the normal distribution with this mean and standard deviation.

    Both parts of complex numbers have the mean, and each has half the variance.
    """
    numbers = mean.__class__ in (int, float) and std.__class__ in (int, float) and std >= 0
    if numbers and generator is None and _drawn_in_buffer(self, "normal", float(mean), float(std)):
        return self
    check_supported(self._layout, "fc", "normal_kernel_cpu")
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    source = random.given_or_default(generator, self._layout.type.device)
    width = float(std) / math.sqrt(2) if self.is_complex() else float(std)
    return overwrite_drawn(self, _NormalBackward0, "normal", source, float(mean), width)


#: The largest integers up to which a floating-point dtype represents all integers.
_EXACT = {bfloat16: 2**8, float16: 2**11, float32: 2**24, float64: 2**53}


def random_(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill the tensor with random integers from [from, to), by default all from 0 that its dtype can hold.

    ``random_(to)`` starts from 0.

    Raises:
        RuntimeError: the range is empty, or the dtype cannot hold it.
    """
    if len(args) == 1 and not kwargs:
        args = (0, *args)
    low, high = _bounds("random_", args, kwargs, 0, None)
    dtype = self.dtype
    check_implemented(not dtype.is_complex, "\"random_\" not implemented for '{}'", dtype.legacy)
    wide = None
    if high is None and "to" not in kwargs:
        wide = dtype.itemsize == 8
        high = 2 if dtype is bool_ else _EXACT[dtype] + 1 if dtype in _EXACT else np.iinfo(dtype.numpy).max + 1
    low, high = int(low), int(high)
    _check_range(low, high, dtype)
    source = random.given_or_default(generator, self._layout.type.device)
    return overwrite_drawn(self, _RandomBackward0, _integers_of(low, high, wide), source, low, high)


#: The size of a range at and above which PyTorch takes two draws for each integer.
_WIDE_RANGE = 1 << 28


def _integers_of(low: int, high: int, wide: bool | None = None) -> str:
    """Return the name of the distribution of integers from a range; ``wide`` overrides the choice by its size."""
    return "wide_integers" if (high - low >= _WIDE_RANGE if wide is None else wide) else "integers"


@functools.cache
def _integers(dtype: dtype) -> tuple[int, int]:
    """Return the smallest and the largest integer of a dtype."""
    info = np.iinfo(dtype.numpy)
    return info.min, info.max


def _check_range(low: int, high: int, dtype: dtype) -> None:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.is_floating_point:
        dtype = int64  # the dtype of the draws
    bounds = (0, 1) if dtype is bool_ else _integers(dtype)
    for name, value in (("from", low), ("to - 1", high - 1)):
        check(bounds[0] <= value <= bounds[1], "{} is out of bounds for {}: {}", name, dtype, value)


def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the exponential distribution ``lambd * exp(-lambd * x)``."""
    check_supported(self._layout, "f", "exponential_")
    check(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda={}", lambd)
    source = random.given_or_default(generator, self._layout.type.device)
    return overwrite_drawn(self, _ExponentialBackward0, "exponential", source, float(lambd))


for _fill in (uniform_, normal_, random_, exponential_):
    attach(_fill.__name__, _fill)


# -- the generators' states -------------------------------------------------------------------------------------


def get_state(self: random.Generator) -> Tensor:
    """Return the state as a uint8 tensor on the CPU: PyTorch's 5056 bytes, or 16 for a GPU."""
    data = np.frombuffer(self.state_bytes(), np.uint8).copy()
    return fresh(data, data.shape, tensor_type(uint8))


def set_state(self: random.Generator, new_state: Tensor) -> random.Generator:
    """Restore a state that ``get_state``, or PyTorch's on the CPU, returned.

    Raises:
        TypeError, RuntimeError: the argument is not such a state.
    """
    check_type(isinstance(new_state, Tensor) and new_state.dtype is uint8, "RNG state must be a torch.ByteTensor")
    self.set_state_bytes(new_state._array().tobytes())
    return self


@public(method=False)
def get_rng_state() -> Tensor:
    """The state of the CPU's default generator, a uint8 tensor."""
    return get_state(random.default_generator)


@public(method=False)
def set_rng_state(new_state: Tensor) -> None:
    """Restore a state of the CPU's default generator."""
    set_state(random.default_generator, new_state)


random.Generator.get_state = get_state  # type: ignore[attr-defined]
random.Generator.set_state = set_state  # type: ignore[attr-defined]
random.get_rng_state, random.set_rng_state = get_rng_state, set_rng_state  # type: ignore[attr-defined]
