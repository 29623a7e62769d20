"""Conversions to other dtypes and moves between devices, as called by users."""

from __future__ import annotations

import functools
from typing import Any

from ... import devices
from ...core.device import numbered, to_device
from ...core.formats import check_memory_format, has_channels_last, is_formatted, kept_layout
from ...core.layout import Layout, layout_of
from ...core.types import (
    TensorType,
    contiguous_format,
    dtype,
    get_default_dtype,
    preserve_format,
    tensor_type,
    to_dtype,
)
from ...core.types import device as Device  # noqa: N812 - the names are those of PyTorch's parameters
from ...core.types import dtype as DType  # noqa: N812
from ...devices import Buffer, Plan, TensorRef
from ...tensors.tensor import Tensor, tensor_of
from ..table.checks import check, check_implemented
from ..table.lookup import operation
from ..table.op import attach, check_tensors, public
from .copying import convert, to_format, to_type, warn_of_loss


@operation("ToCopyBackward0", aten="to", linear=True, dims=())
def move_op(p: Plan, input: TensorRef, type: TensorType, wait: bool) -> TensorRef:
    """Add the steps of a copy on another device; without ``wait``, pinned memory may still be in use on return."""
    old = input.type
    smaller = type.dtype if type.dtype.itemsize < old.dtype.itemsize else old.dtype  # to transfer fewer bytes
    layout, buffer = _dense(p, input, tensor_type(smaller, old.device))
    arrived, out = [layout_of(t, input.shape, layout.strides) for t in (tensor_type(smaller, type.device), type)]
    return p.host(functools.partial(_moved, arrived, out, wait), [out], buffer)[0]


def _moved(arrived: Layout, out: Layout, wait: bool, buffer: Any) -> tuple[Any]:
    """Return a buffer moved to a device in one layout, and converted there to another."""
    buffer = devices.moved(buffer, out.type.device, wait)
    return (buffer if arrived is out else to_type.function(tensor_of(arrived, buffer), out.type)._storage,)


@move_op.gradient("input")
def _(grad, input_layout):
    return move_op(grad, input_layout.type, True)


def placed(input: Tensor, target: Device) -> Tensor:
    """Return the tensor on another device, with the same memory order of dimensions, without recording."""
    return move_op.function(input, tensor_type(input.dtype, target), True)


def _dense(p: Plan, input: TensorRef, type: TensorType) -> tuple[Layout, Buffer]:
    """Add the steps that convert a tensor to a type; return its layout without gaps or repeats, and its elements."""
    dense = layout_of(type, input.shape, kept_layout(input.layout).strides)
    memory, _, start = input if dense is input.layout else to_type.build(p, input, type)
    return dense, Buffer(memory, dense.size, type.numpy, start)


@operation("PinMemoryBackward0", aten="pin_memory", linear=True, dims=(), passed=["input"])
def pin_op(p: Plan, input: TensorRef) -> TensorRef:
    layout, buffer = _dense(p, input, input.type)
    return p.host(_pinned, [layout], buffer)[0]


def _pinned(buffer: Any) -> tuple[Any]:
    pinned = devices.pinned(buffer.size, buffer.dtype)
    pinned[:] = buffer
    return (pinned,)


@public(function=False, direct=True)
def to(
    input: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """The tensor with another dtype, device (direct or that of another tensor) or memory format; itself if nothing
    changes.

    With ``non_blocking`` the call may return before pinned memory is copied to a GPU, or a GPU's memory to new pinned
    memory, whose elements are valid once the GPU has finished.  ``non_blocking`` and ``copy`` may also be positional,
    after dtype and device.

    Raises:
        RuntimeError: the number of dimensions does not match the format, or there is no such device.
    """
    if len(args) == 1 and args[0].__class__ is DType and not (dtype or device or copy or memory_format):
        return convert(input, args[0])
    flags = [argument for argument in args if isinstance(argument, bool)]
    non_blocking = non_blocking or flags[:1] == [True]
    copy = copy or flags[1:2] == [True]
    for argument in args:
        if isinstance(argument, Tensor):
            dtype, device = argument.dtype, argument.device
        elif isinstance(argument, str | Device) or argument.__class__ is int:
            device = argument
        elif not isinstance(argument, bool | None):
            dtype = argument
    check_memory_format(memory_format)
    new_dtype = input.dtype if dtype is None else to_dtype(dtype)
    if device is not None:
        target = numbered(to_device(device))
        if target is not input.device:
            warn_of_loss(input.dtype, new_dtype)
            moved = move_op(input, tensor_type(new_dtype, target), not non_blocking)
            return _formatted(moved, new_dtype, memory_format) if memory_format else moved
    if memory_format is not None and memory_format is not preserve_format:
        return _formatted(input, new_dtype, memory_format, copy)
    result = convert(input, new_dtype)
    return to_type(input, input._layout.type) if copy and result is input else result


def _formatted(input: Tensor, dtype: DType, memory_format: Any, copy: bool = False) -> Tensor:
    """Return the tensor in a dtype and a format; itself if it has both and ``copy`` is not set."""
    layout = input._layout
    if memory_format is contiguous_format:
        lies_so = not has_channels_last(layout)
    else:
        ordered = has_channels_last(layout) and is_formatted(layout, memory_format)
        lies_so = ordered or memory_format is preserve_format
    if lies_so and dtype is layout.type.dtype and not copy:
        return input
    warn_of_loss(layout.type.dtype, dtype)
    return to_format(input, tensor_type(dtype, layout.type.device), memory_format)


def _conversion(dtype: dtype) -> Any:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return convert(self, dtype) if memory_format is None else to(self, dtype, memory_format=memory_format)

    method.__doc__ = f"The tensor as {dtype}."
    return method


for _dtype in dtype.named.values():  # byte, float, cdouble: the words in names like "torch.ByteTensor"
    if not _dtype.is_limited:
        attach(_dtype.legacy.lower().replace("complex", "c"), _conversion(_dtype))


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or the tensor converted to a dtype or to a type such as "torch.cuda.FloatTensor".
    """
    if dtype is None:
        return self._layout.type.name
    if dtype is Tensor:
        return to(self, dtype=get_default_dtype(), device="cpu", non_blocking=non_blocking)
    if isinstance(dtype, str) and dtype.startswith("torch.") and dtype.endswith("Tensor"):  # the name implies a device
        name = dtype.removeprefix("torch.")
        target = "cuda" if name.startswith("cuda.") else "cpu"
        return to(self, dtype=to_dtype(name.removeprefix("cuda.")), device=target, non_blocking=non_blocking)
    return to(self, dtype=dtype, non_blocking=non_blocking)


@public(function=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with the dtype and device of ``other``; itself if it has these."""
    check_tensors("type_as", other=other)
    return to(self, other)


@public(function=False, direct=True)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in the CPU's memory; itself if it is there already."""
    return to(self, device="cpu", memory_format=memory_format)


@public(function=False, direct=True)
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor in the memory of a GPU, by default the current one; itself if it is there already."""
    target = "cuda" if device is None else device
    check(to_device(target).type == "cuda", "Invalid device, must be cuda device (got {})", target)
    return to(self, device=target, non_blocking=non_blocking, memory_format=memory_format)


attach("type", type_)


@public(function=False, direct=True)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in pinned host memory, from which GPUs copy asynchronously; itself if it is there already.

    Raises:
        RuntimeError: the tensor is on a GPU, or there is no GPU.
    """
    check(not self.is_cuda, "cannot pin '{}' only dense CPU tensors can be pinned", self._layout.type.name)
    return self if is_pinned(self) else pin_op(self)


@public(function=False, direct=True)
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """True if the tensor is in pinned host memory."""
    return devices.is_pinned(self._storage)


@public(function=False, direct=True)
def record_stream(self: Tensor, stream: Any) -> None:
    """Note that a stream other than the one on which the tensor was made uses its memory.

    The memory is reused only after the work that is on the stream when the tensor is freed has finished.

    Raises:
        NotImplementedError: the tensor is on the CPU.
    """
    check_implemented(self.is_cuda, "record_stream is for tensors on a GPU, but this one is on the CPU")
    devices.begin_cuda().memory.note_uses(stream._handle, (self._storage,))
