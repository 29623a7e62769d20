"""Streams, on which GPU work runs in order, and events, which are markers in streams."""

from __future__ import annotations

from typing import Any

from ..core.device import device as device_of
from ..devices import begin_cuda, buffers
from ..devices.recording import values_read
from . import gpus
from .backward_streams import make_current

__all__ = [
    "Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream",
    "is_current_stream_capturing", "set_stream", "stream",
]


def _driver() -> Any:
    values_read("what streams and events do")
    return begin_cuda().runtime.driver


class Stream:
    """Stream of a GPU: its work runs in order, and concurrently with that of other streams.

    A GPU has 32 streams of each priority, which are reused if more are made, as in PyTorch.  A stream is also a context
    manager that makes it current.  The memory of a tensor made on one stream and used on another is not reused too
    early: uses by numgrad are tracked, and uses by other libraries must be reported with ``Tensor.record_stream``.

    Args:
        device: the GPU, by index, device or name; the current one for None.
        priority: lower numbers have priority; 0 is the default, -1 is higher.

    Example:
        >>> import numgrad as torch
        >>> if torch.cuda.is_available():
        ...     side = torch.cuda.Stream()
        ...     with torch.cuda.stream(side):
        ...         x = torch.ones(3, device="cuda")
        ...     torch.cuda.current_stream().wait_stream(side)
    """

    def __init__(self, device: Any = None, priority: int = 0, *, _handle: Any = None):
        if _handle is None:
            _handle = begin_cuda().runtime.pooled_stream(gpus.index_of(device), priority)
        self._handle = _handle
        self._outer: list[StreamContext] = []
        self.device = device_of("cuda", _handle.device)

    @property
    def cuda_stream(self) -> int:
        """The address of the stream, for use by other libraries."""
        return int(self._handle)

    @property
    def device_index(self) -> int:
        """The index of its GPU."""
        return self._handle.device

    def query(self) -> bool:
        """Return True if all work on the stream has run."""
        return _driver().stream_is_done(self._handle)

    def synchronize(self) -> None:
        """Wait until all work on the stream has run."""
        _driver().synchronize(self._handle)
        buffers.waited()

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event on the stream, a new one for None, and return the event."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make all later work on the stream wait for an event of any GPU."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make all later work on the stream wait for the work now on another stream."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        context = StreamContext(self)
        context.__enter__()
        self._outer.append(context)
        return self

    def __exit__(self, *exception: object) -> None:
        self._outer.pop().__exit__(*exception)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Stream) and (self.device, self._handle) == (other.device, other._handle)

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<numgrad.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """Stream made by another library, which must keep it alive.

    Args:
        stream_ptr: its address.
        device: its GPU; the current one for None.
    """

    def __init__(self, stream_ptr: int, device: Any = None):
        super().__init__(_handle=_driver().external_stream(stream_ptr, gpus.index_of(device)))


class StreamContext:
    """Context manager that makes a stream and its GPU current in this thread; no effect for None."""

    def __init__(self, stream: Stream | None):
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._device = gpus.device(self.stream.device)
            self._device.__enter__()
            self._before = current_stream()
            set_stream(self.stream)

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            set_stream(self._before)
            self._device.__exit__(*exception)


def stream(stream: Stream | None) -> StreamContext:
    """Return a context manager that makes a stream and its GPU current in this thread; no effect for None."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Make a stream the current one of its GPU in this thread; no effect for None."""
    if stream is not None:
        make_current(stream._handle)


def current_stream(device: Any = None) -> Stream:
    """Return this thread's current stream of a GPU, the current one for None."""
    return Stream(_handle=begin_cuda().runtime.stream(gpus.index_of(device)))


def default_stream(device: Any = None) -> Stream:
    """Return the default stream of a GPU, the current one for None."""
    return Stream(_handle=begin_cuda().runtime.default_stream(gpus.index_of(device)))


def is_current_stream_capturing() -> bool:
    """Return False: numgrad captures CUDA graphs on streams of its own, which are never current in a program."""
    return False


class Event:
    """Marker in a stream, which completes when all work before it has run.

    Args:
        enable_timing: record the time of completion.
        blocking: let ``synchronize`` sleep while it waits.

    Example:
        >>> import numgrad as torch
        >>> if torch.cuda.is_available():
        ...     start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        ...     start.record()
        ...     y = torch.ones(1000, device="cuda").sum()
        ...     end.record()
        ...     end.synchronize()
        ...     milliseconds = start.elapsed_time(end)
    """

    _event: Any = None
    _forget: Any = None
    _device = -1

    def __init__(self, enable_timing: bool = False, blocking: bool = False):
        self._timing = enable_timing
        self._blocking = blocking

    def record(self, stream: Stream | None = None) -> None:
        """Record the event on a stream, the current one for None, after all work there.

        Raises:
            RuntimeError: it was recorded on another GPU before.
        """
        stream = current_stream() if stream is None else stream
        if self._event is None:
            driver = _driver()
            self._event = driver.create_event(stream.device_index, self._timing, self._blocking)
            self._forget, self._device = driver.destroy_event, stream.device_index
        if self._device != stream.device_index:
            raise RuntimeError(
                f"Event device {self._device} does not match recording stream's device {stream.device_index}."
            )
        _driver().record_event(self._event, stream._handle)

    def wait(self, stream: Stream | None = None) -> None:
        """Make all later work on a stream, the current one for None, wait for the event."""
        if self._event is not None:
            _driver().wait_on_stream((current_stream() if stream is None else stream)._handle, self._event)

    def query(self) -> bool:
        """Return True if the event has completed, or if it was never recorded."""
        return self._event is None or _driver().event_is_done(self._event)

    def synchronize(self) -> None:
        """Wait until the event has completed."""
        if self._event is not None:
            _driver().wait_for_event(self._event)
            buffers.waited()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the time in milliseconds from this event to another.

        Raises:
            ValueError: one of them was made without ``enable_timing``, was not recorded, or has not completed.
        """
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise ValueError("Both events must be completed before calculating elapsed time.")
        return _driver().elapsed_time(self._event, end_event._event)

    def __del__(self) -> None:
        if self._event is not None:
            self._forget(self._event)

    def __repr__(self) -> str:
        state = "uninitialized" if self._event is None else f"device=cuda:{self._device}"
        return f"<numgrad.cuda.Event {state}>"
