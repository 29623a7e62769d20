"""Streams in backward: each node runs on the stream that was current when its operation was called.

When the next node runs on another stream, that stream waits for the previous one, and the stream on which backward was
called waits for the last of them.  The work before, in and after backward is therefore in order, as specified in
PyTorch's notes on CUDA under "Stream semantics of backward passes".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..autograd.grad_mode import STREAMS, state
from ..autograd.operations import operations
from ..devices import begin_cuda
from ..devices.recording import reads_values

__all__ = ["make_current"]


@reads_values("another stream")
def make_current(stream: Any) -> None:
    """Make a stream, as a driver handle, current on its GPU in this thread; nodes record it from now on."""
    runtime = begin_cuda().runtime
    runtime.set_stream(stream)
    if any(runtime.current_streams().values()):
        operations.streams = operations.streams or BackwardStreams()
        state.mode |= STREAMS
    else:
        state.mode &= ~STREAMS


class BackwardStreams:
    """Stream functions for the engine: see ``autograd.operations``."""

    def current(self) -> dict[int, Any]:
        """Return this thread's current streams, by GPU; a GPU without an entry uses its default stream."""
        return begin_cuda().runtime.current_streams()

    def turns(self, nodes: Iterable[Any]) -> Iterator[Any]:
        """Yield the nodes, each with its recorded stream current, or the default stream if it recorded none."""
        runtime = begin_cuda().runtime
        before: dict[int, Any] = {}
        try:
            for node in nodes:
                device = None if node.layout.type is None else node.layout.type.device.index
                if device is not None:
                    attached = node.attached
                    noted = None if attached is None or attached.streams is None else attached.streams.get(device)
                    current = runtime.stream(device)
                    before.setdefault(device, current)
                    _go_on(current, runtime.default_stream(device) if noted is None else noted)
                yield node
        finally:
            for device, stream in before.items():
                _go_on(runtime.stream(device), stream)

    def carried(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """Return a function that calls ``function`` in another thread with the current streams of this thread."""
        runtime, carried = begin_cuda().runtime, self.current()

        def call() -> Any:
            for stream in carried.values():
                runtime.set_stream(stream)
            return function()

        return call


def _go_on(current: Any, following: Any) -> None:
    """Make stream ``following`` of a GPU current, and make its later work wait for the work on ``current``."""
    if current != following:
        runtime = begin_cuda().runtime
        runtime.in_order(current, following)
        runtime.set_stream(following)
