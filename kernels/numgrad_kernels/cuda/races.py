"""Races in the simulator: two threads at one element, one of them writing, with nothing that orders them.

Between two threads of a block a barrier orders what they did before it and do after it: ``syncthreads`` for all of
them, ``syncwarp`` for those of a warp, which are 32 as on a GPU.  Nothing orders threads of different blocks.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Accesses", "RaceError", "Watched"]

#: Threads of a warp.
WARP = 32


class RaceError(RuntimeError):
    """Two threads use an element of memory in no certain order."""


class _Access(NamedTuple):
    """Which thread of which block, and how often it had waited for its block and for its warp."""

    block: Any
    thread: int
    waits: int
    warp_waits: int

    def is_apart(self, other: _Access) -> bool:
        """Whether nothing orders the two."""
        if self.block is not other.block:
            return True
        if self.thread == other.thread or self.waits != other.waits:
            return False
        return self.thread // WARP != other.thread // WARP or self.warp_waits == other.warp_waits


class Accesses:
    """What the threads of one launch have read and written, by address."""

    def __init__(self, module: Any):
        self.module = module
        self.written: dict[Any, _Access] = {}
        self.read: dict[Any, set[_Access]] = {}
        self.kept: list[np.ndarray] = []  # so that no memory is at the address of what was there before

    def _now(self) -> _Access:
        thread = self.module.current
        return _Access(self.module.blockIdx, thread.number, thread.waits, thread.warp_waits)

    def note_read(self, address: Any) -> None:
        """A thread reads what is at an address."""
        now, written = self._now(), self.written.get(address)
        if written is not None and now.is_apart(written):
            raise _race("reads", now, "wrote", written)
        self.read.setdefault(address, set()).add(now)

    def note_written(self, address: Any) -> None:
        """A thread writes there."""
        now, written = self._now(), self.written.get(address)
        if written is not None and now.is_apart(written):
            raise _race("writes", now, "wrote", written)
        for read in self.read.pop(address, ()):
            if now.is_apart(read):
                raise _race("writes", now, "read", read)
        self.written[address] = now


def _race(does: str, now: _Access, did: str, other: _Access) -> RaceError:
    frame = sys._getframe(3)  # of the kernel
    return RaceError(
        f"{frame.f_code.co_filename}, line {frame.f_lineno}: thread {now.thread} of block {now.block.x} {does} what "
        f"thread {other.thread} of block {other.block.x} {did}, in no certain order"
    )


class Watched:
    """A row, or memory that a block's threads share.  What is done to ``unwatched`` is no race: atomic instructions."""

    __slots__ = ("_accesses", "_start", "unwatched")

    def __init__(self, array: np.ndarray, accesses: Accesses):
        self.unwatched = array
        self._accesses = accesses
        self._start = array.ctypes.data

    def _address(self, place: Any) -> int:
        array = self.unwatched
        if not 0 <= place < array.size:
            raise IndexError(f"a kernel reaches for element {place} of a row of {array.size}")
        return self._start + int(place) * array.itemsize

    def __getitem__(self, place: Any) -> Any:
        self._accesses.note_read(self._address(place))
        return self.unwatched[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._accesses.note_written(self._address(place))
        self.unwatched[place] = value
