"""Which GPUs there are, which one is the current, which driver they are used by, and the streams that work is put on.

Each thread has a current stream for each GPU, the default one at first.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: What runs kernels and keeps memory: ``simulated.py``, ``driver.py`` or ``dry.py``.
driver: Any = None


class _Current(threading.local):
    """The current GPU of a thread, and its current stream of each GPU that it has used."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, StreamHandle] = {}


_current = _Current()


def begin(chosen: Any) -> None:
    """Use this driver from now on."""
    global driver
    driver = chosen


def is_dry() -> bool:
    """Whether nothing is run at all."""
    return driver is not None and driver.__name__.endswith(".dry")


def current_device() -> int:
    """The number of the GPU that new tensors of this thread are made on where none is named."""
    return _current.device


def check_device(device: int) -> None:
    """Raise an error for the number of a GPU that there is not.

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


class StreamHandle(int):
    """The address of a stream, 0 for a GPU's default one, which knows the GPU that it is of."""

    device: int
    own: Any  # the stream as the driver's bindings take it fastest

    def __new__(cls, address: int, device: int, own: Any = None) -> StreamHandle:
        handle = super().__new__(cls, address)
        handle.device = device
        handle.own = own
        return handle


@dataclass(frozen=True)
class Properties:
    """What a GPU is; sizes in bytes, clocks in kHz."""

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


#: How many streams there are of each priority on a GPU; who asks for more shares them.
POOLED = 32


_lock = threading.RLock()  # what the collector of garbage runs here may ask for a stream, too
_defaults: dict[int, StreamHandle] = {}
_pools: dict[tuple[int, int], list[StreamHandle]] = {}
_turns: dict[tuple[int, int], Iterator[int]] = {}


#: A stream that is no GPU's default one and was the current one of some thread: while there is none, nobody need look
#: on which stream memory is used.
side_streams: list[StreamHandle] = []


def stream(device: int) -> StreamHandle:
    """This thread's current stream of a GPU."""
    try:
        return _current.streams[device]
    except KeyError:
        current = _current.streams[device] = default_stream(device)
        return current


def default_stream(device: int) -> StreamHandle:
    """The stream that a GPU has from the beginning."""
    with _lock:
        if device not in _defaults:
            _defaults[device] = driver.default_stream(device)
        return _defaults[device]


def set_stream(chosen: StreamHandle) -> None:
    """Make a stream the current one of its GPU for this thread."""
    if chosen and not side_streams:
        side_streams.append(chosen)
    _current.streams[chosen.device] = chosen


def current_streams() -> dict[int, StreamHandle]:
    """This thread's current streams, by GPU; of one that it has not used there is none."""
    return _current.streams.copy()


def in_order(first: StreamHandle, then: StreamHandle) -> None:
    """Let work that is put on a stream from now on wait for what is on another."""
    if (first.device, first) != (then.device, then):
        event = driver.create_event(first.device)
        driver.record_event(event, first)
        driver.wait_on_stream(then, event)
        driver.destroy_event(event)


def pooled_stream(device: int, priority: int = 0) -> StreamHandle:
    """A stream from the GPU's pool; the streams of the pool take turns."""
    key = device, priority
    with _lock:
        pool = _pools.setdefault(key, [])
        if len(pool) < POOLED:
            pool.append(driver.create_stream(device, priority))
            return pool[-1]
        return pool[next(_turns.setdefault(key, itertools.cycle(range(POOLED))))]
