"""Host memory for large tensors: freed blocks are kept, because fresh ones cost more than the work done in them.

The operating system hands out memory page by page as it is first touched, and a C library gives large blocks back to
it at once; touching 8 MB of new pages takes several times as long as adding two tensors of that size.  Here the pool
holds the blocks, and makes one array of a block at a time.  Whatever uses the memory keeps that array, as the base of
its own, so the block is free when the array is gone, which the pool knows by a weak reference.
"""

from __future__ import annotations

import functools
import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .needs import OutOfMemoryError

__all__ = ["check_countable", "check_room", "from_numpy", "reports_memory", "shape_told"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: Bytes from which memory comes from the pool.
LARGE = 1 << 18

#: Block sizes are multiples of this, so that tensors of nearly one size share blocks.
GRAIN = 1 << 16

#: Bytes that may lie idle in the pool.
IDLE_LIMIT = 1 << 28

#: Elements start at multiples of this, the length of a cache line.
ALIGNMENT = 64


#: What NumPy raises where there is not enough memory, or could not be on any machine.
NO_MEMORY = (MemoryError, ValueError, OverflowError)


@dataclass(eq=False)  # a block is itself
class _Block:
    memory: memoryview
    used: int  # when the pool last gave it out, on its own clock
    row: Callable[[], np.ndarray | None] = lambda: None  # the array that was made of it last, while that lives


def _new_block(size: int, clock: int) -> _Block:
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return _Block(memoryview(memory)[start : start + size], clock)  # type: ignore[arg-type]


class Pool:
    """Blocks of memory by size."""

    def __init__(self, idle_limit: int = IDLE_LIMIT):
        self.idle_limit = idle_limit
        self._blocks: dict[int, list[_Block]] = {}
        self._clock = 0
        self._held = 0  # bytes in all blocks
        self._lock = threading.RLock()

    def take(self, count: int, dtype: np.dtype) -> np.ndarray:
        """An uninitialised row of ``count`` elements, in a block that nothing else uses.

        Raises:
            OutOfMemoryError: there is not enough, even without what lay idle.
        """
        size = -(-count * dtype.itemsize // GRAIN) * GRAIN
        with self._lock:
            self._clock += 1
            for block in self._blocks.get(size, ()):
                if block.row() is None:
                    break
            else:
                self._release_idle(self.idle_limit - size)
                try:
                    block = _new_block(size, self._clock)
                except NO_MEMORY:
                    self._release_idle(0)
                    try:
                        block = _new_block(size, self._clock)
                    except NO_MEMORY:
                        raise out_of_memory((count,), dtype) from None
                self._held += size
                self._blocks.setdefault(size, []).append(block)
            block.used = self._clock
            row = np.frombuffer(block.memory, dtype, count)
            block.row = weakref.ref(row)
            if self._held > self.idle_limit:
                self._release_idle(self.idle_limit)
            return row

    def idle_sizes(self) -> list[int]:
        """The sizes in bytes of the blocks that nothing uses."""
        with self._lock:
            return [size for size, _ in self._idle_blocks()]

    def idle(self) -> int:
        """Bytes in blocks that nothing uses."""
        return sum(self.idle_sizes())

    def release(self) -> None:
        """Give all idle blocks back."""
        with self._lock:
            self._release_idle(0)

    def _idle_blocks(self) -> list[tuple[int, _Block]]:
        return [(size, block) for size, blocks in self._blocks.items() for block in blocks if block.row() is None]

    def _release_idle(self, limit: int) -> None:
        """Drop idle blocks, those unused for longest first, until no more than ``limit`` bytes are idle."""
        idle = sorted(self._idle_blocks(), key=lambda entry: entry[1].used)
        total = sum(size for size, _ in idle)
        for size, block in idle:
            if total <= limit:
                break
            total -= size
            self._held -= size
            self._blocks[size].remove(block)
            if not self._blocks[size]:
                del self._blocks[size]


pool = Pool()


def _after_fork() -> None:
    pool._lock = threading.RLock()  # a thread that does not exist in the child may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def empty_row(count: int, dtype: np.dtype) -> np.ndarray:
    """An uninitialised row of elements."""
    return pool.take(count, dtype) if count * dtype.itemsize >= LARGE else np.empty(count, dtype)


@functools.cache
def no_row(dtype: np.dtype) -> np.ndarray:
    """Return an empty array: the operand of a kernel for an optional buffer that is absent."""
    return np.empty(0, dtype)


def or_empty(buffer: Any, dtype: np.dtype) -> Any:
    """Return a buffer, or an empty array if it is None."""
    return no_row(dtype) if buffer is None else buffer


def zero_row(count: int, dtype: np.dtype) -> np.ndarray:
    """A row of zeros."""
    return filled_row(count, 0, dtype) if count * dtype.itemsize >= LARGE else np.zeros(count, dtype)


def filled_row(count: int, value: float, dtype: np.dtype) -> np.ndarray:
    """A row that repeats one number."""
    row = empty_row(count, dtype)
    row.fill(value)
    return row


def out_of_memory(shape: Sequence[int], dtype: np.dtype) -> RuntimeError:
    """The error for a tensor that there is no memory for."""
    size = math.prod(shape) * dtype.itemsize
    if size >= 2**63:
        return RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return OutOfMemoryError(
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes. The tensor is of shape "
        f"{list(shape)}, {dtype}"
    )


def check_countable(shape: Sequence[int], dtype: np.dtype) -> None:
    """Raise RuntimeError for a shape whose bytes no integer of a machine counts, which NumPy says in its own way."""
    if math.prod(shape) * dtype.itemsize >= 2**63:
        raise out_of_memory(shape, dtype)


def check_room(count: int, dtype: np.dtype) -> None:
    """Raise RuntimeError unless there is memory for so many elements, before many arrays take a part of it each."""
    check_countable((count,), dtype)
    reports_memory(np.empty)(count, dtype)


@contextmanager
def shape_told(shape: Sequence[int], type: Any) -> Iterator[None]:
    """Missing memory in here is memory for a tensor of this shape and type, whatever row or temporary it was for."""
    check_countable(shape, type.numpy)
    try:
        yield
    except (MemoryError, OutOfMemoryError):
        if type.device.type != "cpu":  # which says more itself
            raise
        raise out_of_memory(shape, type.numpy) from None


def reports_memory(function: Function) -> Function:
    """Decorate a function that lets NumPy allocate: what NumPy raises where there is no memory becomes our error."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except MemoryError as error:
            raise from_numpy(error) from None

    return call  # type: ignore[return-value]


def from_numpy(error: MemoryError) -> RuntimeError:
    """NumPy's error as ours: it knows the shape and the dtype of the array; Python's own knows nothing."""
    told = vars(error)
    if "shape" in told:
        return out_of_memory(told["shape"], told["dtype"])
    return OutOfMemoryError("DefaultCPUAllocator: can't allocate memory")
