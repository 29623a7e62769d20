"""The streams that work for GPUs is put on: each thread has a current one for each GPU, the default one at first."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

from . import runtime
from .handles import StreamHandle

__all__ = [
    "current_streams", "default_stream", "in_order", "pooled_stream", "set_stream", "side_streams", "stream",
]

#: How many streams there are of each priority on a GPU; who asks for more shares them.
POOLED = 32


class _Current(threading.local):
    def __init__(self) -> None:
        self.streams: dict[int, StreamHandle] = {}


_current = _Current()
_lock = threading.RLock()  # what the collector of garbage runs here may ask for a stream, too
_defaults: dict[int, StreamHandle] = {}
_pools: dict[tuple[int, int], list[StreamHandle]] = {}
_turns: dict[tuple[int, int], Iterator[int]] = {}


#: A stream that is no GPU's default one and was the current one of some thread: while there is none, nobody need look
#: on which stream memory is used.
side_streams: list[StreamHandle] = []


def stream(device: int) -> StreamHandle:
    """This thread's current stream of a GPU."""
    try:
        return _current.streams[device]
    except KeyError:
        current = _current.streams[device] = default_stream(device)
        return current


def default_stream(device: int) -> StreamHandle:
    """The stream that a GPU has from the beginning."""
    with _lock:
        if device not in _defaults:
            _defaults[device] = runtime.driver.default_stream(device)
        return _defaults[device]


def set_stream(chosen: StreamHandle) -> None:
    """Make a stream the current one of its GPU for this thread."""
    if chosen and not side_streams:
        side_streams.append(chosen)
    _current.streams[chosen.device] = chosen


def current_streams() -> dict[int, StreamHandle]:
    """This thread's current streams, by GPU; of one that it has not used there is none."""
    return _current.streams.copy()


def in_order(first: StreamHandle, then: StreamHandle) -> None:
    """Let work that is put on a stream from now on wait for what is on another."""
    if (first.device, first) != (then.device, then):
        event = runtime.driver.create_event(first.device)
        runtime.driver.record_event(event, first)
        runtime.driver.wait_on_stream(then, event)
        runtime.driver.destroy_event(event)


def pooled_stream(device: int, priority: int = 0) -> StreamHandle:
    """A stream from the GPU's pool; the streams of the pool take turns."""
    key = device, priority
    with _lock:
        pool = _pools.setdefault(key, [])
        if len(pool) < POOLED:
            pool.append(runtime.driver.create_stream(device, priority))
            return pool[-1]
        return pool[next(_turns.setdefault(key, itertools.cycle(range(POOLED))))]
