"""Kernels for GPUs run in plain Python, by Numba's simulator with another way of running a block's threads.

Numba's runs them all at once, and asks again and again which of them wait at a barrier, which takes milliseconds.  Here
one thread runs at a time, until it ends or comes to a barrier; the order is another between any two barriers, so that
what depends on it, because a barrier is missing, comes out differently.  Shared memory begins as garbage; an index
outside of a row raises an error, and so does a barrier that not all come to, and, if they are watched, a race: in this
the simulator is stricter than a GPU.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAModule

from .races import Accesses, Watched

__all__ = ["run"]

#: Whether races are looked for, which takes three times as long; see ``races.py``.
watch_races = False

#: Whose order the threads of a block run in.
_order = random.Random(0)


def run(function: Callable[..., None], blocks: Sequence[int], threads: Sequence[int], arguments: Sequence[Any]) -> None:
    """Run a kernel in ``blocks`` blocks of ``threads`` threads, three numbers each; arrays are changed in place."""
    module = _Module(blocks, threads)
    function.__globals__["cuda"] = module
    given = [module.row(value) if isinstance(value, np.ndarray) else value for value in arguments]
    waits = not {"syncthreads", "syncwarp"}.isdisjoint(function.__code__.co_names)

    def work() -> None:
        with np.errstate(all="ignore"):
            function(*given)

    for z, y, x in np.ndindex(blocks[2], blocks[1], blocks[0]):
        module.begin_block(Dim3(x, y, z))
        indices = np.ndindex(threads[2], threads[1], threads[0])
        everyone = [_Thread(Dim3(i, j, k), number) for number, (k, j, i) in enumerate(indices)]
        _order.shuffle(everyone)
        if waits:
            _take_turns(module, everyone, work)
        else:
            for thread in everyone:
                module.current = thread
                work()


class _Row:
    """A row of elements as a kernel sees it: it may reach no others."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray):
        self._array = array

    def _place(self, place: Any) -> Any:
        if not 0 <= place < self._array.size:
            raise IndexError(f"a kernel reaches for element {place} of a row of {self._array.size}")
        return place

    def __getitem__(self, place: Any) -> Any:
        return self._array[self._place(place)]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._array[self._place(place)] = value


class _Thread:
    """A thread of a block; ``turn`` is held while it must wait."""

    def __init__(self, index: Dim3, number: int):
        self.index = index
        self.number = number
        self.waits = 0  # how often it has waited for its block, and for its warp
        self.warp_waits = 0
        self.barrier: Any = None  # that it last came to
        self.arrays = 0  # of shared memory that it has asked for
        self.turn = threading.Lock()
        self.waiting = False
        self.error: BaseException | None = None


class _Module(FakeCUDAModule):
    """What ``cuda`` is in a kernel."""

    current: _Thread

    def __init__(self, blocks: Sequence[int], threads: Sequence[int]):
        super().__init__(blocks, threads, 0)
        self.back = threading.Lock()
        self.back.acquire()
        self.stopping = False
        self.accesses = Accesses(self) if watch_races else None

    def row(self, array: np.ndarray) -> Any:
        """What stands for a row in a kernel."""
        return _Row(array) if self.accesses is None else Watched(array, self.accesses)

    def begin_block(self, index: Dim3) -> None:
        """Go on with a new block, whose shared memory nobody has written to."""
        self.block = index
        self.arrays: list[np.ndarray] = []

    @property
    def threadIdx(self) -> Dim3:
        return self.current.index

    @property
    def blockIdx(self) -> Dim3:
        return self.block

    @property
    def shared(self) -> Any:
        return self

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """Shared memory: the same for the first array that each thread of a block asks for, and so on."""
        thread = self.current
        if thread.arrays == len(self.arrays):
            fresh = np.empty(shape, dtype)
            fresh.view(np.uint8).fill(0xA5)
            self.arrays.append(fresh)
            if self.accesses is not None:
                self.accesses.kept.append(fresh)
        thread.arrays += 1
        own = self.arrays[thread.arrays - 1]
        return own if self.accesses is None else Watched(own, self.accesses)

    def syncthreads(self) -> None:
        """Wait for the other threads of the block."""
        self.current.waits += 1
        self._wait("block", sys._getframe(1).f_lineno)

    def syncwarp(self) -> None:
        """Wait for the other threads of the warp: for those of the block, all of which come to such a barrier."""
        self._wait("warp", sys._getframe(1).f_lineno)

    def _wait(self, others: str, line: int) -> None:
        thread = self.current
        thread.warp_waits += 1
        thread.barrier = others, line
        thread.waiting = True
        self.back.release()
        thread.turn.acquire()
        if self.stopping:
            raise SystemExit


def _take_turns(module: _Module, everyone: list[_Thread], work: Callable[[], None]) -> None:
    """Run the threads of a block, one at a time, from barrier to barrier."""

    def live(thread: _Thread) -> None:
        thread.turn.acquire()
        try:
            if not module.stopping:
                work()
        except SystemExit:
            pass
        except BaseException as error:
            thread.error = error
        thread.waiting = False
        module.back.release()

    def step(thread: _Thread) -> None:
        module.current = thread
        thread.turn.release()
        module.back.acquire()

    for thread in everyone:
        thread.turn.acquire()
        threading.Thread(target=live, args=(thread,), daemon=True).start()
    alive = everyone
    error: BaseException | None = None
    while alive:
        for thread in alive:
            step(thread)
            error = error or thread.error
            module.stopping = error is not None
        alive = [thread for thread in alive if thread.waiting]
        barriers = {thread.barrier for thread in alive}
        if len(barriers) > 1 and error is None:
            lines = sorted(line for _, line in barriers)
            error = RuntimeError(f"the threads of a block wait in different lines of the kernel's text: {lines}")
            module.stopping = True
        _order.shuffle(alive)
    if error is not None:
        raise error
