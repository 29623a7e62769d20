"""Memory of GPUs for tensors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..._layout import numel
from ..rows import DeviceRow
from . import runtime

__all__ = ["empty", "empty_row", "no_row", "row_from", "stream", "zero_row", "zeros"]


class Block:
    """A piece of memory, which is given back when nothing uses it any more."""

    __slots__ = ("__weakref__", "address", "size")

    def __init__(self, address: int, size: int):
        self.address = address
        self.size = size

    def __del__(self) -> None:
        runtime.driver.free(self.address)


def stream(device: int) -> int:
    """The stream that work for a GPU is put on."""
    return 0


def empty_row(count: int, dtype: np.dtype, device: int | None = None) -> DeviceRow:
    """An uninitialised row of elements on a GPU, the current one for None."""
    where = runtime.current_device() if device is None else device
    if not count:
        return DeviceRow(0, 0, dtype, where, None)
    size = count * dtype.itemsize
    block = Block(runtime.driver.allocate(size), size)
    return DeviceRow(block.address, count, dtype, where, block)


def zero_row(count: int, dtype: np.dtype, device: int | None = None) -> DeviceRow:
    """A row of zeros."""
    row = empty_row(count, dtype, device)
    if count:
        runtime.driver.fill_bytes(row.address, 0, row.nbytes, stream(row.device))
    return row


def row_from(array: np.ndarray, device: int | None = None) -> DeviceRow:
    """A row with the elements of an array of NumPy's, in row-major order."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return empty_row(flat.size, flat.dtype, device).load(flat)


@functools.cache
def no_row(dtype: np.dtype) -> DeviceRow:
    """A row without elements, for a kernel that is to be given nothing."""
    return DeviceRow(0, 0, dtype, 0, None)


def empty(shape: tuple[int, ...], type: Any) -> DeviceRow:
    """Uninitialised memory for a tensor, as one row."""
    return empty_row(numel(shape), type.numpy, type.device.index)


def zeros(shape: tuple[int, ...], type: Any) -> DeviceRow:
    """Zeroed memory for a tensor, as one row."""
    return zero_row(numel(shape), type.numpy, type.device.index)
