"""Recording of a profile: an event for each activity of a thread.

A ``ProfileRecording`` watches operations, the engine, named blocks, the compiler and, if requested, GPUs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from time import perf_counter_ns, time_ns
from traceback import walk_stack
from typing import Any

from ..checks import is_tensor
from ..grad_mode import state
from ..locations import calling_frame
from ..node import AccumulateGrad
from ..operations import operations
from ..watching import BLOCK, NODE, RULE, Watcher, unwatch, watch
from .events import TURN, Compilation, FunctionEvent, Interval, KernelRun

#: Prefix of the names of numbered blocks: the blocks ``<prefix>#<number>`` are summed under the name ``<prefix>*``.
STEP = "ProfilerStep"

#: PyTorch's codes for the kind of an event.
_SCOPES = {RULE: 1, BLOCK: 7}


class ProfileRecording(Watcher):
    """Watcher that records the activities of one thread between ``start`` and ``stop``.

    Attributes:
        events: the events, in order of their start.
        threads: for each thread that has events, its number and the system's identifier.
        since: the start time, in nanoseconds since 1970.
    """

    needs_operations = False

    def __init__(self, *, with_shapes: bool = False, with_stack: bool = False, with_gpus: bool = False):
        self.with_gpus = with_gpus
        self.with_shapes = with_shapes
        self.with_stack = with_stack
        self.events: list[FunctionEvent] = []
        self.threads: dict[int, tuple[int, int]] = {}
        self.begun = self.since = 0
        self._forward: dict[int, FunctionEvent] = {}  # operations by the number of the node that they recorded
        self._open: list[FunctionEvent] = []

    def start(self) -> None:
        """Start watching this thread."""
        operations.devices.kernel_listeners.append(self._compiled)
        if self.with_gpus:
            operations.devices.launches.listen(self._launched, ("cuda",))
        watch(self)
        self.since = time_ns()
        self.begun = perf_counter_ns()

    def stop(self) -> None:
        """Stop watching; open events end now."""
        unwatch(self)
        ended = perf_counter_ns()
        if self._compiled in operations.devices.kernel_listeners:
            operations.devices.kernel_listeners.remove(self._compiled)
        if self.with_gpus:
            operations.devices.launches.unlisten(self._launched)
        if self._open:
            self._close(self._open[0], ended)

    def before(self, call: Any) -> FunctionEvent:
        return self._begin(call.title, call.args)

    def after(self, call: Any, token: FunctionEvent, result: Any) -> None:
        ended = perf_counter_ns()
        tensors = [value for value in (result if isinstance(result, tuple) else (result,)) if is_tensor(value)]
        number = next((tensor._edge[0].sequence for tensor in tensors if tensor._edge is not None), None)
        if number is not None:
            token.sequence_nr = number
            self._forward.setdefault(number, token)
        # Otherwise the memory belongs to the target, or a nested operation made it.
        if call.target is None and (call.closed or self.events[-1] is token):
            _count_memory(token, [tensor for tensor in tensors if tensor._view is None])
        self._close(token, ended)

    def failed(self, call: Any, token: FunctionEvent) -> None:
        self._close(token, perf_counter_ns())

    def begin(self, kind: str, subject: Any, value: Any) -> tuple[FunctionEvent, Any, Any]:
        if kind == BLOCK:
            event = self._begin(subject, (), kind)
            event.is_user_annotation, event.remark = True, value
            if subject.startswith(f"{STEP}#"):
                event.name = f"{STEP}*"
            return event, subject, value
        arguments = () if kind == NODE else value if isinstance(value, list) else (value,)
        event = self._begin(f"{TURN if kind == NODE else ''}{subject.name()}", arguments, kind)
        if subject.__class__ is not AccumulateGrad:
            event.sequence_nr = subject.sequence
            origin = self._forward.get(subject.sequence)
            if origin is not None:
                event.fwd_thread, event.stack = origin.thread, origin.stack
        return event, subject, value

    def end(self, token: tuple[FunctionEvent, Any, Any], result: Any) -> None:
        ended = perf_counter_ns()
        event, subject, value = token
        # If the rule called no operation, a kernel made the gradients.
        if result is not None and self.events[-1] is event and subject.makes_fresh_gradients:
            _count_memory(event, [gradient for gradient in result if gradient is not None and gradient is not value])
        self._close(event, ended)

    def _begin(
        self, name: str, arguments: Iterable[Any] = (), kind: str = "", begun: int | None = None
    ) -> FunctionEvent:
        """Open an event that begins at a time in nanoseconds, or now."""
        thread = threading.get_ident()
        if thread not in self.threads:
            self.threads[thread] = len(self.threads) + 1, threading.get_native_id()
        number, native = self.threads[thread]
        values = list(arguments) if self.with_shapes else []
        event = FunctionEvent(
            0, name, number, 0.0, 0.0, scope=_SCOPES.get(kind, 0), trace_name=name, device_resource_id=native,
            stack=_calls() if self.with_stack and kind in ("", BLOCK) and begun is None else [],
            input_shapes=[list(value._layout.shape) if is_tensor(value) else [] for value in values],
            input_dtypes=[value._layout.type.dtype.name if is_tensor(value) else "" for value in values],
            concrete_inputs=[v if isinstance(v, bool | int | float | complex | str) else None for v in values],
        )
        self.events.append(event)
        self._open.append(event)
        event.time_range.start = self._microseconds(perf_counter_ns() if begun is None else begun)
        return event

    def _close(self, event: FunctionEvent, ended: int) -> None:
        """Close an event, and the nested ones that an error left open."""
        if event not in self._open:
            return
        while True:
            innermost = self._open[-1]
            innermost.time_range.end = self._microseconds(ended)
            del self._open[-1]  # no function call: see Note [Ctrl-C]
            if innermost is event:
                return

    def _microseconds(self, time: int) -> float:
        return (time - self.begun) / 1e3

    def _compiled(self, name: str, begun: int, ended: int) -> None:
        if self in state.watchers:
            interval = Interval(self._microseconds(begun), self._microseconds(ended))
            self._innermost("numgrad::compile", begun, ended).compilations.append(Compilation(name, interval))

    def _launched(self, launch: Any) -> None:
        if self in state.watchers:
            interval = Interval(self._microseconds(launch.begun), self._microseconds(launch.ended))
            device = int(launch.device.partition(":")[2])
            event = self._innermost("numgrad::launch", launch.begun, launch.ended)
            event.kernels.append(KernelRun(launch.name, device, interval.elapsed_us(), interval))

    def _innermost(self, name: str, begun: int, ended: int) -> FunctionEvent:
        """Return the innermost open event; if there is none, make one of this name for the kernel."""
        if self._open:
            return self._open[-1]
        event = self._begin(name, begun=begun)
        self._close(event, ended)
        return event


def _count_memory(event: FunctionEvent, tensors: Iterable[Any]) -> None:
    """Add the bytes of tensors to those that an event made itself."""
    for tensor in tensors:
        size = tensor._layout.size * tensor._layout.type.numpy.itemsize
        if tensor._layout.type.device.type == "cpu":
            event.self_cpu_memory_usage += size
        else:
            event.self_device_memory_usage += size


def _calls() -> list[str]:
    """Return the program's calls that led into this package, innermost first: ``file.py(7): function``."""
    frames = walk_stack(calling_frame(2))
    return [f"{frame.f_code.co_filename}({line}): {frame.f_code.co_name}" for frame, line in frames]
