"""The GPUs, the current GPU and its streams, and the driver.

Each thread has a current stream of each GPU, initially the default one.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")

#: The module that runs kernels and allocates memory: ``driver.py``, ``simulated.py``, ``emulated.py`` or ``dry.py``.
driver: Any = None


class _Current(threading.local):
    """The current GPU of a thread, and its current stream of each GPU that the thread has used."""

    device = 0  # of threads that have not set it

    def __init__(self) -> None:
        self.streams: dict[int, StreamHandle] = {}


_current = _Current()


def begin(chosen: Any) -> None:
    """Use this driver from now on."""
    global driver
    driver = chosen


def is_dry() -> bool:
    """Return True if the driver runs nothing."""
    return driver is not None and driver.__name__.endswith(".dry")


def is_emulated() -> bool:
    """Return True if the driver runs compiled kernels on the processor."""
    return driver is not None and driver.__name__.endswith(".emulated")


def current_device() -> int:
    """Return the number of this thread's current GPU, the default for new tensors."""
    return _current.device


def check_device(device: int) -> None:
    """Raise an error unless a GPU has this number.

    Raises:
        RuntimeError: there is no such GPU.
    """
    if not 0 <= device < driver.device_count():
        raise RuntimeError(
            f"CUDA error: invalid device ordinal: there is no GPU {device} among {driver.device_count()}"
        )


def set_device(device: int) -> None:
    """Make a GPU the current one of this thread.

    Raises:
        RuntimeError: there is no such GPU.
    """
    check_device(device)
    _current.device = device


def set_first_device(device: int) -> None:
    """Make a GPU the current one of all threads that have not called ``set_device``."""
    _Current.device = device % driver.device_count()


class StreamHandle(int):
    """The address of a stream, 0 for the default stream, with the number of its GPU."""

    captures = False  # True if all its work becomes a part of graphs, which run on other streams
    device: int
    native: Any  # the stream in the form that the driver's bindings accept fastest

    def __new__(cls, address: int, device: int, native: Any = None) -> StreamHandle:
        handle = super().__new__(cls, address)
        handle.device = device
        handle.native = native
        return handle


@dataclass(frozen=True)
class Properties:
    """Properties of a GPU; sizes are in bytes, clocks in kHz."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_threads_per_multi_processor: int = 2048
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 49152
    shared_memory_per_multiprocessor: int = 49152
    L2_cache_size: int = 0
    clock_rate: int = 0
    memory_clock_rate: int = 0
    memory_bus_width: int = 0
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability."""
        return self.major, self.minor

    def __repr__(self) -> str:
        memory = self.total_memory // 2**20
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={memory}MB, multi_processor_count={self.multi_processor_count})"
        )


#: Number of streams of each priority on a GPU; further requests share them.
POOLED = 32


_lock = threading.RLock()  # reentrant: finalizers that the garbage collector runs here may need a stream
_defaults: dict[int, StreamHandle] = {}
_pools: dict[tuple[int, int], list[StreamHandle]] = {}
_turns: dict[tuple[int, int], Iterator[int]] = {}


#: At most one stream: the first one, other than a default stream, that a thread has made current.  While the list is
#: empty, uses of memory by streams need not be noted.
side_streams: list[StreamHandle] = []


def stream(device: int) -> StreamHandle:
    """Return this thread's current stream of a GPU."""
    try:
        return _current.streams[device]
    except KeyError:
        current = _current.streams[device] = default_stream(device)
        return current


def default_stream(device: int) -> StreamHandle:
    """Return the default stream of a GPU."""
    with _lock:
        if device not in _defaults:
            _defaults[device] = driver.default_stream(device)
        return _defaults[device]


def set_stream(chosen: StreamHandle) -> None:
    """Make a stream this thread's current stream of its GPU."""
    if chosen and not side_streams:
        side_streams.append(chosen)
    _current.streams[chosen.device] = chosen


def with_stream(chosen: StreamHandle, work: Callable[..., Result]) -> Result:
    """Call a function while a stream on which nothing runs is this thread's current stream of its GPU."""
    before = stream(chosen.device)
    _current.streams[chosen.device] = chosen
    try:
        return work()
    finally:
        _current.streams[chosen.device] = before


def current_streams() -> dict[int, StreamHandle]:
    """Return this thread's current streams, by GPU, of the GPUs that it has used."""
    return _current.streams.copy()


def in_order(first: StreamHandle, then: StreamHandle) -> None:
    """Make later work on the stream ``then`` wait for the present work on ``first``."""
    if (first.device, first) != (then.device, then):
        event = driver.create_event(first.device)
        driver.record_event(event, first)
        driver.wait_on_stream(then, event)
        driver.destroy_event(event)


def pooled_stream(device: int, priority: int = 0) -> StreamHandle:
    """Return the next stream of a GPU's pool, in rotation."""
    key = device, priority
    with _lock:
        pool = _pools.setdefault(key, [])
        if len(pool) < POOLED:
            pool.append(driver.create_stream(device, priority))
            return pool[-1]
        return pool[next(_turns.setdefault(key, itertools.cycle(range(POOLED))))]
