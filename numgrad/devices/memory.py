"""Host memory for large tensors: freed blocks are kept, because new ones cost more than the work done in them.

The operating system maps each page of new memory at its first access, and the C library returns large blocks to the
system at once.  The first access to 8 MB takes several times as long as an addition of two tensors of that size.  So a
pool keeps the blocks, and creates one array at a time on each.  Every use of the memory references that array as its
base.  A block is idle when the pool's weak reference to the array is dead.
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

from ..core.halves import BFLOAT16, FLOAT16, narrowed
from .needs import OutOfMemoryError

__all__ = ["allocating", "check_countable", "check_room", "from_numpy", "reports_memory"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: Number of bytes from which memory comes from the pool.
LARGE = 1 << 18

#: Block sizes are multiples of this, so that tensors of similar sizes use the same blocks.
GRAIN = 1 << 16

#: Greatest number of idle bytes in the pool.
IDLE_LIMIT = 1 << 28

#: Alignment of elements: the length of a cache line.
ALIGNMENT = 64


#: NumPy's errors if there is too little memory, or if no machine could have enough.
NO_MEMORY = (MemoryError, ValueError, OverflowError)


@dataclass(eq=False)  # compared by identity
class _MemoryBlock:
    memory: memoryview
    used: int  # time of the last use, on the clock of the pool
    array: Callable[[], np.ndarray | None] = lambda: None  # weak reference to the last array on the memory


def _new_block(size: int, clock: int) -> _MemoryBlock:
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return _MemoryBlock(memoryview(memory)[start : start + size], clock)  # type: ignore[arg-type]


class MemoryPool:
    """Blocks of memory by size."""

    def __init__(self, idle_limit: int = IDLE_LIMIT):
        self.idle_limit = idle_limit
        self._blocks: dict[int, list[_MemoryBlock]] = {}
        self._clock = 0
        self._held = 0  # bytes in all blocks
        self._lock = threading.RLock()

    def take(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Return an uninitialised array of ``count`` elements, in an idle or new block.

        Raises:
            OutOfMemoryError: there is too little memory, even without the idle blocks.
        """
        size = -(-count * dtype.itemsize // GRAIN) * GRAIN
        with self._lock:
            self._clock += 1
            for block in self._blocks.get(size, ()):
                if block.array() is None:
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
            array = np.frombuffer(block.memory, dtype, count)
            block.array = weakref.ref(array)
            if self._held > self.idle_limit:
                self._release_idle(self.idle_limit)
            return array

    def idle_sizes(self) -> list[int]:
        """Return the sizes of the idle blocks, in bytes."""
        with self._lock:
            return [size for size, _ in self._idle_blocks()]

    def idle(self) -> int:
        """Return the number of bytes in idle blocks."""
        return sum(self.idle_sizes())

    def release(self) -> None:
        """Release all idle blocks."""
        with self._lock:
            self._release_idle(0)

    def _idle_blocks(self) -> list[tuple[int, _MemoryBlock]]:
        return [(size, block) for size, blocks in self._blocks.items() for block in blocks if block.array() is None]

    def _release_idle(self, limit: int) -> None:
        """Release idle blocks, the least recently used first, until no more than ``limit`` bytes are idle."""
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


pool = MemoryPool()


def _after_fork() -> None:
    pool._lock = threading.RLock()  # a thread that does not exist in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def empty_buffer(count: int, dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised one-dimensional array."""
    return pool.take(count, dtype) if count * dtype.itemsize >= LARGE else np.empty(count, dtype)


@functools.cache
def no_buffer(dtype: np.dtype) -> np.ndarray:
    """Return an empty array: the operand of a kernel for an optional buffer that is absent."""
    return np.empty(0, dtype)


def or_empty(buffer: Any, dtype: np.dtype) -> Any:
    """Return a buffer, or an empty array if it is None."""
    return no_buffer(dtype) if buffer is None else buffer


def zero_buffer(count: int, dtype: np.dtype) -> np.ndarray:
    """Return a one-dimensional array of zeros."""
    return filled_buffer(count, 0, dtype) if count * dtype.itemsize >= LARGE else np.zeros(count, dtype)


def filled_buffer(count: int, value: float, dtype: np.dtype) -> np.ndarray:
    """Return a one-dimensional array that repeats a number."""
    array = empty_buffer(count, dtype)
    fill_array(array, value)
    return array


def fill_array(array: np.ndarray, value: Any) -> None:
    """Overwrite the elements of an array with a number."""
    if array.dtype in (FLOAT16, BFLOAT16):
        array, value = array.view(np.uint16), narrowed(value, array.dtype).view(np.uint16)
    array.fill(value)


def out_of_memory(shape: Sequence[int], dtype: np.dtype) -> RuntimeError:
    """Return the error for a tensor that exceeds the available memory."""
    size = math.prod(shape) * dtype.itemsize
    if size >= 2**63:
        return RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return OutOfMemoryError(
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes. The tensor is of shape "
        f"{list(shape)}, {dtype}"
    )


def check_countable(shape: Sequence[int], dtype: np.dtype) -> None:
    """Raise RuntimeError if no machine integer can count the bytes of a shape; NumPy's errors differ."""
    if math.prod(shape) * dtype.itemsize >= 2**63:
        raise out_of_memory(shape, dtype)


def check_room(count: int, dtype: np.dtype) -> None:
    """Raise RuntimeError unless there is memory for ``count`` elements, which several arrays then share."""
    check_countable((count,), dtype)
    reports_memory(np.empty)(count, dtype)


@contextmanager
def allocating(shape: Sequence[int], type: Any) -> Iterator[None]:
    """Context in which out-of-memory errors, even for temporary arrays, name this shape and type."""
    check_countable(shape, type.numpy)
    try:
        yield
    except (MemoryError, OutOfMemoryError):
        if type.device.type != "cpu":  # the error of a GPU has more details
            raise
        raise out_of_memory(shape, type.numpy) from None


def reports_memory(function: Function) -> Function:
    """Decorate a function in which NumPy allocates memory, to replace NumPy's MemoryError by numgrad's error."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except MemoryError as error:
            raise from_numpy(error) from None

    return call  # type: ignore[return-value]


def from_numpy(error: MemoryError) -> RuntimeError:
    """Return numgrad's error for a MemoryError, with the shape and dtype of the array if NumPy has raised it."""
    attributes = vars(error)
    if "shape" in attributes:
        return out_of_memory(attributes["shape"], attributes["dtype"])
    return OutOfMemoryError("DefaultCPUAllocator: can't allocate memory")
