"""Random tensors and tensors filled at random: on the CPU, for the same seed, PyTorch's numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import devices, random
from ...autograd.grad_mode import GRAD, ORDINARY, no_grad, state
from ...autograd.node import Node, edge_of
from ...autograd.operations import operations
from ...core.device import to_device
from ...core.layout import broadcast_shapes, layout_of, numel, output_strides
from ...core.tensor import Tensor, fresh, strided, tensor_of
from ...core.types import CPU, bool_, dtype, float32, float64, int64, tensor_type, to_dtype
from ..batching.batches import is_batched
from ..batching.examples import drawn
from ..memory.copying import contiguous, convert, empty_of, row_of, write
from ..memory.overwriting import FillBackward2, OverwriteCall, copy_, is_plain
from ..pointwise.arithmetic import add, mul
from ..reductions.extremes import min as smallest
from ..shapes.views import expand
from ..table.op import attach, public
from .filled import SMALL, as_size, empty, finished, laid_out_as, row_drawn

# -- filling in place ---------------------------------------------------------------------------------------------


def _node(name: str, base: type[Node] = FillBackward2) -> Any:
    return type(name, (base,), {"__slots__": (), "__module__": "numgrad.autograd"})


_UniformBackward0, _NormalBackward0, _RandomBackward0, _BernoulliBackward2, _ExponentialBackward0 = map(
    _node, ["UniformBackward0", "NormalBackward0", "RandomBackward0", "BernoulliBackward2", "ExponentialBackward0"]
)
_BernoulliBackward1 = _node("BernoulliBackward1")


def _overwrite(
    input: Tensor, draw: Callable[..., Any], node: type[FillBackward2], in_row: bool = False
) -> Tensor:
    """Fill the tensor with the row that ``draw`` returns, in the order in which its elements lie in memory.

    A GPU, and with ``in_row`` the CPU, draws into the tensor's own memory, given as ``out``, where it is one row.
    """

    def fill(target: Tensor) -> None:
        layout = target._layout
        place = layout.type.device
        own = target._flat if in_row or place is not CPU else None
        if own is not None:
            draw(out=own)
            return
        row = draw()
        steps = output_strides(layout.shape, ((layout.shape, layout.strides),))
        write(target, strided(row, layout.shape, steps, 0, tensor_type(to_dtype(row.dtype), place)))

    return OverwriteCall(node.__name__, fill, node, input, draws=True).run()


def _drawn_in_row(input: Tensor, draw: str, first: float, second: float) -> bool:
    """Fill a tensor of the CPU's from its default generator, if nothing is to be said or recorded of that."""
    layout = input._layout
    kind = layout.type.dtype
    if not (is_plain(input) and layout.contiguous and kind.is_floating_point and layout.type.device is CPU):
        return False
    row = input._storage
    if row.size != layout.size:
        row = row[input._offset : input._offset + layout.size]
    getattr(random.default_generator, draw)(layout.size, kind.numpy, first, second, out=row)
    input._counter[0] += 1
    return True


def _check_floating(input: Tensor, name: str, complex: bool = False) -> None:
    kind = input._layout.type.dtype
    if not (kind.is_floating_point or (complex and kind.is_complex)):
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy}' (shape {list(input.shape)})")


# "from" is a keyword of Python's, but a parameter of PyTorch's: hence the **kwargs.
def _bounds(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], low: Any, high: Any) -> tuple[Any, Any]:
    if len(args) > 2 or kwargs.keys() - {"from", "to"}:
        raise TypeError(f"{name}() takes 'from' and 'to', not {[*args, *kwargs]}")
    given = dict(zip(("from", "to"), args, strict=False))
    if given.keys() & kwargs.keys():
        raise TypeError(f"{name}() got multiple values for argument '{(given.keys() & kwargs.keys()).pop()}'")
    given.update(kwargs)
    return given.get("from", low), given.get("to", high)


def uniform_(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill the tensor with random numbers from the uniform distribution on [from, to), by default [0, 1).

    Of complex numbers both parts are drawn from it.
    """
    if not args and not kwargs and generator is None and _drawn_in_row(self, "uniform", 0.0, 1.0):
        return self
    low, high = map(float, _bounds("uniform_", args, kwargs, 0.0, 1.0)) if args or kwargs else (0.0, 1.0)
    _check_floating(self, "check_uniform_bounds", complex=True)
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    source = random.given_or_default(generator, self._layout.type.device)
    draw = functools.partial(row_drawn, source.uniform, self._layout, low, high)
    return _overwrite(self, draw, _UniformBackward0, True)


def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the normal distribution with this mean and standard deviation.

    Of complex numbers both parts have the mean, and each has half the variance.
    """
    numbers = mean.__class__ in (int, float) and std.__class__ in (int, float) and std >= 0
    if numbers and generator is None and _drawn_in_row(self, "normal", mean, std):
        return self
    _check_floating(self, "normal_kernel_cpu", complex=True)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    source = random.given_or_default(generator, self._layout.type.device)
    in_row = self._flat is not None
    width = float(std) / math.sqrt(2) if self.is_complex() else float(std)
    normal = source.normal if in_row else source.normal_pairs
    draw = functools.partial(row_drawn, normal, self._layout, float(mean), width)
    return _overwrite(self, draw, _NormalBackward0, in_row)


#: The largest integers that a floating-point dtype counts up to without gaps.
_EXACT = {float32: 2**24, float64: 2**53}


def random_(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill the tensor with random integers from [from, to), by default all that its dtype can hold from 0 on.

    ``random_(to)`` starts from 0.

    Raises:
        RuntimeError: the range is empty, or the dtype cannot hold it.
    """
    if len(args) == 1 and not kwargs:
        args = (0, *args)
    low, high = _bounds("random_", args, kwargs, 0, None)
    kind = self.dtype
    if kind.is_complex:
        raise NotImplementedError(f"\"random_\" not implemented for '{kind.legacy}'")
    wide = None
    if high is None and "to" not in kwargs:
        wide = kind.itemsize == 8
        high = 2 if kind is bool_ else _EXACT[kind] + 1 if kind in _EXACT else np.iinfo(kind.numpy).max + 1
    low, high = int(low), int(high)
    _check_range(low, high, kind)
    source = random.given_or_default(generator, self._layout.type.device)
    return _overwrite(self, lambda **out: source.integers(self.numel(), low, high, wide, **out), _RandomBackward0)


@functools.cache
def _integers(kind: dtype) -> tuple[int, int]:
    """The smallest and the largest integer of a dtype."""
    info = np.iinfo(kind.numpy)
    return info.min, info.max


def _check_range(low: int, high: int, kind: dtype) -> None:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if kind.is_floating_point:
        return
    bounds = (0, 1) if kind is bool_ else _integers(kind)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if not bounds[0] <= value <= bounds[1]:
            raise RuntimeError(f"{name} is out of bounds for {kind}: {value}")


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill the tensor with ones, each with probability ``p`` (a number or a tensor that broadcasts), and zeros."""
    source = random.given_or_default(generator, self._layout.type.device)
    if isinstance(p, Tensor):
        if is_batched(p):
            return copy_(self, bernoulli(expand(p.detach(), self._layout.shape)))
        probabilities = contiguous(expand(p.detach(), self._layout.shape))
        return _overwrite(self, lambda **out: _bernoulli(probabilities, source, **out), _BernoulliBackward1)
    _check_probability(p)
    return _overwrite(self, lambda **out: source.bernoulli(self.numel(), float(p), **out), _BernoulliBackward2)


def kept_(self: Tensor, p: float) -> Tensor:
    """Fill the tensor with ``1 / p``, with probability ``p``, and zeros: what dropout multiplies by, in one kernel.

    The tensor is on a GPU.
    """
    source = random.given_or_default(None, self._layout.type.device)
    return _overwrite(
        self, lambda **out: source.bernoulli(self.numel(), p, value=1 / p, **out), _BernoulliBackward2
    )


def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the exponential distribution ``lambd * exp(-lambd * x)``."""
    _check_floating(self, "exponential_")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    source = random.given_or_default(generator, self._layout.type.device)
    return _overwrite(
        self,
        lambda **out: source.exponential(self.numel(), self._layout.type.numpy, float(lambd), **out),
        _ExponentialBackward0,
    )


for _fill in (uniform_, normal_, random_, bernoulli_, exponential_):
    attach(_fill.__name__, _fill)

# -- random tensors -----------------------------------------------------------------------------------------------


@public(method=False, direct=True)
@drawn
def randint(
    *args: Any,
    low: int | None = None,
    high: int | None = None,
    size: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers: ``randint(high, size)`` from [0, high), ``randint(low, high, size)`` from [low, high).

    Raises:
        RuntimeError: the range is empty, or the dtype (int64 unless one is given) cannot hold it.
    """
    given = list(args)
    if size is None:
        if not given:
            raise TypeError("randint(): missing argument 'size'")
        size = given.pop()
    if high is None:
        if not given:
            raise TypeError("randint(): missing argument 'high'")
        high = given.pop()
    start: Any = given.pop() if given else 0 if low is None else low
    if given:
        raise TypeError(f"randint() takes low, high and size, but got {len(args)} arguments")
    kind = tensor_type(int64 if dtype is None else to_dtype(dtype), to_device(device))
    bounds = [value.item() if isinstance(value, Tensor) else value for value in (start, high)]
    layout = layout_of(kind, as_size((size,)))
    if kind.dtype is int64 and kind.device is CPU and layout.size < SMALL and state.mode <= ORDINARY:
        low, high = int(bounds[0]), int(bounds[1])
        _check_range(low, high, int64)
        row = random.given_or_default(generator, CPU).integers(layout.size, low, high)
        return finished(tensor_of(layout, row), requires_grad)
    result = empty_of(layout.shape, kind)
    random_(result, *bounds, generator=generator)
    result._counter[0] = 0
    return finished(result, requires_grad)


@public(method=False)
@drawn
def randint_like(
    input: Tensor,
    *bounds: int,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **named_bounds: Any,
) -> Tensor:
    """``randint`` of the shape and, unless others are given, the dtype and device of another tensor."""
    kind = input.dtype if dtype is None else dtype
    place = input._layout.type.device if device is None else device
    made = randint(*bounds, size=input._layout.shape, dtype=kind, device=place, **named_bounds)
    return finished(laid_out_as(input, made), requires_grad)


@public(method=False, direct=True)
@drawn
def randperm(
    n: int, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order.

    Raises:
        RuntimeError: ``n`` is negative, or the dtype (int64 unless one is given) cannot hold the integers.
    """
    (size,) = as_size((n,))
    kind = tensor_type(int64 if dtype is None else to_dtype(dtype), to_device(device))
    highest = _EXACT.get(kind.dtype) or np.iinfo(kind.numpy).max
    if size - 1 > highest:
        raise RuntimeError(f"value cannot be converted to type {kind.dtype.name} without overflow: {size} numbers")
    devices.check_countable((size,), np.dtype(np.int64))
    order = random.given_or_default(generator, kind.device).permutation(size)
    if kind.device is CPU:
        return finished(fresh(order.astype(kind.numpy, copy=False), (size,), kind), requires_grad)
    return finished(convert(fresh(order, (size,), tensor_type(int64, kind.device)), kind.dtype), requires_grad)


class DrawBackward0(Node):
    """The node of numbers that were drawn: they do not depend on their distribution's parameters smoothly."""

    __slots__ = ()

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        shape, type = self.layout.shape, self.layout.type
        return tuple([None if edge is None else operations.zeros(shape, type) for edge in self.edges])


def _drawn(result: Tensor, node: type[DrawBackward0], *parameters: Any) -> Tensor:
    """The drawn numbers, with zero gradients for the tensors among the parameters of their distribution."""
    edges = tuple([edge_of(p) for p in parameters if isinstance(p, Tensor)]) if state.mode & GRAD else ()
    if any(edges):
        result._edge = (node(edges, result._layout), 0)
        result._requires_grad = True
    return result


#: By which of mean and std are tensors.
_NORMAL_NODES = {
    (True, False): _node("NormalBackward1", DrawBackward0),
    (False, True): _node("NormalBackward2", DrawBackward0),
    (True, True): _node("NormalBackward3", DrawBackward0),
}
_BernoulliBackward0 = _node("BernoulliBackward0", DrawBackward0)


@public(method=False, direct=True)
@drawn
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, **options: Any) -> Tensor:
    """Random numbers from normal distributions.

    Args:
        mean, std: tensors, one for each number, or a tensor and a number; two numbers need a ``size``.
        options: dtype, device and requires_grad, where a size is given.

    Raises:
        RuntimeError: a standard deviation is negative.
    """
    tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
    if not tensors:
        if size is None:
            raise TypeError("normal(): two numbers need the argument 'size'")
        requires_grad = options.pop("requires_grad", False)
        made = normal_(empty(size, **options), mean, std, generator=generator)
        made._counter[0] = 0
        return finished(made, requires_grad)
    for tensor in tensors:
        _check_floating(tensor, "normal_kernel_cpu")
    if isinstance(std, Tensor):
        if std.numel() and float(smallest(std.detach())) < 0:
            raise RuntimeError(f"normal expects all elements of std >= 0.0 (shape {list(std.shape)})")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    shape, kind = broadcast_shapes(*[t._layout.shape for t in tensors]), tensors[0]._layout.type
    source = random.given_or_default(generator, kind.device)
    with no_grad():
        result = add(mul(fresh(source.normal(numel(shape), kind.numpy), shape, kind), std), mean)
    return _drawn(result, _NORMAL_NODES[isinstance(mean, Tensor), isinstance(std, Tensor)], mean, std)


def _bernoulli(probabilities: Tensor, source: Any, **out: Any) -> Any:
    """A row of truth values drawn with these probabilities, which are contiguous.

    Raises:
        RuntimeError: one is not in [0, 1], which a GPU reports when a value is next read.
    """
    if not probabilities.is_floating_point():
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{probabilities.dtype.legacy}'")
    message = "Expected p_in >= 0 && p_in <= 1 to be true, but got false"
    row = row_of(probabilities)
    if probabilities._layout.type.backend.improbable(row, message):
        raise RuntimeError(f"{message} (shape {list(probabilities.shape)})")
    return source.bernoulli(probabilities.numel(), row, **out)


@public
@drawn
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """Ones, each with the probability that the element of ``input`` (or ``p``) gives, and zeros, of its dtype.

    Raises:
        RuntimeError: a probability is not in [0, 1], which a GPU reports when a value is next read.
    """
    kind = input._layout.type
    source = random.given_or_default(generator, kind.device)
    out = {} if kind.device is CPU else {"out": kind.backend.empty(input._layout.shape, kind)}
    if p is None:
        values = _bernoulli(contiguous(input.detach()), source, **out)
    else:
        _check_probability(p)
        values = source.bernoulli(input.numel(), float(p), **out)
    if kind.device is CPU:
        values = values.astype(kind.numpy)
    result = fresh(values, input._layout.shape, kind)
    return _drawn(result, _BernoulliBackward0, input)
