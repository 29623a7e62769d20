"""Races in the simulator: two threads access one element without ordering, at least one of them writing.

A barrier orders the accesses of two threads of a block before and after it: ``syncthreads`` those of all threads,
``syncwarp`` those of a warp, which has 32 threads as on a GPU.  Threads of different blocks are unordered in general.
But accesses before a fence, followed by an atomic instruction of that thread, precede those of threads that have used
an atomic instruction since.

Three cases are not races: threads that write the same number, concurrent atomic instructions, and the read of a number
that the same thread then updates atomically (as before a ``compare and swap``).
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

#: Threads of a warp.
WARP = 32

#: Number of memory accesses after which a thread lets others run, since it may be waiting for them.
PATIENCE = 10_000

_PAST = {"reads": "read", "writes": "wrote", "updates": "updated"}


class RaceError(RuntimeError):
    """Two threads access an element of memory without a defined order."""


class _Access(NamedTuple):
    """An access: its thread, the barriers the thread has passed (of its block and its warp), the time, and the line."""

    thread: Any
    waits: int
    warp_waits: int
    time: int
    line: int

    def is_apart(self, later: _Access) -> bool:
        """Return True if nothing orders the two accesses."""
        thread, other = self.thread, later.thread
        if thread.block is not other.block:
            return not (thread.block.published > self.time and other.block.acquired > self.time)
        if thread is other or self.waits != later.waits:
            return False
        if thread.warp == other.warp and self.warp_waits != later.warp_waits:
            return False
        return not (thread.published > self.time and other.acquired > self.time)


class _Uses:
    """The last use of an element by each thread of the newest block, and by one of an older block."""

    __slots__ = ("latest", "older")

    def __init__(self) -> None:
        self.latest: dict[int, _Access] = {}
        self.older: _Access | None = None

    def add(self, now: _Access) -> None:
        before = self.latest.get(now.thread.number)
        if before is not None and before.thread.block is not now.thread.block:
            self.older = before
        self.latest[now.thread.number] = now


def _apart(uses: _Uses | None, now: _Access) -> _Access | None:
    """Return one of the uses that is not ordered with ``now``, or None."""
    if uses is None:
        return None
    if uses.older is not None and uses.older.is_apart(now):
        return uses.older
    for use in uses.latest.values():
        if use.is_apart(now):
            return use
    return None


class _Element:
    """The last write of an element, and the reads and atomic updates since."""

    __slots__ = ("reads", "updates", "written")

    def __init__(self) -> None:
        self.written: _Access | None = None
        self.reads: _Uses | None = None
        self.updates: _Uses | None = None


class Accesses:
    """The reads and writes of the threads of one launch, by address."""

    def __init__(self, module: Any):
        self.module = module
        self.elements: dict[int, _Element] = {}
        self.pending: dict[Any, RaceError] = {}  # reads of elements that others update, unless the reader does so
        self.time = 0  # counts fences and atomic instructions

    def _use(self, address: int, frame: Any) -> tuple[_Element, _Access]:
        element = self.elements.get(address)
        if element is None:
            element = self.elements[address] = _Element()
        thread = self.module.current
        thread.uses += 1
        if not thread.uses % PATIENCE:
            self.module.let_others()
        return element, _Access(thread, thread.waits, thread.warp_waits, self.time, frame.f_lineno)

    def read(self, array: WatchedArray, index: Any, frame: Any) -> None:
        """Record that the current thread reads an element, in this frame."""
        address = array.address(index)
        element, now = self._use(address, frame)
        written, updated = element.written, _apart(element.updates, now)
        if written is not None and written.is_apart(now):
            raise _race(array, index, frame, now, "reads", written, "writes")
        if updated is not None:
            self.pending[address, now.thread] = _race(array, index, frame, now, "reads", updated, "updates")
        if element.reads is None:
            element.reads = _Uses()
        element.reads.add(now)

    def write(self, array: WatchedArray, index: Any, frame: Any, before: Any) -> None:
        """Record that the current thread has written an element, which was ``before``."""
        element, now = self._use(array.address(index), frame)
        for uses, did in ((element.reads, "reads"), (element.updates, "updates")):
            other = _apart(uses, now)
            if other is not None:
                raise _race(array, index, frame, now, "writes", other, did)
        written = element.written
        if written is not None and written.is_apart(now):
            if array.unwatched[index].tobytes() != before.tobytes():
                raise _race(array, index, frame, now, "writes", written, "writes")
            return  # the first write is kept for comparison with other accesses
        element.written, element.reads, element.updates = now, None, None

    def update(self, array: WatchedArray, index: Any, frame: Any) -> None:
        """Record that the current thread is about to run an atomic instruction on an element."""
        address = array.address(index)
        element, now = self._use(address, frame)
        thread, written = now.thread, element.written
        if written is not None and written.is_apart(now):
            raise _race(array, index, frame, now, "updates", written, "writes")
        self.pending.pop((address, thread), None)
        if element.reads is not None:
            element.reads.latest.pop(thread.number, None)
            read = _apart(element.reads, now)
            if read is not None:
                self.pending[address, read.thread] = _race(array, index, frame, now, "updates", read, "reads")
        if element.updates is None:
            element.updates = _Uses()
        element.updates.add(now)
        thread.published = thread.fenced
        thread.block.published = max(thread.block.published, thread.fenced)
        self.time += 1
        thread.acquired = thread.block.acquired = self.time

    def fence(self) -> None:
        """Record a fence: threads that see later accesses of this thread see the earlier ones, too."""
        self.time += 1
        self.module.current.fenced = self.time

    def forget(self, array: np.ndarray) -> None:
        """Forget the accesses to an array whose memory will be reused."""
        start = array.__array_interface__["data"][0]
        for address in range(start, start + array.nbytes):
            self.elements.pop(address, None)

    def end_interval(self) -> None:
        """Raise pending errors, once all threads of a block have reached a barrier or the end."""
        for error in self.pending.values():
            raise error


def _race(array: WatchedArray, index: Any, frame: Any, now: _Access, does: str, other: _Access, did: str) -> RaceError:
    name = next((name for name, value in frame.f_locals.items() if value is array), "memory")
    index = ", ".join(map(str, index)) if isinstance(index, tuple) else index
    if now.thread.block is other.thread.block:
        who, order = str(other.thread), "with no barrier between the two: is cuda.syncthreads() missing?"
    else:
        who, order = f"{other.thread} of block {other.thread.block}", "and blocks run in no certain order"
    return RaceError(
        f"{frame.f_code.co_filename}, line {now.line}: {now.thread} of block {now.thread.block} {does} "
        f"{name}[{index}], which {who} {_PAST[did]} in line {other.line}, {order}"
    )


class WatchedArray:
    """A watched array in a kernel: an argument, or memory shared by the threads of a block."""

    __slots__ = ("_accesses", "_start", "unwatched")

    #: Number of Python calls between a kernel and an access.
    _depth = 1

    def __init__(self, array: np.ndarray, accesses: Accesses):
        self.unwatched = array
        self._accesses = accesses
        self._start = array.__array_interface__["data"][0]

    def address(self, index: Any) -> int:
        """Return the address of an element."""
        address, array = self._start, self.unwatched
        indices = index if isinstance(index, tuple) else (index,)
        for index, size, stride in zip(indices, array.shape, array.strides, strict=True):
            address += (int(index) + size if index < 0 else int(index)) * stride
        return address

    def updated(self, index: Any, depth: int) -> np.ndarray:
        """Record an atomic instruction on an element, ``depth`` calls below the kernel, and return the array."""
        self._accesses.update(self, index, sys._getframe(depth))
        return self.unwatched

    def __getitem__(self, index: Any) -> Any:
        result = self.unwatched[index]
        if isinstance(result, np.ndarray):
            return WatchedArray(result, self._accesses)
        self._accesses.read(self, index, sys._getframe(self._depth))
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        frame, before = sys._getframe(self._depth), self.unwatched[index]
        if not isinstance(before, np.ndarray):
            self.unwatched[index] = value
            self._accesses.write(self, index, frame, before)
            return
        part, old = WatchedArray(before, self._accesses), before.copy()
        part.unwatched[...] = value.all_read(frame) if isinstance(value, WatchedArray) else value
        part._all_written(frame, old)

    def all_read(self, frame: Any) -> np.ndarray:
        """Record that the whole array is read in this frame, and return it."""
        for index in np.ndindex(self.unwatched.shape):
            self._accesses.read(self, index, frame)
        return self.unwatched

    def _all_written(self, frame: Any, before: np.ndarray) -> None:
        for index in np.ndindex(self.unwatched.shape):
            self._accesses.write(self, index, frame, before[index])

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        frame = sys._getframe(1)
        inputs = tuple(value.all_read(frame) if isinstance(value, WatchedArray) else value for value in inputs)
        written = [value for value in out if isinstance(value, WatchedArray)]
        before = [value.unwatched.copy() for value in written]
        if out:
            options["out"] = tuple(value.unwatched if isinstance(value, WatchedArray) else value for value in out)
        result = getattr(function, method)(*inputs, **options)
        for value, old in zip(written, before, strict=True):
            value._all_written(frame, old)
        return result

    def __len__(self) -> int:
        return len(self.unwatched)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.unwatched, name)
        if callable(value):
            return lambda *arguments, **options: self._part(value(*arguments, **options))
        return self._part(value)

    def _part(self, value: Any) -> Any:
        return WatchedArray(value, self._accesses) if isinstance(value, np.ndarray) else value


def _within(array: np.ndarray, index: Any) -> Any:
    if not 0 <= index < array.size:
        raise IndexError(f"a kernel accesses element {index} of a buffer of {array.size}")
    return index


class CheckedBuffer:
    """A buffer of elements in one of numgrad's kernels, which raises an error for indices outside of it."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray):
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return self._array[_within(self._array, index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[_within(self._array, index)] = value


class WatchedBuffer(WatchedArray):
    """A watched buffer."""

    __slots__ = ()
    _depth = 2

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(_within(self.unwatched, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(_within(self.unwatched, index), value)
