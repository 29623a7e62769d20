"""Creation of tensors: filled with a number, like another tensor, identity matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import devices
from ...autograd.grad_mode import LEVELS, state
from ...autograd.locations import GIVEN
from ...core.device import device, to_device
from ...core.formats import check_memory_format, formatted_layout, new_format
from ...core.layout import Layout, layout_of
from ...core.types import (
    CPU,
    TensorType,
    default_dtype_changed,
    dtype,
    get_default_dtype,
    layout,
    memory_format,
    tensor_type,
    to_dtype,
)
from ...core.types import strided as dense
from ...devices import NUMBERS
from ...tensors.differentiable import check_differentiable
from ...tensors.tensor import Tensor, strided, tensor_of
from ..batching.batches import is_mapped
from ..batching.physical import like_examples
from ..memory.moving import pin_memory as to_pinned_memory
from ..memory.overwriting import as_number, fitting
from ..table.op import attach, check_tensors, named, public
from ..table.promotion import bounds, number_dtype
from .into import takes_out


def chosen_type(dtype: Any, device: Any, default: dtype | None = None) -> TensorType:
    """Return the type of a new tensor, given a dtype and a device; None stands for the defaults."""
    chosen = default or get_default_dtype() if dtype is None else to_dtype(dtype)
    return tensor_type(chosen, to_device(device))


def as_size(sizes: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """Return a size, given as ints, as one sequence or by name.

    Raises:
        TypeError: the size is missing, is given twice, or does not consist of ints.
        RuntimeError: an extent is negative.
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


def finished(result: Tensor, requires_grad: bool, pinned: bool = False, scheme: Any = None) -> Tensor:
    """Return a new tensor, in pinned memory if ``pinned``, as a leaf that requires a gradient if ``requires_grad``.

    Raises:
        NotImplementedError: ``scheme``, the argument ``layout`` of the call, is not ``strided``.
    """
    if scheme is not None and scheme is not dense:
        raise NotImplementedError(f"numgrad has no tensors of layout {scheme}, only of torch.strided")
    if pinned:
        result = to_pinned_memory(result)
    result._origin = GIVEN
    if requires_grad:
        check_differentiable(result, "Only Tensors of floating point and complex dtype")
        result.requires_grad = True
    return result


# -- filled -----------------------------------------------------------------------------------------------------


class _CreationPlan(NamedTuple):
    """The plan of a new tensor: its layout, the launcher of its memory, and the bounds of the number that fills it."""

    layout: Layout
    launch: Callable[..., Any]
    low: float
    high: float


#: Stand-ins for the class of a number, for zeroed and for uninitialised memory.
_ZEROED, EMPTY = "zeroed", "empty"


@functools.lru_cache(maxsize=4096)
def _plan(number: Any, layout: Layout) -> _CreationPlan:
    """Return the plan of a tensor of this layout, filled with a number of a class."""
    type = layout.type
    if number in (_ZEROED, EMPTY):
        return _CreationPlan(layout, type.backend.memory_launcher(layout, number == _ZEROED), 0, 0)
    launch = devices.pointwise_plan(devices.filler(number, type.numpy), [number], [layout])
    return _CreationPlan(layout, launch, *((0, -1) if number is complex else bounds(number, type.dtype)))


@functools.lru_cache(maxsize=4096, typed=True)
def _plan_on_cpu(number: Any, dtype: Any, default: Any, *sizes: Any) -> _CreationPlan:
    """Return the plan of a new tensor on the CPU, from hashable arguments.

    Raises:
        TypeError: a size is not a Python int, the only class that the cache may hold.
    """
    if any(size.__class__ is not int for size in sizes):
        raise TypeError
    return _plan(number, layout_of(chosen_type(dtype, CPU, default), as_size((sizes,))))


default_dtype_changed.append(_plan_on_cpu.cache_clear)


def plan_of(
    number: Any, sizes: tuple[Any, ...], size: Any, dtype: Any, device: Any, default: Any = None
) -> _CreationPlan:
    """Return the plan of a new tensor for the arguments of a call."""
    if size is None and sizes and to_device(device) is CPU:
        try:
            return _plan_on_cpu(number, dtype, default, *(sizes[0] if isinstance(sizes[0], tuple | list) else sizes))
        except TypeError:
            pass
    return _plan(number, layout_of(chosen_type(dtype, device, default), as_size(sizes, size)))


def _filled(plan: _CreationPlan, value: Any) -> Tensor:
    if value.__class__ is complex or not plan.low <= value <= plan.high:
        value = fitting(value, plan.layout.type.dtype)
    return tensor_of(plan.layout, plan.launch(value))


def _of_size(name: str, what: str, number: Any, *value: int) -> Callable[..., Tensor]:
    """Return the public function that makes a tensor of a size, filled with ``value`` if one is given."""

    shown = value[0] if value else 0

    def new(
        *sizes: int | Sequence[int], size: Sequence[int] | None = None, dtype: dtype | None = None,
        layout: layout | None = None, device: device | str | int | None = None, requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        plan = plan_of(number, sizes, size, dtype, device)
        return finished(tensor_of(plan.layout, plan.launch(*value)), requires_grad, pin_memory, layout)

    doc = f"""A tensor {what}.

    Example:
        >>> import numgrad
        >>> numgrad.{name}(2, dtype=numgrad.int64)
        tensor([{shown}, {shown}])
    """
    return public(named(new, name, doc), method=False, direct=True)


zeros = _of_size("zeros", "of zeros", _ZEROED)
ones = _of_size("ones", "of ones", int, 1)


@public(method=False, direct=True)
def empty(
    *sizes: int | Sequence[int], size: Sequence[int] | None = None, dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, requires_grad: bool = False,
    pin_memory: bool = False, memory_format: memory_format | None = None,
) -> Tensor:
    """A tensor on uninitialised memory, with its dimensions in the order of a memory format.

    Raises:
        RuntimeError: the number of dimensions does not match the format.
    """
    plan = plan_of(EMPTY, sizes, size, dtype, device)
    if memory_format is not None:
        plan = _plan(EMPTY, formatted_layout(plan.layout, new_format(memory_format)))
    return finished(tensor_of(plan.layout, plan.launch()), requires_grad, pin_memory, layout)


@public(method=False, direct=True)
@takes_out
def full(
    size: Sequence[int], fill_value: complex, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:
    """A tensor filled with a number, in the number's dtype unless one is given.

    Example:
        >>> import numgrad
        >>> numgrad.full((2, 2), 3.5)
        tensor([[3.5000, 3.5000],
                [3.5000, 3.5000]])
    """
    if size.__class__ is not tuple and not isinstance(size, Sequence):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    value = _number(fill_value)
    plan = plan_of(value.__class__, (size,), None, dtype, device, number_dtype(value))
    return finished(_filled(plan, value), requires_grad, pin_memory, layout)


def number_tensor(value: float) -> Tensor | None:
    """Return a number as a tensor on the CPU; None if its dtype might not represent it."""
    number: Any = value.__class__
    plan = _plan_on_cpu(number, None, number_dtype(value))
    return tensor_of(plan.layout, plan.launch(value)) if plan.low <= value <= plan.high else None


def _number(value: Any) -> Any:
    """Return the number to fill a tensor with, as a Python number."""
    if value.__class__ in NUMBERS:
        return value
    return as_number(value.item() if isinstance(value, Tensor) else value)


@public(method=False, direct=True)
def scalar_tensor(
    s: Any, *, dtype: dtype | None = None, device: device | str | int | None = None, requires_grad: bool = False
) -> Tensor:
    """A number as a 0-d tensor, in the default dtype unless one is given."""
    return full((), s, dtype=chosen_type(dtype, device).dtype, device=device, requires_grad=requires_grad)


@public(method=False, direct=True)
@takes_out
def eye(
    n: int, m: int | None = None, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere.

    Example:
        >>> import numgrad
        >>> numgrad.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    new = plan_of(_ZEROED, ((n, n if m is None else m),), None, dtype, device).layout
    return finished(tensor_of(new, _identity(new)()), requires_grad, scheme=layout)


@functools.lru_cache(maxsize=1024)
def _identity(matrix: Layout) -> Callable[[], Any]:
    """Return the launcher that makes the memory of an identity matrix of this layout."""
    p = devices.Plan(matrix.type.backend, matrix.type.device.index)
    identity, (rows, columns) = p.new_tensor(matrix, zeroed=True), matrix.shape
    diagonal = layout_of(matrix.type, (min(rows, columns),), (columns + 1,))
    if diagonal.size:
        p.pointwise(devices.filler(int, matrix.type.numpy), [1], identity.viewed(diagonal))
    return p.returns(identity)


# -- like another -----------------------------------------------------------------------------------------------


def laid_out_as(input: Tensor, new: Tensor, memory_format: Any = None) -> Tensor:
    """Return the new tensor with its dimensions in the memory order of the input, or in that of a format."""
    check_memory_format(memory_format)
    layout = formatted_layout(input._layout, memory_format)
    if layout.row_major or is_mapped(new):
        return new
    return strided(new._storage, layout.shape, layout.strides, 0, new._layout.type)


@functools.lru_cache(maxsize=4096)
def _plan_like(number: Any, layout: Layout, memory_format: Any) -> _CreationPlan:
    """Return the plan of a tensor with the memory order of this layout, or in a format."""
    check_memory_format(memory_format)
    return _plan(number, formatted_layout(layout, memory_format))


def layout_like(name: str, input: Tensor, dtype: Any, device: Any) -> Layout:
    """Return the layout of a tensor, with another dtype or device if given."""
    if input.__class__ is not Tensor:
        check_tensors(name, input=input)
    layout = input._layout
    if dtype is None and device is None:
        return layout
    type = chosen_type(dtype, layout.type.device if device is None else device, layout.type.dtype)
    return layout_of(type, layout.shape, layout.strides)


def _like(name: str, number: Any, *value: int) -> Callable[..., Tensor]:
    def like(
        input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None,
        device: device | str | int | None = None, requires_grad: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        plan = _plan_like(number, layout_like(name, input, dtype, device), memory_format)
        result = tensor_of(plan.layout, plan.launch(*value))
        if state.mode & LEVELS:
            result = like_examples(input, result)
        return finished(result, requires_grad, scheme=layout)

    function = f"``numgrad.{name.removesuffix('_like')}``"
    doc = f"{function} of the shape and, unless others are given, the dtype and device of another tensor."
    return public(named(like, name, doc), method=False, direct=True)


zeros_like = _like("zeros_like", _ZEROED)
ones_like = _like("ones_like", int, 1)
empty_like = _like("empty_like", EMPTY)


@public(method=False, direct=True)
def full_like(
    input: Tensor, fill_value: complex, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False, memory_format: memory_format | None = None,
) -> Tensor:
    """``numgrad.full`` of the shape and, unless others are given, the dtype and device of another tensor."""
    new = layout_like("full_like", input, dtype, device)
    value = _number(fill_value)
    plan = _plan_like(value.__class__, new, memory_format)
    return finished(like_examples(input, _filled(plan, value)), requires_grad, scheme=layout)


def _new(function: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        chosen, target = self.dtype if dtype is None else dtype, self.device if device is None else device
        result = function(*args, dtype=chosen, device=target, **options)
        return like_examples(self, result)

    title, name = f"``numgrad.{function.__name__}``", f"new_{function.__name__}"
    doc = f"{title} in the dtype and on the device of this tensor, unless others are given."
    attach(name, named(method, name, doc))


for _function in (zeros, ones, empty, full):
    _new(_function)
