"""GPU kernels in plain Python: Numba's simulator with another way of running a block's threads.

Numba's simulator starts all threads at once and polls which of them wait at a barrier.  Since most threads finish
before the next one begins, a missing barrier has no effect.  Here one thread runs at a time, until it ends or reaches a
barrier, in an order that changes at every barrier.  In users' kernels every access to memory is watched, and two
threads that access one element, one of them writing, with no barrier in between are an error (``races``).  Shared
memory begins as garbage.  An index outside of an array raises an error, and so does a barrier that not all threads
reach.  In these respects the simulator is stricter than a GPU.
"""

from __future__ import annotations

import contextlib
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
from numba.core import types
from numba.cuda.np import numpy_support
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAAtomic, FakeCUDAModule

from .races import WARP, Accesses, CheckedBuffer, RaceError, WatchedArray, WatchedBuffer

#: True to detect races in numgrad's own kernels, too, which takes some five times as long.
watch_races = False

#: Source of the order in which the threads of a block run.
_order = random.Random(0)

_barriers = frozenset({
    "match_any_sync", "shfl_sync", "shfl_xor_sync", "syncthreads", "syncthreads_and", "syncthreads_count",
    "syncthreads_or", "syncwarp",
})


def run(function: Callable[..., None], blocks: int, threads: int, arguments: Sequence[Any]) -> None:
    """Run one of numgrad's kernels in ``blocks`` blocks of ``threads`` threads.

    Its buffers are passed as arrays, which are changed in place.
    """
    module = CudaModule((blocks, 1, 1), (threads, 1, 1), watch_races)
    function.__globals__["cuda"] = module
    accesses = module.accesses
    buffers = [
        value if not isinstance(value, np.ndarray)
        else CheckedBuffer(value) if accesses is None
        else WatchedBuffer(value, accesses)
        for value in arguments
    ]

    def work() -> None:
        with np.errstate(all="ignore"):
            function(*buffers)

    module.work = work
    module.run(waits=not _barriers.isdisjoint(function.__code__.co_names))


def runs_a_kernel() -> bool:
    """Return True if the caller is a kernel."""
    return isinstance(threading.current_thread(), _Worker)


class _ThreadBlock:
    """A block of threads, and the times of its fences and atomic instructions (see ``races``)."""

    def __init__(self, index: Dim3, name: str):
        self.index = index
        self.name = name
        self.arrays: dict[Any, np.ndarray] = {}  # in shared memory
        self.votes: dict[int, list[bool]] = {}
        self.exchanges: dict[tuple[int, int], dict[int, Any]] = {}  # values by lane, for each shuffle of a warp
        self.published = self.acquired = 0

    def __str__(self) -> str:
        return self.name


class _Thread:
    """A thread of a block, and how often it has waited for its block and for its warp."""

    def __init__(self, block: _ThreadBlock, index: Dim3, number: int, name: str):
        self.block = block
        self.index = index
        self.number = number
        self.warp = number // WARP
        self.name = name
        self.waits = self.warp_waits = 0
        #: The barrier at which it waits: its scope, the threads that must reach it, and the line.
        self.barrier: Any = None
        self.worker: _Worker | None = None  # runs the thread, from its beginning to its end
        self.uses = 0  # number of accesses to memory
        self.fenced = self.published = self.acquired = 0

    def __str__(self) -> str:
        return f"thread {self.name}"


class CudaModule(FakeCUDAModule):
    """The ``cuda`` module of a kernel that runs in ``blocks`` blocks of ``threads`` threads."""

    current: _Thread
    work: Callable[[], None]
    _block: _ThreadBlock | None = None

    def __init__(self, blocks: Sequence[int], threads: Sequence[int], watches: bool, dynamic: int = 0):
        super().__init__(blocks, threads, dynamic)
        self.blocks, self.threads = _positions(blocks), _positions(threads)
        self.dynamic = dynamic
        self.workers: list[_Worker] = []
        self.idle: list[_Worker] = []
        self.fresh: list[_Thread] = []  # threads that have not begun
        self.back: SimpleQueue[bool] = SimpleQueue()
        self.error: BaseException | None = None
        self.accesses = Accesses(self) if watches else None

    def run(self, waits: bool) -> None:
        """Run the threads of all blocks, without Python threads if no thread ``waits`` at a barrier."""
        try:
            for at, block_name in self.blocks:
                self._forget_shared_memory()
                block = self._block = _ThreadBlock(at, block_name)
                everyone = [_Thread(block, at, number, name) for number, (at, name) in enumerate(self.threads)]
                _order.shuffle(everyone)
                if waits:
                    self._take_turns(everyone)
                    continue
                for self.current in everyone:
                    self.work()
                self._end_interval()
        finally:
            for worker in self.workers:
                worker.stop()

    def _forget_shared_memory(self) -> None:
        """Forget the accesses to the previous block's memory, which will be reused."""
        if self._block is not None and self.accesses is not None:
            for array in self._block.arrays.values():
                self.accesses.forget(array)

    def _end_interval(self) -> None:
        if self.accesses is not None:
            self.accesses.end_interval()

    def _take_turns(self, everyone: list[_Thread]) -> None:
        """Run the threads of a block, one at a time, from barrier to barrier."""
        self.fresh = everyone.copy()
        while self.fresh:
            self._go_on(self.idle.pop() if self.idle else _Worker(self))
        alive = [thread for thread in everyone if thread.worker is not None]
        while alive:
            ready = _released(alive)
            if ready[0].barrier[0] == "block":
                self._end_interval()
            _order.shuffle(ready)
            for self.current in ready:
                self._go_on(self.current.worker)
            alive = [thread for thread in alive if thread.worker is not None]
        self._end_interval()

    def _go_on(self, worker: Any) -> None:
        worker.turns.put(True)
        self.back.get()
        if self.error is not None:
            raise self.error

    @property
    def threadIdx(self) -> Dim3:
        return self.current.index

    @property
    def blockIdx(self) -> Dim3:
        return self.current.block.index

    @property
    def laneid(self) -> int:
        return self.current.number % WARP

    @property
    def shared(self) -> Any:
        return _Memory(self._shared_array)

    @property
    def local(self) -> Any:
        return _Memory(_garbage)

    @property
    def cg(self) -> Any:
        return self

    @property
    def atomic(self) -> Any:
        return _atomic

    def this_grid(self) -> Any:
        """Return the group of all threads; they can only wait for one another if they are one block."""
        return self

    def watched(self, array: np.ndarray) -> Any:
        """Return the form of an array in a kernel."""
        return array if self.accesses is None else WatchedArray(array, self.accesses)

    def _shared_array(self, shape: Any, dtype: Any) -> Any:
        """Return shared memory: one array for all threads of a block that request it at the same point of the text.

        A request without a size returns all of the block's dynamic memory, which the launch specifies.
        """
        frame, arrays = sys._getframe(2), self.current.block.arrays
        if shape != 0:
            array = arrays.get((frame.f_code, frame.f_lasti))
            if array is None:
                array = arrays[frame.f_code, frame.f_lasti] = _garbage(shape, dtype)
            return self.watched(array)
        array = arrays.get(None)
        if array is None:
            array = arrays[None] = _garbage(self.dynamic, np.uint8)
        element = _dtype(dtype)
        return self.watched(array[: self.dynamic // element.itemsize * element.itemsize].view(element))

    def syncthreads(self) -> None:
        """Wait for the other threads of the block."""
        self._wait("block", None)

    sync = syncthreads

    def syncwarp(self, mask: int = 0xFFFFFFFF) -> None:
        """Wait for the other threads of the warp that are in the mask."""
        self._wait("warp", (self.current.warp, int(mask)))

    def syncthreads_count(self, value: Any) -> int:
        """Wait for the other threads of the block; return the number of threads whose value is true."""
        return sum(self._votes(value))

    def syncthreads_and(self, value: Any) -> int:
        """Wait for the other threads of the block; return 1 if all their values are true, else 0."""
        return int(all(self._votes(value)))

    def syncthreads_or(self, value: Any) -> int:
        """Wait for the other threads of the block; return 1 if one of their values is true, else 0."""
        return int(any(self._votes(value)))

    def _votes(self, value: Any) -> list[bool]:
        votes = self.current.block.votes.setdefault(self.current.waits, [])
        votes.append(bool(value))
        self._wait("block", None, 3)
        return votes

    def shfl_sync(self, mask: int, value: Any, lane: int) -> Any:
        """Return the value of a lane of the warp."""
        return self._exchanged(mask, value)[lane]

    def shfl_xor_sync(self, mask: int, value: Any, lane_mask: int) -> Any:
        """Return the value of the lane whose number differs in the bits of ``lane_mask``."""
        return self._exchanged(mask, value)[self.current.number % WARP ^ lane_mask]

    def match_any_sync(self, mask: int, value: Any) -> int:
        """Return the mask of the lanes of the warp that have this value."""
        return sum([1 << lane for lane, other in self._exchanged(mask, value).items() if other == value])

    def _exchanged(self, mask: int, value: Any) -> dict[int, Any]:
        """Return the values of the lanes of the warp, by their numbers."""
        thread = self.current
        values = thread.block.exchanges.setdefault((thread.warp, thread.warp_waits), {})
        values[thread.number % WARP] = value
        self._wait("warp", (thread.warp, int(mask)), 3)
        return values

    def _wait(self, others: str, which: Any, depth: int = 2) -> None:
        thread = self.current
        thread.waits += others == "block"
        thread.warp_waits += 1
        self._pause((others, which, sys._getframe(depth).f_lineno))

    def let_others(self) -> None:
        """Let other threads run, for which this one may be waiting without a barrier."""
        if runs_a_kernel():
            self._pause(("nobody", None, 0))

    def _pause(self, barrier: Any) -> None:
        worker: Any = threading.current_thread()
        self.current.barrier = barrier
        self.back.put(True)
        worker.wait()

    def threadfence(self) -> None:
        """Order this thread's earlier accesses before its later ones, for all other threads."""
        if self.accesses is not None:
            self.accesses.fence()

    threadfence_block = threadfence_system = threadfence


class _Memory:
    """Factory of arrays in a kernel: ``cuda.shared`` and ``cuda.local``."""

    def __init__(self, make: Callable[[Any, Any], Any]):
        self._make = make

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """Return an array with arbitrary contents."""
        return self._make(shape, dtype)


class _Atomic:
    """The atomic instructions of users' kernels."""

    def __getattr__(self, name: str) -> Any:
        instruction = getattr(_instructions, name)

        def run(array: Any, *arguments: Any) -> Any:
            if isinstance(array, WatchedArray):
                index = (0,) * array.ndim if name == "compare_and_swap" else arguments[0]
                array = array.updated(index, 2)
            return instruction(array, *arguments)

        return run


_instructions, _atomic = FakeCUDAAtomic(), _Atomic()


class _Stopped(BaseException):
    """Another thread has failed."""


class _Worker(threading.Thread):
    """A Python thread that runs threads of a block until one of them reaches a barrier, and continues it later."""

    def __init__(self, module: CudaModule):
        super().__init__(daemon=True)
        self.module = module
        self.turns: SimpleQueue[bool] = SimpleQueue()
        module.workers.append(self)
        self.start()

    def run(self) -> None:
        module = self.module
        with contextlib.suppress(_Stopped):
            while True:
                self.wait()
                while module.fresh and module.error is None:
                    thread = module.current = module.fresh.pop()
                    thread.worker = self
                    try:
                        module.work()
                    except _Stopped:
                        raise
                    except BaseException as error:
                        if not isinstance(error, RaceError):
                            error.add_note(f"in {thread} of block {thread.block}")
                        module.error = error
                    thread.worker = None
                module.idle.append(self)
                module.back.put(True)

    def wait(self) -> None:
        """Wait for a turn."""
        if not self.turns.get():
            raise _Stopped

    def stop(self) -> None:
        """End the thread at the point where it waits."""
        self.turns.put(False)
        self.join(1)


def _released(waiting: list[_Thread]) -> list[_Thread]:
    """Return the waiting threads of a block that may continue: all those they wait for have reached the same barrier.

    Raises:
        RuntimeError: no thread may continue.
    """
    come = Counter(thread.barrier for thread in waiting)
    complete = {barrier for barrier, number in come.items() if number == _awaited(barrier, waiting, number)}
    if waiting and not complete:
        lines = sorted({line for _, _, line in come})
        raise RuntimeError(f"the threads of a block wait in different lines of the kernel's text: {lines}")
    return [thread for thread in waiting if thread.barrier in complete]


def _awaited(barrier: Any, waiting: list[_Thread], come: int) -> int:
    """Return the number of threads that must reach a barrier."""
    others, which, _ = barrier
    if others == "block":
        return len(waiting)
    if others == "warp":
        warp, mask = which
        return sum(thread.warp == warp and mask >> thread.number % WARP & 1 for thread in waiting)
    return come


def _garbage(shape: Any, dtype: Any) -> np.ndarray:
    """Return an array of obviously invalid numbers: NaN, or integers far from zero."""
    element = _dtype(dtype)
    if element.kind in "fc":
        return np.full(shape, np.nan, element)
    size = int(np.prod(shape)) * element.itemsize
    return np.full(size, 0xA5, np.uint8).view(element).reshape(shape)


def _dtype(dtype: Any) -> np.dtype:
    return np.dtype(numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else dtype)


def _positions(extents: Sequence[int]) -> list[tuple[Dim3, str]]:
    """Return the indices in a block or a grid, x first, and the name of each in messages."""
    flat = extents[1] == extents[2] == 1
    return [
        (Dim3(x, y, z), str(x) if flat else f"({x}, {y}, {z})") for z, y, x in np.ndindex(*reversed(extents))
    ]
