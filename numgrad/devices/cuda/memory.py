"""Memory of GPUs for tensors: rows from the caching allocator, and what is copied into them from the host."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...core.layout import Layout, numel
from .. import recording
from ..rows import DeviceRow
from . import pinned, runtime
from .caching import Allocator, Block
from .runtime import StreamHandle, side_streams, stream

__all__ = [
    "allocator", "download", "empty", "empty_row", "memory_launcher", "no_row", "note_uses", "row_from", "stream",
    "upload", "zero_row", "zeros",
]

#: Bytes up to which arrays are copied to a GPU by way of pinned memory, which saves waiting for the GPU.
STAGED = 1 << 16

_TRUTHS = np.dtype(np.uint8)

_allocators: dict[int, Allocator] = {}
_lock = threading.RLock()  # what the collector of garbage runs here may allocate memory, too


def allocator(device: int) -> Allocator:
    """What gives and takes the memory of a GPU."""
    try:
        return _allocators[device]
    except KeyError:
        runtime.check_device(device)
        with _lock:
            return _allocators.setdefault(device, Allocator(device))


def empty_row(count: int, dtype: np.dtype, device: int | None = None) -> DeviceRow:
    """An uninitialised row of elements on a GPU, the current one for None.

    Raises:
        OutOfMemoryError: the GPU has not enough free memory.
    """
    if device is None:
        device = runtime.current_device()
    if not count:
        return DeviceRow(0, 0, dtype, device, None)
    block = allocator(device).allocate(count * dtype.itemsize, stream(device))
    row = DeviceRow(block.address, count, dtype, device, block)
    if recording.recorder is not None:
        recording.recorder.allocated(row)
    return row


def zero_row(count: int, dtype: np.dtype, device: int | None = None) -> DeviceRow:
    """A row of zeros."""
    row = empty_row(count, dtype, device)
    if count:
        recording.on_gpu(_fill_zeros, (row,), (row,))
    return row


def _fill_zeros(row: DeviceRow) -> None:
    runtime.driver.fill_bytes(row.address, 0, row.nbytes, stream(row.device))


def row_from(array: np.ndarray, device: int | None = None) -> DeviceRow:
    """A row with the elements of an array of NumPy's, in row-major order."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return empty_row(flat.size, flat.dtype, device).load(flat)


def upload(row: DeviceRow, array: np.ndarray, wait: bool = True) -> None:
    """Overwrite the elements of a row with those of a contiguous array, which may change when this returns.

    Without ``wait``, an array in pinned memory must be left as it is until work on the current stream is done.
    """
    recording.on_gpu(_upload, (row, array, wait), (row,))


def _upload(row: DeviceRow, array: np.ndarray, wait: bool) -> None:
    here = stream(row.device)
    if side_streams:
        note_uses(here, (row,))
    block = None if wait else pinned.block_of(array)
    if block is None and array.nbytes <= STAGED:
        pinned.stage(array, row.address, here)
    else:
        runtime.driver.copy_to_device(row.address, array.ctypes.data, array.nbytes, here)
        _finish_copy(block, here)


def download(row: DeviceRow, array: np.ndarray, wait: bool = True) -> None:
    """Overwrite a contiguous array with the elements of a row.

    Without ``wait``, an array in pinned memory has them when work on the current stream is done.
    """
    recording.values_read("copying elements from a GPU")
    here = stream(row.device)
    if side_streams:
        note_uses(here, (row,))
    runtime.driver.copy_to_host(array.ctypes.data, row.address, array.nbytes, here)
    _finish_copy(None if wait else pinned.block_of(array), here)


def _finish_copy(block: Any, here: StreamHandle) -> None:
    """Have a block of pinned memory wait for the copy that was put on a stream; without one, the host waits."""
    if block is None:
        runtime.driver.synchronize(here)
    else:
        block.copied_on(here)


def note_uses(here: StreamHandle, values: Iterable[Any]) -> None:
    """Note that work on a stream uses those of the values that are rows.

    Memory goes to others only once that has been done.
    """
    for value in values:
        if value.__class__ is DeviceRow and value.block.__class__ is Block:
            value.block.use_on(here)


@functools.cache
def no_row(dtype: np.dtype) -> DeviceRow:
    """A row without elements, for a kernel that is to be given nothing."""
    return DeviceRow(0, 0, dtype, 0, None)


def as_numbers(row: Any) -> Any:
    """A row, or a plan's buffer, of bools as one of the numbers 0 and 1."""
    return row.view(_TRUTHS) if row.dtype.kind == "b" else row


def optional(row: Any, dtype: np.dtype) -> tuple[Any, int]:
    """Operands of a kernel for a row, or a plan's buffer, that need not be: it or no elements, and if it is there."""
    return (no_row(dtype), 0) if row is None else (row, 1)


def empty(shape: tuple[int, ...], type: Any) -> DeviceRow:
    """Uninitialised memory for a tensor, as one row."""
    return empty_row(numel(shape), type.numpy, type.device.index)


def zeros(shape: tuple[int, ...], type: Any) -> DeviceRow:
    """Zeroed memory for a tensor, as one row."""
    return zero_row(numel(shape), type.numpy, type.device.index)


def memory_launcher(layout: Layout, zeroed: bool) -> Callable[[], DeviceRow]:
    """What gives new memory for a tensor of this layout."""
    return functools.partial(zeros if zeroed else empty, layout.shape, layout.type)
