"""Memory of GPUs for tensors: buffers from the caching allocator, and copies from and to the host."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...core.layout import Layout, numel
from .. import recording
from ..buffers import DeviceBuffer
from . import pinned, runtime
from .caching import Allocator, CachedMemory
from .runtime import StreamHandle, side_streams, stream

__all__ = [
    "allocator",
    "buffer_from",
    "download",
    "empty",
    "empty_buffer",
    "memory_launcher",
    "no_buffer",
    "note_uses",
    "stream",
    "upload",
    "zero_buffer",
    "zeros",
]

#: Greatest number of bytes of an array that is copied through pinned memory, without waiting for the GPU.
STAGED = 1 << 16

_TRUTHS = np.dtype(np.uint8)

_allocators: dict[int, Allocator] = {}
_lock = threading.RLock()  # reentrant: finalizers that the garbage collector runs here may allocate


def allocator(device: int) -> Allocator:
    """Return the allocator of a GPU's memory."""
    try:
        return _allocators[device]
    except KeyError:
        runtime.check_device(device)
        with _lock:
            return _allocators.setdefault(device, Allocator(device))


def empty_buffer(count: int, dtype: np.dtype, device: int | None = None) -> DeviceBuffer:
    """Return an uninitialised buffer on a GPU, by default the current one.

    Raises:
        OutOfMemoryError: the GPU has too little free memory.
    """
    if device is None:
        device = runtime.current_device()
    if not count:
        return DeviceBuffer(0, 0, dtype, device, None)
    (buffer,) = allocator(device).allocate(((count * dtype.itemsize, count, dtype),), stream(device))
    if recording.recorder is not None:
        recording.recorder.allocated(buffer)
    return buffer


def zero_buffer(count: int, dtype: np.dtype, device: int | None = None) -> DeviceBuffer:
    """Return a buffer of zeros."""
    buffer = empty_buffer(count, dtype, device)
    if count:
        recording.on_gpu(_fill_zeros, (buffer,), (buffer,))
    return buffer


@recording.repeatable
def _fill_zeros(buffer: DeviceBuffer) -> None:
    runtime.driver.fill_bytes(buffer.address, 0, buffer.nbytes, stream(buffer.device))


def buffer_from(array: np.ndarray, device: int | None = None) -> DeviceBuffer:
    """Return a buffer with the elements of an array, in row-major order."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return empty_buffer(flat.size, flat.dtype, device).load(flat)


def upload(buffer: DeviceBuffer, array: np.ndarray, wait: bool = True) -> None:
    """Overwrite the elements of a buffer with those of a contiguous array, which may change afterwards.

    Without ``wait``, an array in pinned memory must not change until the work on the current stream is done.
    """
    recording.on_gpu(_upload, (buffer, array, wait), (buffer,))


def _upload(buffer: DeviceBuffer, array: np.ndarray, wait: bool) -> None:
    current = stream(buffer.device)
    if side_streams:
        note_uses(current, (buffer,))
    block = None if wait else pinned.block_of(array)
    if block is None and array.nbytes <= STAGED:
        pinned.stage(array, buffer.address, current)
    else:
        runtime.driver.copy_to_device(buffer.address, array.ctypes.data, array.nbytes, current)
        _finish_copy(block, current)


def download(buffer: DeviceBuffer, array: np.ndarray, wait: bool = True) -> None:
    """Overwrite a contiguous array with the elements of a buffer.

    Without ``wait``, an array in pinned memory has them when the work on the current stream is done.
    """
    recording.values_read("copying elements from a GPU")
    current = stream(buffer.device)
    if side_streams:
        note_uses(current, (buffer,))
    runtime.driver.copy_to_host(array.ctypes.data, buffer.address, array.nbytes, current)
    _finish_copy(None if wait else pinned.block_of(array), current)


def _finish_copy(block: Any, current: StreamHandle) -> None:
    """Note on a block of pinned memory that a copy is on a stream; without a block, wait for the copy."""
    if block is None:
        runtime.driver.synchronize(current)
    else:
        block.copied_on(current)


def note_uses(current: StreamHandle, values: Iterable[Any]) -> None:
    """Note that work on a stream uses the buffers among the values.

    Their memory is reused only after that work.
    """
    if current.captures:
        return
    for value in values:
        if value.__class__ is DeviceBuffer and value.block.__class__ is CachedMemory:
            value.block.use_on(current)


@functools.cache
def no_buffer(dtype: np.dtype) -> DeviceBuffer:
    """Return a buffer without elements: the operand of a kernel for an optional buffer that is absent."""
    return DeviceBuffer(0, 0, dtype, 0, None)


def as_numbers(buffer: Any) -> Any:
    """Return a buffer of bools viewed as the numbers 0 and 1; any other buffer unchanged."""
    return buffer.view(_TRUTHS) if buffer.dtype.kind == "b" else buffer


def or_empty(buffer: Any, dtype: np.dtype) -> Any:
    """Return a buffer, or one without elements if it is None."""
    return no_buffer(dtype) if buffer is None else buffer


def optional(buffer: Any, dtype: np.dtype) -> tuple[Any, int]:
    """Return two operands of a kernel for a buffer that may be None: the buffer, or an empty one, and 1 or 0."""
    return or_empty(buffer, dtype), int(buffer is not None)


def empty(shape: tuple[int, ...], type: Any) -> DeviceBuffer:
    """Return uninitialised memory for a tensor."""
    return empty_buffer(numel(shape), type.numpy, type.device.index)


def zeros(shape: tuple[int, ...], type: Any) -> DeviceBuffer:
    """Return zeroed memory for a tensor."""
    return zero_buffer(numel(shape), type.numpy, type.device.index)


def memory_launcher(layout: Layout, zeroed: bool) -> Callable[[], DeviceBuffer]:
    """Return a function that returns new memory for a tensor of this layout."""
    return functools.partial(zeros if zeroed else empty, layout.shape, layout.type)
