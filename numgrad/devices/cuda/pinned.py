"""Pinned memory of the host, which the system does not move: GPUs copy from and to it asynchronously.

Its allocation is slow, so freed blocks are kept for later ones of the same size, a power of two.  A block is reused
only after the copies that read or write it.
"""

from __future__ import annotations

import ctypes
import threading
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from . import runtime
from .runtime import StreamHandle

#: The smallest block.
SMALLEST = 512


class _PinnedBlock:
    """A block of pinned memory, with an event after its last copy on each stream (by GPU and address)."""

    __slots__ = ("address", "events", "idle_events", "size")

    def __init__(self, address: int, size: int):
        self.address = address
        self.size = size
        self.events: dict[tuple[int, int], Any] = {}
        self.idle_events: dict[int, Any] = {}  # an event that has occurred, for each GPU

    def is_done(self) -> bool:
        """Return True if the copies are complete."""
        return all(runtime.driver.event_is_done(event) for event in [*self.events.values()])

    def forget_copies(self) -> None:
        """Remove the events, which have occurred, and keep one of each GPU for the next copy."""
        for (device, _), event in self.events.items():
            if self.idle_events.setdefault(device, event) is not event:
                runtime.driver.destroy_event(event)
        self.events.clear()

    def copied_on(self, stream: StreamHandle) -> None:
        """Note that a copy is on a stream."""
        key = stream.device, int(stream)
        event = self.events.get(key) or self.idle_events.pop(stream.device, None)
        if event is None:
            event = runtime.driver.create_event(stream.device)
        runtime.driver.record_event(event, stream)
        self.events[key] = event


_lock = threading.RLock()
_returned: deque[_PinnedBlock] = deque()


class _PinnedUse:
    """Use of a block by arrays, which returns the block after the last one."""

    __slots__ = ("block",)

    def __init__(self, block: _PinnedBlock):
        self.block = block

    def __del__(self, return_block: Callable[[_PinnedBlock], None] = _returned.append) -> None:
        return_block(self.block)


_idle: dict[int, deque[_PinnedBlock]] = {}
_starts: list[int] = []
_blocks: dict[int, _PinnedBlock] = {}


def pinned_buffer(count: int, dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised buffer in pinned memory."""
    size = count * dtype.itemsize
    block = _take(size)
    memory = (ctypes.c_char * block.size).from_address(block.address)
    memory.use = _PinnedUse(block)  # type: ignore[attr-defined]
    return np.frombuffer(memoryview(memory), np.uint8)[:size].view(dtype)


def _take(count: int) -> _PinnedBlock:
    """Return a block of at least ``count`` bytes."""
    size = max(SMALLEST, 1 << (count - 1).bit_length())
    with _lock:
        _take_back()
        idle = _idle.get(size)
        if idle and idle[0].is_done():  # the first has been idle for longest
            block = idle.popleft()
            block.forget_copies()
            return block
        try:
            address = runtime.driver.allocate_pinned(size)
        except MemoryError:
            _release_idle()
            address = runtime.driver.allocate_pinned(size)
        block = _blocks[address] = _PinnedBlock(address, size)
        insort(_starts, address)
        return block


def _take_back() -> None:
    while _returned:
        block = _returned.popleft()
        _idle.setdefault(block.size, deque()).append(block)


def _release_idle() -> None:
    """Free the idle blocks, after their copies."""
    _take_back()
    for idle in _idle.values():
        while idle:
            block = idle.popleft()
            for event in block.events.values():
                runtime.driver.wait_for_event(event)
            block.forget_copies()
            for event in block.idle_events.values():
                runtime.driver.destroy_event(event)
            del _blocks[block.address]
            _starts.remove(block.address)
            runtime.driver.free_pinned(block.address)


def block_of(array: np.ndarray) -> _PinnedBlock | None:
    """Return the block of pinned memory that contains an array; None if there is none."""
    address = array.ctypes.data
    with _lock:
        index = bisect_right(_starts, address)
        block = _blocks[_starts[index - 1]] if index else None
    return block if block is not None and address + array.nbytes <= block.address + block.size else None


def stage(array: np.ndarray, target: int, stream: StreamHandle) -> None:
    """Copy an array to a GPU through pinned memory, so that the array may change at once."""
    block = _take(array.nbytes)
    ctypes.memmove(block.address, array.ctypes.data, array.nbytes)
    runtime.driver.copy_to_device(target, block.address, array.nbytes, stream)
    block.copied_on(stream)
    _returned.append(block)
