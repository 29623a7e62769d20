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
from .handles import StreamHandle

__all__ = ["copied_on", "is_pinned", "pinned_row"]

#: The smallest block.
SMALLEST = 512


class _Block:
    """Pinned memory, and events after the copies that use it."""

    __slots__ = ("address", "events", "size")

    def __init__(self, address: int, size: int):
        self.address = address
        self.size = size
        self.events: list[Any] = []


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
    block = _take(max(SMALLEST, 1 << (size - 1).bit_length()))
    memory = (ctypes.c_char * block.size).from_address(block.address)
    memory.lent = _Lent(block)  # type: ignore[attr-defined]
    return np.frombuffer(memory, np.uint8)[:size].view(dtype)


def _take(size: int) -> _Block:
    with _lock:
        while _given_back:
            block = _given_back.popleft()
            _idle.setdefault(block.size, deque()).append(block)
        idle = _idle.get(size)
        if idle and all(map(runtime.driver.event_is_done, idle[0].events)):  # the one idle for longest
            block = idle.popleft()
            for event in block.events:
                runtime.driver.destroy_event(event)
            block.events = []
            return block
        block = _Block(runtime.driver.allocate_pinned(size), size)
        _blocks[block.address] = block
        insort(_starts, block.address)
        return block


def _block_of(array: np.ndarray) -> _Block | None:
    """The block that an array lies in, if it lies in one."""
    address = array.ctypes.data
    with _lock:
        place = bisect_right(_starts, address)
        block = _blocks[_starts[place - 1]] if place else None
    return block if block is not None and address + array.nbytes <= block.address + block.size else None


def is_pinned(array: np.ndarray) -> bool:
    """Whether an array lies in pinned memory."""
    return _block_of(array) is not None


def copied_on(array: np.ndarray, stream: StreamHandle) -> None:
    """Note that a copy from or to an array in pinned memory was put on a stream."""
    block = _block_of(array)
    if block is not None:
        event = runtime.driver.create_event(stream.device)
        runtime.driver.record_event(event, stream)
        block.events.append(event)
