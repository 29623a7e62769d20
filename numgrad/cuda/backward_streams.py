"""Backward and streams: each node runs on the stream that was current where its operation was called.

The streams wait for one another wherever the next node runs on another one, and the one on which backward was called
waits for the last of them: what a program does before backward, in it and after it is in order, as PyTorch's notes on
CUDA promise under "Stream semantics of backward passes".
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
    """Make a stream, as the driver knows it, the current one of its GPU for this thread; nodes note it from now on."""
    runtime = begin_cuda().runtime
    runtime.set_stream(stream)
    if any(runtime.current_streams().values()):
        operations.streams = operations.streams or BackwardStreams()
        state.mode |= STREAMS
    else:
        state.mode &= ~STREAMS


class BackwardStreams:
    """What the engine asks of streams: see ``autograd.operations``."""

    def current(self) -> dict[int, Any]:
        """This thread's current streams, by GPU; where there is none it is the default one."""
        return begin_cuda().runtime.current_streams()

    def turns(self, nodes: Iterable[Any]) -> Iterator[Any]:
        """The nodes, each while the stream that it noted is the current one; where it noted none, the default one."""
        runtime = begin_cuda().runtime
        before: dict[int, Any] = {}
        try:
            for node in nodes:
                device = None if node.layout.type is None else node.layout.type.device.index
                if device is not None:
                    attached = node.attached
                    noted = None if attached is None or attached.streams is None else attached.streams.get(device)
                    here = runtime.stream(device)
                    before.setdefault(device, here)
                    _go_on(here, runtime.default_stream(device) if noted is None else noted)
                yield node
        finally:
            for device, stream in before.items():
                _go_on(runtime.stream(device), stream)

    def carried(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """The function, to be called in a thread that has none but default streams yet."""
        runtime, carried = begin_cuda().runtime, self.current()

        def call() -> Any:
            for stream in carried.values():
                runtime.set_stream(stream)
            return function()

        return call


def _go_on(here: Any, there: Any) -> None:
    """Put what comes next on another stream of a GPU, in order."""
    if here != there:
        runtime = begin_cuda().runtime
        runtime.in_order(here, there)
        runtime.set_stream(there)
