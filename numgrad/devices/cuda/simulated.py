"""A GPU in Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``): its memory is the host's, and kernels run in Python.

It has the functions of ``driver.py``.  Addresses are real ones, so that nothing else need know which of the two it is.
All that is put on a stream has run when the call returns.
"""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import adapter

from ..launches import notify_made
from ..rows import DeviceRow
from .memory import note_uses
from .runtime import Properties, StreamHandle, side_streams

#: Bytes of memory that the GPU claims to have.
TOTAL_MEMORY = 1 << 36

#: Blocks of memory by their addresses, of the GPU's and of pinned memory.
_blocks: dict[int, np.ndarray] = {}
_pinned: dict[int, np.ndarray] = {}

_streams = itertools.count(1)

#: What a kernel gets a number as: what it computes of that is typed, and wraps around, as it is on a GPU.
_NUMBERS: dict[Any, Any] = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def use(device: int) -> None:
    """Let this thread's calls go to a GPU."""
    if device:
        raise RuntimeError("CUDA error: invalid device ordinal")


def device_count() -> int:
    """The number of GPUs."""
    return 1


def device_properties(device: int) -> Properties:
    """What a GPU is."""
    use(device)
    major, minor = adapter.CAPABILITY
    return Properties("Numba's CUDA simulator", major, minor, TOTAL_MEMORY, multi_processor_count=1)


def driver_version() -> str:
    """What there is instead of a driver."""
    return "Numba's CUDA simulator"


def memory_info(device: int) -> tuple[int, int]:
    """A GPU's free memory and all of it, in bytes."""
    use(device)
    return TOTAL_MEMORY - sum(memory.size for memory in _blocks.values()), TOTAL_MEMORY


def allocate(size: int, device: int) -> int:
    """The address of ``size`` bytes of a GPU's memory.

    Raises:
        MemoryError: it has not as many left.
    """
    if size > memory_info(device)[0]:
        raise MemoryError(size)
    return _keep(size, _blocks)


def _keep(size: int, blocks: dict[int, np.ndarray]) -> int:
    memory = np.empty(size + 256, np.uint8)
    address = memory.ctypes.data + -memory.ctypes.data % 256
    blocks[address] = memory
    return address


def free(address: int, device: int) -> None:
    """Give memory back."""
    del _blocks[address]


def allocate_pinned(size: int, device: int = 0) -> int:
    """The address of ``size`` bytes of the host's memory that stay where they are, for every GPU to reach.

    Raises:
        MemoryError: the host has not as many left.
    """
    return _keep(size, _pinned)


def free_pinned(address: int, device: int = 0) -> None:
    """Give pinned memory back."""
    del _pinned[address]


def copy_to_device(target: int, source: int, size: int, stream: StreamHandle) -> None:
    """Put a copy from the host's memory to a GPU's on a stream."""
    ctypes.memmove(target, source, size)


def copy_to_host(target: int, source: int, size: int, stream: StreamHandle) -> None:
    """Put a copy from a GPU's memory to the host's on a stream."""
    ctypes.memmove(target, source, size)


def copy_within(target: int, source: int, size: int, stream: StreamHandle) -> None:
    """Copy ``size`` bytes within the memory of GPUs."""
    ctypes.memmove(target, source, size)


def fill_bytes(target: int, value: int, size: int, stream: StreamHandle) -> None:
    """Set ``size`` bytes to a value."""
    ctypes.memset(target, value, size)


def device_of(address: int) -> int:
    """The number of the GPU whose memory an address is of."""
    return 0


def default_stream(device: int) -> StreamHandle:
    """The stream that a GPU has from the beginning."""
    return StreamHandle(0, device)


def create_stream(device: int, priority: int = 0) -> StreamHandle:
    """Another stream, which does not wait for the default one; the lower ``priority``, the sooner its turn."""
    use(device)
    return StreamHandle(next(_streams) << 8, device)


def external_stream(address: int, device: int) -> StreamHandle:
    """A stream that another library made."""
    return StreamHandle(address, device)


def stream_is_done(stream: StreamHandle) -> bool:
    """Whether all that was put on a stream has run."""
    return True


def synchronize(stream: StreamHandle) -> None:
    """Wait until all that was put on a stream has run."""


def synchronize_device(device: int) -> None:
    """Wait until all that was put on any stream of a GPU has run."""
    use(device)


class _Event:
    """An event, and when it came, in milliseconds."""

    def __init__(self, timing: bool):
        self.timing = timing
        self.time: float | None = None


def create_event(device: int, timing: bool = False, blocking: bool = False) -> Any:
    """An event: a mark on a stream."""
    use(device)
    return _Event(timing)


def destroy_event(event: Any) -> None:
    """Forget an event; one still awaited is forgotten once it has come."""


def record_event(event: Any, stream: StreamHandle) -> None:
    """Put an event on a stream of its GPU, after all that is there."""
    event.time = time.perf_counter() * 1e3


def event_is_done(event: Any) -> bool:
    """Whether all that was before an event on its stream has run."""
    return True


def wait_for_event(event: Any) -> None:
    """Wait until all that was before an event on its stream has run."""


def wait_on_stream(stream: StreamHandle, event: Any) -> None:
    """Let what is put on a stream from now on wait for an event, of whatever GPU."""


def elapsed_time(start: Any, end: Any) -> float:
    """The milliseconds from one event to another, both of which have come."""
    if not (start.timing and end.timing):
        raise RuntimeError("CUDA error: invalid resource handle (CUDA_ERROR_INVALID_HANDLE)")
    return end.time - start.time


def load(name: str, text: str, arguments: Sequence[Any]) -> Callable[..., None]:
    """A kernel as ``launch(blocks, threads, stream, *arguments)``, which takes rows and numbers.

    ``launch.occupancy(device)`` is the number of threads in a block that keeps the GPU busiest, and how many of these
    blocks run at the same time.  ``launch.prepare(device)`` is nothing to be done here.
    """
    begun = time.perf_counter_ns()
    run = adapter.simulated_kernel(name, text)
    notify_made(name, begun)

    def launch(blocks: int, threads: int, stream: StreamHandle, *values: Any) -> None:
        if side_streams:
            note_uses(stream, values)
        with np.errstate(all="ignore"):
            run(blocks, threads, *[_array(v) if v.__class__ is DeviceRow else _number(v) for v in values])

    kernel: Any = launch
    kernel.occupancy = lambda device: (4, 2)
    kernel.prepare = lambda device: None
    return kernel


def _number(value: Any) -> Any:
    number = _NUMBERS.get(value.__class__)
    return value if number is None else number(value)


def _array(row: DeviceRow) -> np.ndarray:
    """The elements of a row as an array on the same memory; truth values as the uint8 that they are for kernels."""
    dtype = np.dtype(np.uint8) if row.dtype.kind == "b" else row.dtype
    if not row.size:
        return np.empty(0, dtype)
    return np.frombuffer(memoryview((ctypes.c_char * row.nbytes).from_address(row.address)), dtype)
