"""Rows that go from one device to another, and memory of the host that GPUs copy from and to."""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from .gpus import begin_cuda, cuda_in_use
from .rows import DeviceRow, waited

__all__ = ["is_pinned", "moved", "overwrite", "pinned"]


def moved(row: Any, device: Any, wait: bool = True) -> Any:
    """The elements of a row in a new row on a device, the number of which is known; an array on the CPU is kept.

    Without ``wait``, elements are copied to the CPU into pinned memory, and are there when the GPU has come so far.
    """
    if row.__class__ is not DeviceRow:
        return row if device.type == "cpu" else _on_gpu(row, device.index, wait)
    if device.type == "cuda":
        return row.copy() if row.device == device.index else _on_other_gpu(row, device.index)
    if wait:
        return row.host()
    array = pinned(row.size, row.dtype)
    if row.size:
        begin_cuda().memory.download(row, array, wait=False)
    return array


def overwrite(target: Any, source: Any, wait: bool = True) -> None:
    """Write the elements of a row into one of its length and dtype on another device."""
    if not target.size:
        return
    memory = begin_cuda().memory
    if target.__class__ is not DeviceRow:
        memory.download(source, target, wait=wait)
        if wait:
            waited()
    elif source.__class__ is not DeviceRow:
        memory.upload(target, source, wait=wait)
    else:
        target.put(_on_other_gpu(source, target.device))


def pinned(count: int, dtype: np.dtype) -> np.ndarray:
    """An uninitialised row in pinned memory."""
    return begin_cuda().pinned.pinned_row(count, dtype)


def is_pinned(row: Any) -> bool:
    """Whether a row lies in pinned memory."""
    return cuda_in_use() and row.__class__ is not DeviceRow and begin_cuda().pinned.block_of(row) is not None


def _on_gpu(array: np.ndarray, device: int, wait: bool) -> DeviceRow:
    memory = begin_cuda().memory
    row = memory.empty_row(array.size, array.dtype, device)
    if array.size:
        memory.upload(row, array, wait=wait)
    return row


def _on_other_gpu(row: DeviceRow, device: int) -> DeviceRow:
    """The elements on another GPU; the host waits for both, since their streams know nothing of one another."""
    cuda = begin_cuda()
    out = cuda.memory.empty_row(row.size, row.dtype, device)
    cuda.runtime.driver.synchronize(cuda.memory.stream(row.device))
    out.put(row)
    cuda.runtime.driver.synchronize(cuda.memory.stream(device))
    return out


#: A row is pickled as its elements and the number of its GPU.
copyreg.pickle(DeviceRow, lambda row: (_on_gpu, (row.host(), row.device, True)))
