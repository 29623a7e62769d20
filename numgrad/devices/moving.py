"""Copies of buffers between devices, and pinned memory of the host for them."""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from .buffers import DeviceBuffer, waited
from .gpus import begin_cuda, cuda_in_use

__all__ = ["is_pinned", "moved", "overwrite", "pinned"]


def moved(buffer: Any, device: Any, wait: bool = True) -> Any:
    """Copy a buffer to a device, which has an index if it is a GPU; an array for the CPU is returned uncopied.

    Without ``wait``, a copy to the CPU is in pinned memory, and complete when the work on the GPU's stream is done.
    """
    if buffer.__class__ is not DeviceBuffer:
        return buffer if device.type == "cpu" else _on_gpu(buffer, device.index, wait)
    if device.type == "cuda":
        return buffer.copy() if buffer.device == device.index else _on_other_gpu(buffer, device.index)
    if wait:
        return buffer.host()
    array = pinned(buffer.size, buffer.dtype)
    if buffer.size:
        begin_cuda().memory.download(buffer, array, wait=False)
    return array


def overwrite(target: Any, source: Any, wait: bool = True) -> None:
    """Copy the elements of a buffer to one of the same length and dtype on another device."""
    if not target.size:
        return
    memory = begin_cuda().memory
    if target.__class__ is not DeviceBuffer:
        memory.download(source, target, wait=wait)
        if wait:
            waited()
    elif source.__class__ is not DeviceBuffer:
        memory.upload(target, source, wait=wait)
    else:
        target.put(_on_other_gpu(source, target.device))


def pinned(count: int, dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised buffer in pinned memory."""
    return begin_cuda().pinned.pinned_buffer(count, dtype)


def is_pinned(buffer: Any) -> bool:
    """Return True if a buffer is in pinned memory."""
    return cuda_in_use() and buffer.__class__ is not DeviceBuffer and begin_cuda().pinned.block_of(buffer) is not None


def _on_gpu(array: np.ndarray, device: int, wait: bool) -> DeviceBuffer:
    memory = begin_cuda().memory
    out = memory.empty_buffer(array.size, array.dtype, device)
    if array.size:
        memory.upload(out, array, wait=wait)
    return out


def _on_other_gpu(buffer: DeviceBuffer, device: int) -> DeviceBuffer:
    """Return the elements on another GPU; the host waits for both GPUs, whose streams are independent."""
    cuda = begin_cuda()
    out = cuda.memory.empty_buffer(buffer.size, buffer.dtype, device)
    cuda.runtime.driver.synchronize(cuda.memory.stream(buffer.device))
    out.put(buffer)
    cuda.runtime.driver.synchronize(cuda.memory.stream(device))
    return out


#: A buffer is pickled as its elements and the number of its GPU.
copyreg.pickle(DeviceBuffer, lambda buffer: (_on_gpu, (buffer.host(), buffer.device, True)))
