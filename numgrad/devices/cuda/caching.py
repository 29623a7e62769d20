"""The caching allocator of a GPU's memory: segments from the driver are kept, and divided into pieces for tensors.

The driver allocates memory slowly, and waits for the GPU when it frees memory.  So the rules are those of PyTorch's
allocator.  Sizes are multiples of 512 bytes.  Pieces up to 1 MiB lie in segments of 2 MiB, larger ones in segments of
20 MiB or of their own.  An allocation divides the smallest free piece that is large enough.  A free piece is reused for
the stream of its allocation, without waiting, because the work of a stream is in order.

Freed pieces are first kept undivided in bins, by size, where an allocation of the same size finds them quickly.  They
are merged with their neighbours if no piece is large enough.  (The allocator of the C library has such bins, too.)

With the environment variable ``PYTORCH_NO_CUDA_MEMORY_CACHING=1``, each tensor has a segment of its own and exact size,
so that NVIDIA's ``compute-sanitizer`` finds accesses out of its bounds.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..buffers import DeviceBuffer, Memory
from ..needs import OutOfMemoryError
from . import runtime
from .counts import Counts, amount
from .runtime import StreamHandle

#: Sizes are multiples of this.
GRAIN = 512

#: The sizes of the largest piece of the small pool, and of the segments of this pool.
SMALL = 1 << 20
SMALL_SEGMENT = 2 << 20

#: Size of a segment for pieces of up to 10 MiB; larger ones have segments of their own, in multiples of 2 MiB.
LARGE_SEGMENT = 20 << 20
LARGE = 10 << 20
SEGMENT_GRAIN = 2 << 20


#: True if freed memory is kept.
CACHING = os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING", "0") == "0"


class Piece:
    """A part of a segment, between ``before`` and ``after``: ``free``, or used by a block, or in a bin."""

    __slots__ = ("address", "after", "before", "free", "pool", "requested", "rounded", "size", "streams")

    def __init__(self, address: int, size: int, pool: PiecePool, before: Piece | None, after: Piece | None):
        self.address = address
        self.size = size
        self.pool = pool
        self.before = before
        self.after = after
        self.free = False
        self.rounded = size  # the size of its last allocation, after rounding; the piece may be larger
        self.requested = 0
        self.streams: dict[tuple[int, int], StreamHandle] | None = None  # others that use it, by GPU and address


class PiecePool:
    """The small or the large pieces of one stream."""

    __slots__ = ("bins", "free", "return_piece", "segments", "small", "stream")

    def __init__(self, stream: StreamHandle, small: bool, returned: deque[Piece]):
        self.stream = stream
        self.small = small
        self.return_piece = returned.append  # a block calls it at its end, in any thread and at any point
        self.bins: dict[int, list[Piece]] = {}
        self.free: list[tuple[int, int, Piece]] = []  # by size, then address
        self.segments: dict[int, int] = {}  # their sizes, by address

    def insert(self, piece: Piece) -> None:
        """Merge a piece with its free neighbours, and add it to the free pieces."""
        for neighbour in (piece.before, piece.after):
            if neighbour is not None and neighbour.free:
                self.remove(neighbour)
                piece.address = min(piece.address, neighbour.address)
                piece.size += neighbour.size
                if neighbour is piece.before:
                    piece.before = neighbour.before
                    if piece.before is not None:
                        piece.before.after = piece
                else:
                    piece.after = neighbour.after
                    if piece.after is not None:
                        piece.after.before = piece
        piece.free = True
        insort(self.free, (piece.size, piece.address, piece))

    def remove(self, piece: Piece) -> None:
        """Remove a piece from the free pieces."""
        del self.free[bisect_left(self.free, (piece.size, piece.address))]
        piece.free = False

    def empty_bins(self) -> bool:
        """Merge the pieces in the bins; return True if there were any."""
        pieces = [piece for bin in self.bins.values() for piece in bin]
        self.bins.clear()
        for piece in pieces:
            self.insert(piece)
        return bool(pieces)

    def best_fit(self, size: int) -> Piece | None:
        """Return the smallest sufficient piece, free or in a bin, divided unless the remainder would be too small."""
        index = bisect_left(self.free, (size,))
        binned = min([length for length, bin in self.bins.items() if bin and length >= size], default=None)
        if index < len(self.free) and (binned is None or self.free[index][0] < binned):
            _, _, piece = self.free.pop(index)
            piece.free = False
        elif binned is not None:
            piece = self.bins[binned].pop()
        else:
            return None
        remainder = piece.size - size
        if remainder >= GRAIN if self.small else remainder > SMALL:
            piece.size = size
            after = Piece(piece.address + size, remainder, self, piece, piece.after)
            if after.after is not None:
                after.after.before = after
            piece.after = after
            self.insert(after)
        piece.rounded = size
        return piece


#: Held while the streams that use a piece are changed.
_noting = threading.RLock()  # reentrant: finalizers that the garbage collector runs here may do the same


class CachedMemory(Memory):
    """Use of a piece by buffers, which returns the piece to its pool after the last one."""

    __slots__ = ("piece",)

    def __init__(self, piece: Piece):
        self.piece = piece

    @property
    def address(self) -> int:  # type: ignore[override]
        """The address of the first byte."""
        return self.piece.address

    @property
    def device(self) -> int:  # type: ignore[override]
        """The number of the GPU."""
        return self.piece.pool.stream.device

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        """The number of requested bytes."""
        return self.piece.requested

    def use_on(self, stream: StreamHandle) -> None:
        """Note that work on a stream uses the block, so that the piece is reused only after that work."""
        piece = self.piece
        key, home = (stream.device, int(stream)), piece.pool.stream
        if key != (home.device, home) and not (piece.streams and key in piece.streams):
            with _noting:
                piece.streams = {**(piece.streams or {}), key: stream}

    def __del__(self) -> None:
        self.piece.pool.return_piece(self.piece)


class Allocator:
    """The memory of one GPU."""

    def __init__(self, device: int):
        self.device = device
        self.counts = Counts()
        self.retries = 0
        self.failures = 0
        self._returned: deque[Piece] = deque()
        self._waiting: list[tuple[Piece, list[Any]]] = []  # pieces that wait for events on other streams
        self._pools: dict[StreamHandle, list[PiecePool]] = {}  # the small and the large one
        self._lock = threading.RLock()  # reentrant: finalizers that the garbage collector runs here may allocate

    def allocate(self, wanted: Sequence[tuple[int, int, np.dtype]], stream: StreamHandle) -> list[DeviceBuffer]:
        """Return uninitialised buffers, each on memory of its own, for work on a stream.

        Args:
            wanted: for each buffer its number of bytes, at least one, its number of elements, and their dtype.

        Raises:
            OutOfMemoryError: the GPU has too little memory, even without the idle pieces.
        """
        buffers = []
        with self._lock:
            if not CACHING:
                self.empty_cache()
            elif self._returned or self._waiting:
                self._take_back()
            try:
                small, large = self._pools[stream]
            except KeyError:
                small, large = self._pools[stream] = [PiecePool(stream, kind, self._returned) for kind in (True, False)]
            for size, count, dtype in wanted:
                rounded = -(-size // GRAIN) * GRAIN if CACHING else size
                pool = small if rounded <= SMALL else large
                try:
                    piece = pool.bins[rounded].pop()
                except LookupError:
                    piece = self._find(pool, rounded)
                buffers.append(self._buffer_on(piece, size, count, dtype))
        return buffers

    def _buffer_on(self, piece: Piece, size: int, count: int, dtype: np.dtype) -> DeviceBuffer:
        """Return a buffer of ``size`` bytes on a piece, which is in no bin."""
        counts = self.counts
        piece.requested = size
        counts.blocks += 1
        counts.bytes += piece.size
        counts.requested += size
        return DeviceBuffer(piece.address, count, dtype, self.device, CachedMemory(piece))

    def allocate_again(
        self, wanted: Sequence[tuple[int, int, np.dtype]], pieces: Sequence[Piece | None], stream: StreamHandle
    ) -> list[DeviceBuffer]:
        """Return buffers as ``allocate`` does, on the pieces of earlier buffers of the same sizes if these are free."""
        with self._lock:
            self._take_back()
            buffers = [
                self._buffer_on(piece, *each) if piece is not None and _taken(piece, stream) else None
                for piece, each in zip(pieces, wanted, strict=True)
            ]
            missing = [each for each, buffer in zip(wanted, buffers, strict=True) if buffer is None]
            others = iter(self.allocate(missing, stream))
            return [next(others) if buffer is None else buffer for buffer in buffers]

    def _take_back(self) -> None:
        """Move the pieces of freed blocks into bins."""
        self.counts.note_peaks()
        returned, blocks, size, requested = self._returned, 0, 0, 0
        while returned:
            piece = returned.popleft()
            blocks += 1
            size += piece.size
            requested += piece.requested
            if piece.streams is not None:
                self._waiting.append((piece, [_mark(stream) for stream in piece.streams.values()]))
                piece.streams = None
                continue
            try:
                piece.pool.bins[piece.rounded].append(piece)
            except KeyError:
                piece.pool.bins[piece.rounded] = [piece]
        if blocks:
            self.counts.remove_blocks(blocks, size, requested)
        if self._waiting:
            self._look_at_waiting(runtime.driver.event_is_done)

    def _look_at_waiting(self, is_done: Any) -> None:
        """Put the pieces that other streams no longer use into bins."""
        waiting, self._waiting = self._waiting, []
        for piece, events in waiting:
            pending = [event for event in events if not is_done(event)]
            for event in events:
                if event not in pending:
                    runtime.driver.destroy_event(event)
            if pending:
                self._waiting.append((piece, pending))
            else:
                piece.pool.bins.setdefault(piece.rounded, []).append(piece)

    def _find(self, pool: PiecePool, size: int) -> Piece:
        """Return a piece of the pool: an existing one, one that merging creates, or a part of a new segment."""
        piece = pool.best_fit(size)
        if piece is None and pool.empty_bins():
            piece = pool.best_fit(size)
        if piece is None:
            self._add_segment(pool, size)
            piece = pool.best_fit(size)
            assert piece is not None
        return piece

    def _add_segment(self, pool: PiecePool, size: int) -> None:
        if not CACHING:
            segment = size
        elif pool.small:
            segment = SMALL_SEGMENT
        else:
            segment = LARGE_SEGMENT if size < LARGE else -(-size // SEGMENT_GRAIN) * SEGMENT_GRAIN
        try:
            address = runtime.driver.allocate(segment, self.device)
        except MemoryError:
            self.retries += 1
            self._empty_cache()
            try:
                address = runtime.driver.allocate(segment, self.device)
            except MemoryError:
                self.failures += 1
                raise self._out_of_memory(size) from None
        pool.segments[address] = segment
        self.counts.add_segment(segment)
        pool.insert(Piece(address, segment, pool, None, None))

    def _out_of_memory(self, size: int) -> OutOfMemoryError:
        free, total = runtime.driver.memory_info(self.device)
        allocated, reserved = self.counts.bytes, self.counts.reserved
        return OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {amount(size)}. GPU {self.device} has a total capacity of "
            f"{amount(total)} of which {amount(free)} is free. Of the memory that numgrad holds there, "
            f"{amount(allocated)} is allocated to tensors, and {amount(reserved - allocated)} is reserved but "
            "unallocated, in pieces that are too small or in segments that tensors still use."
        )

    def empty_cache(self) -> None:
        """Return the segments without tensors to the driver."""
        with self._lock:
            self._take_back()
            self._empty_cache()

    def _empty_cache(self) -> None:
        self._look_at_waiting(_wait_for)
        for pools in self._pools.values():
            for pool in pools:
                pool.empty_bins()
                for _, address, piece in [entry for entry in pool.free if _is_segment(entry[2])]:
                    pool.remove(piece)
                    runtime.driver.free(address, self.device)
                    self.counts.remove_segment(pool.segments.pop(address))

    def settle(self) -> Allocator:
        """Update the counts for the blocks that have been freed, and return the allocator."""
        with self._lock:
            self._take_back()
        return self

    def pools(self, small: bool) -> dict[str, int]:
        """Return statistics of the small or the large pools, by PyTorch's names.

        Free pieces in segments with tensors are inactive.
        """
        with self._lock:
            self._take_back()
            pools = [pool for pair in self._pools.values() for pool in pair if pool.small == small]
            for pool in pools:
                pool.empty_bins()
            segments = [size for pool in pools for size in pool.segments.values()]
            free = [(size, _is_segment(piece)) for pool in pools for size, _, piece in pool.free]
        split = [size for size, whole in free if not whole]
        return {
            "segment": len(segments), "reserved_bytes": sum(segments),
            "allocated_bytes": sum(segments) - sum(size for size, _ in free),
            "inactive_split": len(split), "inactive_split_bytes": sum(split),
        }


def _taken(piece: Piece, stream: StreamHandle) -> bool:
    """Remove a piece from its bin; return False if it is in none, or belongs to another stream."""
    bin = piece.pool.bins.get(piece.rounded, [])
    if piece.pool.stream != stream or piece not in bin:
        return False
    bin.remove(piece)
    return True


def _mark(stream: StreamHandle) -> Any:
    """Return an event after the present work of a stream."""
    event = runtime.driver.create_event(stream.device)
    runtime.driver.record_event(event, stream)
    return event


def _wait_for(event: Any) -> bool:
    runtime.driver.wait_for_event(event)
    return True


def _is_segment(piece: Piece) -> bool:
    return piece.before is None and piece.after is None
