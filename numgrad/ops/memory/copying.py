"""New tensors on their own memory, uninitialised, filled or copied, and the launchers that overwrite a tensor."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ... import devices
from ...autograd.grad_mode import LEVELS, state
from ...autograd.levels import outside, set_tangent
from ...autograd.node import edge_of
from ...core.device import CPU
from ...core.formats import check_memory_format, formatted_layout, is_formatted
from ...core.layout import Layout, broadcasts, layout_of, overlaps_itself
from ...core.types import TensorType, contiguous_format, dtype, float32, int64, preserve_format, tensor_type
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor, fresh, strided
from ..table.checks import check
from ..table.entries import Entries, Entry
from ..table.forms import call_of
from ..table.lookup import operation
from ..table.op import attach, public
from ..table.promotion import bounds

#: The number of elements from which a device may have a faster way to copy than element by element.
RUNS_FROM = 4096


def _copy(p: Plan, input: TensorRef, type: TensorType, memory_format: Any = None) -> TensorRef:
    """Add the steps of a copy, which keeps the order of dimensions unless a format is given."""
    out = p.new_tensor(layout_of(type, input.shape, formatted_layout(input.layout, memory_format).strides))
    p.assign(input, out)
    return out


@operation("CloneBackward0", direct=True, linear=True, dims=(), passed=["input"])
def clone_op(p, input):
    return _copy(p, input, input.type)


@operation("CloneBackward0", direct=True, linear=True, dims=(), passed=["input"])
def contiguous_op(p, input):
    return _copy(p, input, input.type, contiguous_format)


@operation("CloneBackward0", aten="clone", direct=True, linear=True, passed=["input"])
def formatted_op(p, input, memory_format):
    return _copy(p, input, input.type, memory_format)


@operation("ToCopyBackward0", aten="to", direct=True, linear=True, dims=(), passed=["input"])
def to_type(p, input, type):
    return _copy(p, input, type)


@operation("ToCopyBackward0", aten="to", direct=True, linear=True, passed=["input"])
def to_format(p, input, type, memory_format):
    return _copy(p, input, type, memory_format)


@public(direct=True)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy of the tensor, with the same memory order of dimensions, or in a format; gradients flow back to the
    original.

    Raises:
        RuntimeError: the number of dimensions does not match the format.

    Example:
        >>> import numgrad
        >>> x = numgrad.zeros(2)
        >>> y = numgrad.clone(x)
        >>> y[0] = 1
        >>> x
        tensor([0., 0.])
    """
    if memory_format is None:
        return _clone(input)
    check_memory_format(memory_format)
    if memory_format is preserve_format:
        return _clone(input)
    return contiguous_op(input) if memory_format is contiguous_format else formatted_op(input, memory_format)


_clone = call_of(clone_op)


def repeated_zero(shape: tuple[int, ...], type: TensorType) -> Tensor:
    """Return zeros that share a single element, so that an operation on a copy of them takes one pass over memory."""
    return strided(type.backend.zeros((), type), shape, (0,) * len(shape), 0, type)


def buffer_of(tensor: Tensor) -> Any:
    """Return the elements in row-major order, as the buffer that kernels take.

    Raises:
        RuntimeError: the tensor stands for a batch at a vmap level, so that it has no elements of its own.
    """
    buffer = tensor._flat
    if buffer is None:
        buffer = contiguous(tensor)._flat
        check(
            buffer is not None,
            "Cannot access the elements of a tensor of shape {} that stands for a batch: it is used outside of the "
            "vmap that it belongs to, or by a function that does not support vmap", tensor,
        )
    return buffer


def _writing(source: Layout, target: Layout) -> Plan:
    """Return the plan that overwrites a tensor of the layout ``target``, its second operand, with one of ``source``."""
    p = Plan(target.type.backend, target.type.device.index)
    p.assign(p.operand(source), p.operand(target))
    return p.returns()


#: The entries that overwrite tensors of one layout with those of another, or with numbers of a class.
writers = Entries()


def filling(target: Layout, number: type) -> Entry:
    """Return the entry that overwrites a tensor with a number of this class.

    Its details are the bounds within which any number fits the dtype, None for complex numbers.
    """
    entry = writers.find((target, number))
    if entry is None:
        plan = devices.pointwise_plan(devices.filler(number, target.type.numpy), [number], [target], into=True)
        limits = None if number is complex else bounds(number, target.type.dtype)
        entry = writers.make((target, number), functools.partial(Entry, None, plan, target, False, limits))
    return entry


def writing(target: Layout, source: Layout) -> Entry | None:
    """Return the entry that overwrites a tensor with another in one launch.

    Return None if the source does not broadcast, is on another device, or elements of the target share memory.
    """
    entry = writers.find((target, source))
    if (
        entry is None and source.type.device is target.type.device and broadcasts(source.shape, target.shape)
        and not overlaps_itself(target.shape, target.strides)
    ):
        write = functools.partial(Entry, None, _writing(source, target), target, False, None)
        entry = writers.make((target, source), write)
    return entry


def write(target: Tensor, source: Tensor) -> None:
    """Overwrite ``target`` without recording; ``writing`` must have an entry for the two layouts."""
    entry = writing(target._layout, source._layout)
    assert entry is not None
    entry.launch(source, target)


def kept_copy(input: Tensor) -> Tensor:
    """Return a copy of a tensor about to be overwritten, with its edge in the graph."""
    # The copy of a mapped tensor is recorded: the batch it stands for may be differentiated outside of the level.
    clone = clone_op if state.mode & LEVELS and hasattr(input, "_mapped") else clone_op.function
    copy = clone(input)
    copy._edge = edge_of(input)
    copy._requires_grad = copy._edge is not None
    for level, tangent in getattr(input, "_duals", {}).items():
        with outside(level):  # the tangent may itself have tangents or stand for a batch at this level
            set_tangent(copy, level, clone_op(tangent))
    return copy


attach("_kept_copy", kept_copy)


@public(direct=True)
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements are in row-major order, or in that of the format, else a copy in that order.

    Raises:
        RuntimeError: the number of dimensions does not match the format.
    """
    if memory_format is None or memory_format is contiguous_format:
        return input if input._layout.contiguous else contiguous_op(input)
    check_memory_format(memory_format)
    if is_formatted(input._layout, memory_format):
        return input
    check(memory_format is not preserve_format, "preserve memory format is unsupported by the contiguous operator")
    return formatted_op(input, memory_format)


def convert(input: Tensor, target: dtype) -> Tensor:
    """Return the tensor itself if it has this dtype, else a converted copy."""
    type = input._layout.type
    if type.dtype is target:
        return input
    if type.dtype.is_complex:
        warn_of_loss(type.dtype, target)
    return to_type(input, tensor_type(target, type.device))


def warn_of_loss(source: dtype, target: dtype) -> None:
    """Warn if a conversion drops imaginary parts."""
    if source.is_complex and target.category in (int64.category, float32.category):
        warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=4)


def empty_of(shape: tuple[int, ...], type: TensorType) -> Tensor:
    """Return a tensor on uninitialised memory."""
    return fresh(type.backend.empty(shape, type), shape, type)


def zeros_of(shape: tuple[int, ...], type: TensorType) -> Tensor:
    """Return a tensor of zeros."""
    return fresh(type.backend.zeros(shape, type), shape, type)


def filled_of(shape: tuple[int, ...], value: Any, type: TensorType) -> Tensor:
    """Return a tensor that repeats a number, which its dtype can hold."""
    return fresh(type.backend.filled(shape, value, type), shape, type)


def from_buffer(buffer: Any, shape: tuple[int, ...], type: TensorType) -> Tensor:
    """Return a tensor on a NumPy buffer of its dtype, or on a copy of it on another device."""
    return fresh(buffer if type.device is CPU else devices.moved(buffer, type.device), shape, type)
