"""CUDA graphs: launches that return with the same operands are put on their stream by one call of the driver.

Note [Graphs]
A graph repeats launches with the addresses and numbers with which they were captured.  The numbers of a recorded
program never change, and the program owns most of its memory.  The other memory, of arguments and results, comes from
the caching allocator, which often returns the same blocks again.  So there is a graph for each combination of their
addresses, which is captured when that combination comes for the second time.  A graph writes small results, such as
losses that the user keeps, to memory of its own, from which they are copied.

Launches are captured on a stream of their own, since a default stream cannot capture, and graphs are launched on the
default stream alone.  On another stream, while a program is recorded, and while there are listeners, launches are put
on the stream one by one.
"""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import launches, recording
from ..buffers import DeviceBuffer
from . import runtime
from .launching import CudaKernel
from .memory import empty_buffer, note_uses
from .runtime import StreamHandle, side_streams, with_stream

__all__ = ["Replayed", "is_repeatable"]

#: Greatest number of combinations of addresses that are remembered.
_MOST = 16

#: Greatest number of bytes of a small result.
_SMALL = 4096

_capturing = threading.Lock()
_streams: dict[int, StreamHandle] = {}


def is_repeatable(function: Any) -> bool:
    """Return True if a step of a recorded program with this kernel or function can be a part of a graph."""
    return function.__class__ is CudaKernel or recording.is_repeatable(function)


class Replayed:
    """Launches on a GPU: a function ``put(stream, *buffers)`` that puts them on this stream, which is current.

    The addresses of the buffers are all that changes from call to call.

    Args:
        put: the function.
        others: buffers that the launches may use besides.
        new: for each of the buffers, True if its contents before the launches do not matter.
    """

    def __init__(self, put: Callable[..., None], others: Sequence[DeviceBuffer], new: Sequence[bool]):
        self._put, self._others, self._new = put, others, new
        self._own: dict[int, DeviceBuffer] | None = None  # memory for small results, by their positions
        self._graphs: dict[tuple[int, ...], Any] = {}  # None for addresses that have come once
        self._fails = False

    def __call__(self, here: StreamHandle, *given: DeviceBuffer) -> None:
        """Put the launches on the current stream, as a graph if there is one."""
        if here or launches.gpu_listeners or recording.recorder is not None or self._fails:
            self._put(here, *given)
            return
        if self._own is None:
            self._own = {
                number: empty_buffer(buffer.size, buffer.dtype, buffer.device)
                for number, (buffer, new) in enumerate(zip(given, self._new, strict=True))
                if new and 0 < buffer.nbytes <= _SMALL
            }
        key = tuple([buffer.address for number, buffer in enumerate(given) if number not in self._own])
        graph = self._graphs.get(key)
        if graph is None:
            if key not in self._graphs:
                if len(self._graphs) == _MOST:
                    self._graphs.clear()
                self._graphs[key] = None
                self._put(here, *given)
                return
            captured = [self._own.get(number, buffer) for number, buffer in enumerate(given)]
            graph = self._graphs[key] = self._captured(here.device, captured)
            if graph is None:
                self._fails = True
                self._put(here, *given)
                return
        if side_streams:
            note_uses(here, (*given, *self._others))
        runtime.driver.launch_graph(graph, here)
        for number, own in self._own.items():
            runtime.driver.copy_within(given[number].address, own.address, own.nbytes, here)

    def _captured(self, device: int, given: Sequence[DeviceBuffer]) -> Any:
        """Return the graph of the launches on these buffers; None if they cannot be captured."""
        with _capturing:
            if device not in _streams:
                _streams[device] = runtime.driver.create_stream(device)
                _streams[device].captures = True
            stream = _streams[device]
            work = functools.partial(self._put, stream, *given)
            collects = gc.isenabled()
            gc.disable()  # finalizers may launch kernels, too
            try:
                return with_stream(stream, lambda: runtime.driver.capture(stream, work))
            finally:
                if collects:
                    gc.enable()
