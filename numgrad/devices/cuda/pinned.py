"""Pinned memory of the host, which the system leaves where it is: GPUs copy from it and to it while programs go on.

Getting it takes long, so blocks that come back are kept for others of their size, a power of two; a block that copies
may still be reading or writing waits for these.
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


class _Block:
    """Pinned memory, and an event after the last copy on each stream that uses it, by GPU and the stream's address."""

    __slots__ = ("address", "events", "size", "spare")

    def __init__(self, address: int, size: int):
        self.address = address
        self.size = size
        self.events: dict[tuple[int, int], Any] = {}
        self.spare: dict[int, Any] = {}  # an event that has come, for each GPU

    def is_done(self) -> bool:
        """Whether the copies have been made."""
        return all(runtime.driver.event_is_done(event) for event in [*self.events.values()])

    def forget_copies(self) -> None:
        """Keep one event of those that have come for the next copy."""
        for (device, _), event in self.events.items():
            if self.spare.setdefault(device, event) is not event:
                runtime.driver.destroy_event(event)
        self.events.clear()

    def copied_on(self, stream: StreamHandle) -> None:
        """Note that a copy was put on a stream."""
        key = stream.device, int(stream)
        event = self.events.get(key) or self.spare.pop(stream.device, None)
        if event is None:
            event = runtime.driver.create_event(stream.device)
        runtime.driver.record_event(event, stream)
        self.events[key] = event


_lock = threading.RLock()
_given_back: deque[_Block] = deque()


class _Lent:
    """A block that arrays lie in, which is given back when none does any more."""

    __slots__ = ("block",)

    def __init__(self, block: _Block):
        self.block = block

    def __del__(self, give_back: Callable[[_Block], None] = _given_back.append) -> None:
        give_back(self.block)


_idle: dict[int, deque[_Block]] = {}
_starts: list[int] = []
_blocks: dict[int, _Block] = {}


def pinned_row(count: int, dtype: np.dtype) -> np.ndarray:
    """An uninitialised row of elements in pinned memory."""
    size = count * dtype.itemsize
    block = _take(size)
    memory = (ctypes.c_char * block.size).from_address(block.address)
    memory.lent = _Lent(block)  # type: ignore[attr-defined]
    return np.frombuffer(memoryview(memory), np.uint8)[:size].view(dtype)


def _take(count: int) -> _Block:
    """A block of at least so many bytes."""
    size = max(SMALLEST, 1 << (count - 1).bit_length())
    with _lock:
        _take_back()
        idle = _idle.get(size)
        if idle and idle[0].is_done():  # the one idle for longest
            block = idle.popleft()
            block.forget_copies()
            return block
        try:
            address = runtime.driver.allocate_pinned(size)
        except MemoryError:
            _release_idle()
            address = runtime.driver.allocate_pinned(size)
        block = _blocks[address] = _Block(address, size)
        insort(_starts, address)
        return block


def _take_back() -> None:
    while _given_back:
        block = _given_back.popleft()
        _idle.setdefault(block.size, deque()).append(block)


def _release_idle() -> None:
    """Give the blocks that nothing uses back, once their copies have been made."""
    _take_back()
    for idle in _idle.values():
        while idle:
            block = idle.popleft()
            for event in block.events.values():
                runtime.driver.wait_for_event(event)
            block.forget_copies()
            for event in block.spare.values():
                runtime.driver.destroy_event(event)
            del _blocks[block.address]
            _starts.remove(block.address)
            runtime.driver.free_pinned(block.address)


def block_of(array: np.ndarray) -> _Block | None:
    """The block of pinned memory that an array lies in, if it lies in one."""
    address = array.ctypes.data
    with _lock:
        index = bisect_right(_starts, address)
        block = _blocks[_starts[index - 1]] if index else None
    return block if block is not None and address + array.nbytes <= block.address + block.size else None


def stage(array: np.ndarray, target: int, stream: StreamHandle) -> None:
    """Copy an array to a GPU by way of pinned memory: it may change at once."""
    block = _take(array.nbytes)
    ctypes.memmove(block.address, array.ctypes.data, array.nbytes)
    runtime.driver.copy_to_device(target, block.address, array.nbytes, stream)
    block.copied_on(stream)
    _given_back.append(block)
