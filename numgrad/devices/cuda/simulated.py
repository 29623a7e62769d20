"""A GPU in Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``): its memory is the host's, and kernels run in Python.

This module has the functions of ``driver.py``.  Addresses are real, so other modules work with either.  Work on a
stream has run when the call returns.
"""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import adapter
from numgrad_kernels.halves import passed

from ..buffers import DeviceBuffer
from ..launches import notify_made
from .memory import note_uses
from .runtime import Properties, StreamHandle, side_streams

#: Bytes of memory that the GPU reports.
TOTAL_MEMORY = 1 << 36

#: Blocks of the GPU's memory, and of pinned memory, by their addresses.
memory_blocks: dict[int, np.ndarray] = {}
pinned_blocks: dict[int, np.ndarray] = {}

_streams = itertools.count(1)

#: Types of the numbers that a kernel takes: computations with them are typed, and wrap around, as on a GPU.
_NUMBERS: dict[Any, Any] = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def use(device: int) -> None:
    """Direct this thread's calls to a GPU."""
    if device:
        raise RuntimeError("CUDA error: invalid device ordinal")


def device_count() -> int:
    """Return the number of GPUs."""
    return 1


def device_properties(device: int) -> Properties:
    """Return the properties of a GPU."""
    use(device)
    major, minor = adapter.CAPABILITY
    return Properties("Numba's CUDA simulator", major, minor, TOTAL_MEMORY, multi_processor_count=1)


def driver_version() -> str:
    """Return the name of the simulator."""
    return "Numba's CUDA simulator"


def memory_info(device: int) -> tuple[int, int]:
    """Return the free memory and the total memory of a GPU, in bytes."""
    use(device)
    return TOTAL_MEMORY - sum(memory.size for memory in memory_blocks.values()), TOTAL_MEMORY


def allocate(size: int, device: int) -> int:
    """Return the address of ``size`` new bytes of a GPU's memory.

    Raises:
        MemoryError: the GPU has too little memory left.
    """
    if size > memory_info(device)[0]:
        raise MemoryError(size)
    return _keep(size, memory_blocks)


def _keep(size: int, blocks: dict[int, np.ndarray]) -> int:
    memory = np.empty(size + 256, np.uint8)
    address = memory.ctypes.data + -memory.ctypes.data % 256
    blocks[address] = memory
    return address


def free(address: int, device: int) -> None:
    """Free memory."""
    del memory_blocks[address]


def allocate_pinned(size: int, device: int = 0) -> int:
    """Return the address of ``size`` new bytes of the host's pinned memory, which every GPU can access.

    Raises:
        MemoryError: the host has too little memory left.
    """
    return _keep(size, pinned_blocks)


def free_pinned(address: int, device: int = 0) -> None:
    """Free pinned memory."""
    del pinned_blocks[address]


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
    """Return the number of the GPU whose memory contains an address."""
    return 0


def default_stream(device: int) -> StreamHandle:
    """Return the default stream of a GPU."""
    return StreamHandle(0, device)


def create_stream(device: int, priority: int = 0) -> StreamHandle:
    """Return a new stream, which does not wait for the default one; a lower ``priority`` is scheduled sooner."""
    use(device)
    return StreamHandle(next(_streams) << 8, device)


def external_stream(address: int, device: int) -> StreamHandle:
    """Return a stream of another library."""
    return StreamHandle(address, device)


def stream_is_done(stream: StreamHandle) -> bool:
    """Return True if all work on a stream has run."""
    return True


def synchronize(stream: StreamHandle) -> None:
    """Wait until all work on a stream has run."""


def synchronize_device(device: int) -> None:
    """Wait until all work on all streams of a GPU has run."""
    use(device)


class _Event:
    """An event, and the time when it occurred, in milliseconds."""

    def __init__(self, timing: bool):
        self.timing = timing
        self.time: float | None = None


def create_event(device: int, timing: bool = False, blocking: bool = False) -> Any:
    """Return a new event, which marks a point on a stream."""
    use(device)
    return _Event(timing)


def destroy_event(event: Any) -> None:
    """Destroy an event, after it has occurred if it is pending."""


def record_event(event: Any, stream: StreamHandle) -> None:
    """Put an event on a stream of its GPU, after the present work."""
    event.time = time.perf_counter() * 1e3


def event_is_done(event: Any) -> bool:
    """Return True if all work before an event on its stream has run."""
    return True


def wait_for_event(event: Any) -> None:
    """Wait until all work before an event on its stream has run."""


def wait_on_stream(stream: StreamHandle, event: Any) -> None:
    """Make later work on a stream wait for an event, of any GPU."""


def elapsed_time(start: Any, end: Any) -> float:
    """Return the milliseconds between two events that have occurred."""
    if not (start.timing and end.timing):
        raise RuntimeError("CUDA error: invalid resource handle (CUDA_ERROR_INVALID_HANDLE)")
    return end.time - start.time


def capture(stream: StreamHandle, work: Callable[[], None]) -> Any:
    """Return None: nothing can be captured."""
    return None


def launch_graph(graph: Any, stream: StreamHandle) -> None:
    """Raise an error: there are no graphs."""
    raise NotImplementedError


def load(name: str, text: str, arguments: Sequence[Any]) -> Callable[..., None]:
    """Return the function ``launch(blocks, threads, stream, *arguments)`` of a kernel, for buffers and numbers.

    ``launch.occupancy(device)`` returns the number of threads in a block that keeps the GPU busiest, and the number of
    such blocks that run at the same time.  ``launch.prepare(device)`` does nothing.
    """
    begun = time.perf_counter_ns()
    run = adapter.simulated_kernel(name, text)
    notify_made(name, begun)

    def launch(blocks: int, threads: int, stream: StreamHandle, *values: Any) -> None:
        if side_streams:
            note_uses(stream, values)
        with np.errstate(all="ignore"):
            run(blocks, threads, *[_array(v) if v.__class__ is DeviceBuffer else _number(v) for v in values])

    kernel: Any = launch
    kernel.occupancy = lambda device: (4, 2)
    kernel.prepare = lambda device: None
    return kernel


def _number(value: Any) -> Any:
    number = _NUMBERS.get(value.__class__)
    return value if number is None else number(value)


def _array(buffer: DeviceBuffer) -> np.ndarray:
    """Return an array on the memory of a buffer; truth values are uint8 for kernels, float16 and bfloat16 uint16."""
    dtype = np.dtype(np.uint8) if buffer.dtype.kind == "b" else passed(buffer.dtype)
    if not buffer.size:
        return np.empty(0, dtype)
    return np.frombuffer(memoryview((ctypes.c_char * buffer.nbytes).from_address(buffer.address)), dtype)
