"""A GPU in Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``): its memory is the host's, and kernels run in Python.

It has the functions of ``driver.py``.  Addresses are real ones, so that nothing else need know which of the two it is.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import adapter

from ..rows import DeviceRow

__all__ = [
    "CAPABILITY", "allocate", "copy_to_device", "copy_to_host", "copy_within", "fill_bytes", "free", "load",
    "synchronize",
]

#: The compute capability that it claims to have.
CAPABILITY = adapter.CAPABILITY

#: Blocks of memory by their addresses.
_blocks: dict[int, np.ndarray] = {}


def device_count() -> int:
    """The number of GPUs."""
    return 1


def allocate(size: int) -> int:
    """The address of ``size`` bytes of memory."""
    memory = np.empty(size + 256, np.uint8)
    start = -memory.ctypes.data % 256
    address = memory.ctypes.data + start
    _blocks[address] = memory
    return address


def free(address: int) -> None:
    """Give memory back."""
    del _blocks[address]


def copy_to_device(target: int, source: np.ndarray, stream: int = 0) -> None:
    """Copy a contiguous array into memory that begins at ``target``."""
    ctypes.memmove(target, source.ctypes.data, source.nbytes)


def copy_to_host(target: np.ndarray, source: int, stream: int = 0) -> None:
    """Copy memory that begins at ``source`` into a contiguous array."""
    ctypes.memmove(target.ctypes.data, source, target.nbytes)


def copy_within(target: int, source: int, size: int, stream: int = 0) -> None:
    """Copy ``size`` bytes from one place in memory to another."""
    ctypes.memmove(target, source, size)


def fill_bytes(target: int, value: int, size: int, stream: int = 0) -> None:
    """Set ``size`` bytes to a value."""
    ctypes.memset(target, value, size)


def synchronize(stream: int | None = None) -> None:
    """Wait for a stream, or for all: what runs here has run when it returns."""


def load(name: str, text: str, arguments: Sequence[Any]) -> Callable[..., None]:
    """A kernel as ``launch(blocks, threads, stream, *arguments)``."""
    run = adapter.simulated_kernel(name, text)

    def launch(blocks: Any, threads: Any, stream: int, *values: Any) -> None:
        with np.errstate(all="ignore"):
            run(blocks, threads, *[_array(v) if v.__class__ is DeviceRow else v for v in values])

    return launch


def _array(row: DeviceRow) -> np.ndarray:
    """The elements of a row as an array on the same memory; truth values as the uint8 that they are for kernels."""
    dtype = np.dtype(np.uint8) if row.dtype.kind == "b" else row.dtype
    if not row.size:
        return np.empty(0, dtype)
    return np.frombuffer((ctypes.c_char * row.nbytes).from_address(row.address), dtype)


def event_record() -> float:
    """The time now, in milliseconds."""
    return time.perf_counter() * 1e3
