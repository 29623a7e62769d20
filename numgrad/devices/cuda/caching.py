"""The allocator of a GPU's memory: segments that the driver gave are kept, and cut into pieces for tensors.

The driver takes long to give memory, and waits for the GPU when it gets it back.  So the rules are those of PyTorch's
allocator: sizes are multiples of 512 bytes, pieces up to 1 MiB lie in segments of 2 MiB, larger ones in segments of
20 MiB or of their own, and of the free pieces the smallest that is large enough is taken and cut.  A free piece goes
to work of the stream that it was allocated for, which needs no waiting, for work on a stream is in order.

Pieces that came back are first kept whole, by size, for the next of that size, which is soon found; they are merged
with their neighbours when no piece is large enough (the C library's allocator has such bins, too).
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import deque
from typing import Any

from ..needs import OutOfMemoryError
from ..rows import Memory
from . import runtime
from .runtime import StreamHandle

#: Sizes are multiples of this.
GRAIN = 512

#: The largest piece of the small pool, and its segments.
SMALL = 1 << 20
SMALL_SEGMENT = 2 << 20

#: A segment for pieces of up to 10 MiB; larger ones have segments of their own, in multiples of 2 MiB.
LARGE_SEGMENT = 20 << 20
LARGE = 10 << 20
SEGMENT_GRAIN = 2 << 20


class Piece:
    """A part of a segment: between ``before`` and ``after``, free where ``free``, else a block's or in a bin."""

    __slots__ = ("address", "after", "before", "free", "pool", "requested", "size", "streams", "wanted")

    def __init__(self, address: int, size: int, pool: Pool, before: Piece | None, after: Piece | None):
        self.address = address
        self.size = size
        self.pool = pool
        self.before = before
        self.after = after
        self.free = False
        self.wanted = size  # the size that it was last given for: it may be somewhat larger
        self.requested = 0
        self.streams: dict[tuple[int, int], StreamHandle] | None = None  # others that use it, by GPU and address


class Pool:
    """The small or the large pieces for one stream."""

    __slots__ = ("bins", "free", "given_back", "segments", "small", "stream")

    def __init__(self, stream: StreamHandle, small: bool, given_back: deque[Piece]):
        self.stream = stream
        self.small = small
        self.given_back = given_back.append  # called when a block ends, in whatever thread and whatever it is doing
        self.bins: dict[int, list[Piece]] = {}
        self.free: list[tuple[int, int, Piece]] = []  # by size, then address
        self.segments: dict[int, int] = {}  # their sizes, by address

    def insert(self, piece: Piece) -> None:
        """Merge a piece with its free neighbours, and keep it."""
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
        """Take a free piece out."""
        del self.free[bisect_left(self.free, (piece.size, piece.address))]
        piece.free = False

    def empty_bins(self) -> bool:
        """Merge the pieces that were kept whole; whether there were any."""
        pieces = [piece for bin in self.bins.values() for piece in bin]
        self.bins.clear()
        for piece in pieces:
            self.insert(piece)
        return bool(pieces)

    def best_fit(self, size: int) -> Piece | None:
        """The smallest piece that is large enough, free or kept whole, cut to size unless little would be left over."""
        index = bisect_left(self.free, (size,))
        kept = min([own for own, bin in self.bins.items() if bin and own >= size], default=None)
        if index < len(self.free) and (kept is None or self.free[index][0] < kept):
            _, _, piece = self.free.pop(index)
            piece.free = False
        elif kept is not None:
            piece = self.bins[kept].pop()
        else:
            return None
        rest = piece.size - size
        if rest >= GRAIN if self.small else rest > SMALL:
            piece.size = size
            after = Piece(piece.address + size, rest, self, piece, piece.after)
            if after.after is not None:
                after.after.before = after
            piece.after = after
            self.insert(after)
        piece.wanted = size
        return piece


#: Held while a piece is told who uses it.
_noting = threading.RLock()  # what the collector of garbage runs here may tell another


class Block(Memory):
    """A piece that a row lies in, which is given back when no row does any more."""

    __slots__ = ("address", "piece")

    def __init__(self, piece: Piece):
        self.piece = piece
        self.address = piece.address

    @property
    def device(self) -> int:  # type: ignore[override]
        """The number of its GPU."""
        return self.piece.pool.stream.device

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        """The bytes that were asked for."""
        return self.piece.requested

    def use_on(self, stream: StreamHandle) -> None:
        """Note that work on a stream uses the block, which is given to others only once that has been done."""
        piece = self.piece
        key, own = (stream.device, int(stream)), piece.pool.stream
        if key != (own.device, own) and not (piece.streams and key in piece.streams):
            with _noting:
                piece.streams = {**(piece.streams or {}), key: stream}

    def __del__(self) -> None:
        self.piece.pool.given_back(self.piece)


class Allocator:
    """The memory of one GPU."""

    def __init__(self, device: int):
        self.device = device
        self.counts = Counts()
        self.retries = 0
        self.failures = 0
        self._given_back: deque[Piece] = deque()
        self._waiting: list[tuple[Piece, list[Any]]] = []  # for events on other streams
        self._pools: dict[StreamHandle, list[Pool]] = {}  # the small and the large one
        self._lock = threading.RLock()  # memory may be allocated by what the collector of garbage runs here

    def allocate(self, size: int, stream: StreamHandle) -> Block:
        """A block of at least ``size`` bytes, for work on a stream.

        Raises:
            OutOfMemoryError: the GPU has not as many, even without what lies idle here.
        """
        rounded = -(-size // GRAIN) * GRAIN
        with self._lock:
            if self._given_back or self._waiting:
                self._take_back()
            try:
                small, large = self._pools[stream]
            except KeyError:
                small, large = self._pools[stream] = [Pool(stream, which, self._given_back) for which in (True, False)]
            pool = small if rounded <= SMALL else large
            bin = pool.bins.get(rounded)
            piece = bin.pop() if bin else self._find(pool, rounded)
            piece.requested = size
            self.counts.add_block(piece.size, size)
        return Block(piece)

    def _take_back(self) -> None:
        """Keep the pieces of blocks that have ended."""
        given_back = self._given_back
        while given_back:
            piece = given_back.popleft()
            self.counts.remove_block(piece.size, piece.requested)
            if piece.streams is None:
                piece.pool.bins.setdefault(piece.wanted, []).append(piece)
            else:
                self._waiting.append((piece, [_mark(stream) for stream in piece.streams.values()]))
                piece.streams = None
        if self._waiting:
            self._look_at_waiting(runtime.driver.event_is_done)

    def _look_at_waiting(self, is_done: Any) -> None:
        """Keep the pieces that other streams have done with."""
        waiting, self._waiting = self._waiting, []
        for piece, events in waiting:
            left = [event for event in events if not is_done(event)]
            for event in events:
                if event not in left:
                    runtime.driver.destroy_event(event)
            if left:
                self._waiting.append((piece, left))
            else:
                piece.pool.bins.setdefault(piece.wanted, []).append(piece)

    def _find(self, pool: Pool, size: int) -> Piece:
        """A piece of the pool: cut from a free one, from one that merging makes, or from a new segment."""
        piece = pool.best_fit(size)
        if piece is None and pool.empty_bins():
            piece = pool.best_fit(size)
        if piece is None:
            self._add_segment(pool, size)
            piece = pool.best_fit(size)
            assert piece is not None
        return piece

    def _add_segment(self, pool: Pool, size: int) -> None:
        if pool.small:
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
            "unallocated, in pieces that are too small or that tensors still lie beside."
        )

    def empty_cache(self) -> None:
        """Give the segments that no tensor lies in back to the driver."""
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
        """The allocator, once it has taken back what it can: what its counts are true for."""
        with self._lock:
            self._take_back()
        return self

    def pools(self, small: bool) -> dict[str, int]:
        """What is in the small or the large pools now, by PyTorch's names; inactive is what is free beside tensors."""
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


def _mark(stream: StreamHandle) -> Any:
    """An event on a stream, after all that is there."""
    event = runtime.driver.create_event(stream.device)
    runtime.driver.record_event(event, stream)
    return event


def _wait_for(event: Any) -> bool:
    runtime.driver.wait_for_event(event)
    return True


def _is_segment(piece: Piece) -> bool:
    return piece.before is None and piece.after is None


class Counts:
    """Blocks, their bytes as they were given and as they were asked for, segments and their bytes.

    For each there is how many there are, how many there were at most (``..._peak``), how many have gone
    (``..._freed``), and how many there were when these began to be counted (``..._before``).
    """

    #: PyTorch's names of what is counted.
    NAMES = {  # noqa: RUF012 - it is not changed
        "allocation": "blocks", "segment": "segments", "allocated_bytes": "bytes", "reserved_bytes": "reserved",
        "requested_bytes": "requested",
    }

    def __init__(self) -> None:
        self.blocks = self.blocks_peak = self.blocks_freed = self.blocks_before = 0
        self.bytes = self.bytes_peak = self.bytes_freed = self.bytes_before = 0
        self.requested = self.requested_peak = self.requested_freed = self.requested_before = 0
        self.segments = self.segments_peak = self.segments_freed = self.segments_before = 0
        self.reserved = self.reserved_peak = self.reserved_freed = self.reserved_before = 0

    def add_block(self, given: int, requested: int) -> None:
        """Count a block: once for each tensor, so written out."""
        self.blocks += 1
        self.bytes += given
        self.requested += requested
        if self.blocks > self.blocks_peak:
            self.blocks_peak = self.blocks
        if self.bytes > self.bytes_peak:
            self.bytes_peak = self.bytes
        if self.requested > self.requested_peak:
            self.requested_peak = self.requested

    def remove_block(self, given: int, requested: int) -> None:
        """Count a block that was given back."""
        self.blocks -= 1
        self.bytes -= given
        self.requested -= requested
        self.blocks_freed += 1
        self.bytes_freed += given
        self.requested_freed += requested

    def add_segment(self, size: int) -> None:
        """Count a segment."""
        self.segments += 1
        self.reserved += size
        self.segments_peak = max(self.segments_peak, self.segments)
        self.reserved_peak = max(self.reserved_peak, self.reserved)

    def remove_segment(self, size: int) -> None:
        """Count a segment that was given back."""
        self.segments -= 1
        self.reserved -= size
        self.segments_freed += 1
        self.reserved_freed += size

    def reset_peaks(self) -> None:
        """Forget how much there was before."""
        for name in self.NAMES.values():
            setattr(self, f"{name}_peak", getattr(self, name))

    def reset_sums(self) -> None:
        """Begin to count what comes and goes."""
        for name in self.NAMES.values():
            setattr(self, f"{name}_before", getattr(self, name))
            setattr(self, f"{name}_freed", 0)


def amount(size: float) -> str:
    """A number of bytes as PyTorch writes it."""
    if size < 1024:
        return f"{size:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024 or unit == "GiB":
            break
    return f"{size:.2f} {unit}"
