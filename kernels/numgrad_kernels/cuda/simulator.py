"""Kernels for GPUs run in plain Python, by Numba's simulator with another way of running a block's threads.

Numba's runs them all at once, and asks again and again which of them wait at a barrier, which takes milliseconds.  Here
one thread runs at a time, until it ends or comes to a barrier; the order is another between any two barriers, so that
what depends on it, because a barrier is missing, comes out differently.  Shared memory begins as garbage, and an index
outside of a row raises an error: in this the simulator is stricter than a GPU.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAModule

__all__ = ["run"]

#: Whose order the threads of a block run in.
_order = random.Random(0)


def run(function: Callable[..., None], blocks: Sequence[int], threads: Sequence[int], arguments: Sequence[Any]) -> None:
    """Run a kernel in ``blocks`` blocks of ``threads`` threads, three numbers each; arrays are changed in place."""
    module = _Module(blocks, threads)
    function.__globals__["cuda"] = module
    given = [_Row(value) if isinstance(value, np.ndarray) else value for value in arguments]
    waits = "syncthreads" in function.__code__.co_names

    def work() -> None:
        with np.errstate(all="ignore"):
            function(*given)

    for z, y, x in np.ndindex(blocks[2], blocks[1], blocks[0]):
        module.begin_block(Dim3(x, y, z))
        everyone = [_Thread(Dim3(i, j, k)) for k, j, i in np.ndindex(threads[2], threads[1], threads[0])]
        _order.shuffle(everyone)
        if waits and len(everyone) > 1:
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

    def __init__(self, index: Dim3):
        self.index = index
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

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> np.ndarray:
        """Shared memory: the same for the first array that each thread of a block asks for, and so on."""
        thread = self.current
        if thread.arrays == len(self.arrays):
            fresh = np.empty(shape, dtype)
            fresh.view(np.uint8).fill(0xA5)
            self.arrays.append(fresh)
        thread.arrays += 1
        return self.arrays[thread.arrays - 1]

    def syncthreads(self) -> None:
        """Wait for the other threads of the block."""
        thread = self.current
        thread.waiting = True
        self.back.release()
        thread.turn.acquire()
        if self.stopping:
            raise SystemExit

    def syncwarp(self) -> None:
        """Wait for the other threads of the warp: a block is so small here that it is one."""
        self.syncthreads()


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
        _order.shuffle(alive)
    if error is not None:
        raise error
