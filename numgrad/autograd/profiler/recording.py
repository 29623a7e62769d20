"""Records of a profile: the activities of a thread and their times, recorded cheaply and processed later.

A ``Recording`` watches operations, the engine, named blocks, the compiler and, if requested, GPUs.  It records only the
minimum for each: clock readings, shapes and types.  ``events_of`` makes the events from them afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter_ns, time_ns
from traceback import walk_stack
from typing import Any

from ...core.layout import numel
from ..checks import is_tensor
from ..grad_mode import state
from ..locations import calling_frame
from ..node import AccumulateGrad
from ..operations import operations
from ..watching import BLOCK, NODE, RULE, Watcher, unwatch, watch
from .events import TURN, Compilation, FunctionEvent, Interval, Kernel

#: Categories of records in addition to those of spans: operations, and kernels outside all others.
OPERATION, KERNEL = "operation", "kernel"


@dataclass(slots=True, eq=False)
class Record:
    """One recorded activity.

    Attributes:
        category: OPERATION, NODE, RULE or BLOCK; KERNEL for one that was made, or run by a GPU, outside all of these.
        name: PyTorch's name of the operation or node, or the block's; ``numgrad::compile`` or ``numgrad::launch``.
        thread: the identifier of the thread.
        begun, ended: in nanoseconds of ``time.perf_counter_ns``.
        sequence: the number of the node that it recorded, or of its own node; -1 if there is none.
        inputs: if requested, the arguments: (shape, TensorType) of a tensor, a list for a sequence, a number, or None.
        results: (shape, TensorType) of each tensor that it made and allocated.
        stack: if requested, the calls of the program that led to it, innermost first.
        remark: the program's remark on a block.
        compilations: kernels made directly within it, each with its start and end.
        launches: kernels that GPUs ran directly within it.
    """

    category: str
    name: str
    sequence: int = -1
    thread: int = field(default_factory=threading.get_ident)
    begun: int = 0
    ended: int | None = None
    inputs: list[Any] | None = None
    results: list[Any] | None = None
    stack: list[str] | None = None
    remark: str | None = None
    compilations: list[tuple[str, int, int]] = field(default_factory=list)
    launches: list[Any] = field(default_factory=list)


class Recording(Watcher):
    """Watcher that records the activities of one thread between ``start`` and ``stop``.

    Attributes:
        records: the records, in order of their start.
        threads: the system's identifier of each thread that has records.
        begun, ended: the start and stop times, in nanoseconds of ``time.perf_counter_ns``.
        since: the start time, in nanoseconds since 1970.
    """

    hears_operations = False
    sees_gradients = False

    def __init__(self, *, with_shapes: bool = False, with_stack: bool = False, with_gpus: bool = False):
        self.with_gpus = with_gpus
        self.with_shapes = with_shapes
        self.with_stack = with_stack
        self.records: list[Record] = []
        self.threads: dict[int, int] = {}
        self.begun = self.ended = self.since = 0
        self._open: list[Record] = []

    def start(self) -> None:
        """Start watching this thread."""
        operations.devices.kernel_listeners.append(self._compiled)
        if self.with_gpus:
            operations.devices.launches.listen(self._launched, ("cuda",))
        watch(self)
        self.since = time_ns()
        self.begun = perf_counter_ns()

    def stop(self) -> None:
        """Stop watching; open records end now."""
        unwatch(self)
        self.ended = perf_counter_ns()
        if self._compiled in operations.devices.kernel_listeners:
            operations.devices.kernel_listeners.remove(self._compiled)
        if self.with_gpus:
            operations.devices.launches.unlisten(self._launched)
        if self._open:
            self._close(self._open[0], self.ended)

    def before(self, call: Any) -> Record:
        record = Record(OPERATION, call.title)
        self._note(record, call.args)
        record.begun = perf_counter_ns()
        return record

    def after(self, call: Any, token: Record, result: Any) -> None:
        ended = perf_counter_ns()
        results = result if isinstance(result, tuple) else (result,)
        tensors = [value for value in results if is_tensor(value)]
        for tensor in tensors:
            if tensor._edge is not None:
                token.sequence = tensor._edge[0].sequence
                break
        # Otherwise the memory belongs to the target, or a nested operation made it.
        if call.target is None and (call.closed or self.records[-1] is token):
            token.results = [(t._layout.shape, t._layout.type) for t in tensors if t._view is None]
        self._close(token, ended)

    def failed(self, call: Any, token: Record) -> None:
        self._close(token, perf_counter_ns())

    def begin(self, kind: str, subject: Any, given: Any) -> tuple[Record, Any, Any]:
        if kind == BLOCK:
            record = Record(kind, subject)
            record.remark = given
        else:
            sequence = -1 if subject.__class__ is AccumulateGrad else subject.sequence
            record = Record(kind, subject.name(), sequence)
        self._note(record, () if kind != RULE else given if isinstance(given, list) else (given,))
        record.begun = perf_counter_ns()
        return record, subject, given

    def end(self, token: tuple[Record, Any, Any], result: Any) -> None:
        ended = perf_counter_ns()
        record, subject, given = token
        # If the rule called no operation, a kernel made the gradients.
        if result is not None and self.records[-1] is record and subject.makes_fresh_gradients:
            record.results = [(g._layout.shape, g._layout.type) for g in result if g is not None and g is not given]
        self._close(record, ended)

    def _note(self, record: Record, arguments: Iterable[Any]) -> None:
        """Open a record."""
        if record.thread not in self.threads:
            self.threads[record.thread] = threading.get_native_id()
        if self.with_shapes:
            record.inputs = [_described(value) for value in arguments]
        if self.with_stack and record.category in (OPERATION, BLOCK):
            record.stack = _calls()
        self.records.append(record)
        self._open.append(record)

    def _close(self, record: Record, ended: int) -> None:
        """Close a record, and the nested ones that an error left open."""
        if record.ended is not None:
            return
        while True:
            innermost = self._open[-1]
            innermost.ended = ended
            del self._open[-1]  # no function call: see Note [Ctrl-C]
            if innermost is record:
                return

    def _compiled(self, name: str, begun: int, ended: int) -> None:
        if self in state.watchers:
            self._innermost("numgrad::compile", begun, ended).compilations.append((name, begun, ended))

    def _launched(self, launch: Any) -> None:
        if self in state.watchers:
            self._innermost("numgrad::launch", launch.begun, launch.ended).launches.append(launch)

    def _innermost(self, name: str, begun: int, ended: int) -> Record:
        """Return the innermost open record; if there is none, make one of this name for the kernel."""
        if self._open:
            return self._open[-1]
        record = Record(KERNEL, name, begun=begun)
        self._note(record, ())
        self._close(record, ended)
        return record


def _described(value: Any) -> Any:
    """Return a description of an argument that does not hold a tensor."""
    if is_tensor(value):
        return value._layout.shape, value._layout.type
    if isinstance(value, list | tuple):
        return [_described(part) for part in value]
    return value if isinstance(value, bool | int | float | complex | str) else None


def _calls() -> list[str]:
    """Return the program's calls that led into this package, innermost first: ``file.py(7): function``."""
    frames = walk_stack(calling_frame(2))
    return [f"{frame.f_code.co_filename}({line}): {frame.f_code.co_name}" for frame, line in frames]


#: Blocks named with this prefix, ``#`` and a number are summed under the prefix and ``*``.
STEP = "ProfilerStep"

#: PyTorch's codes for the kind of an event.
_SCOPES = {RULE: 1, BLOCK: 7}


def events_of(recording: Recording) -> list[FunctionEvent]:
    """Return an event for each record, in order."""
    numbers = {thread: number for number, thread in enumerate(recording.threads, 1)}

    def microseconds(time: int | None) -> float:
        return ((recording.ended if time is None else time) - recording.begun) / 1e3

    forward: dict[int, FunctionEvent] = {}
    events = []
    for record in recording.records:
        event = _event(record, numbers, recording.threads, microseconds)
        if record.category in (NODE, RULE):
            origin = forward.get(record.sequence)
            event.fwd_thread = 0 if origin is None else origin.thread
            event.stack = [] if origin is None else origin.stack
        elif record.sequence >= 0:
            forward.setdefault(record.sequence, event)
        events.append(event)
    events.sort(key=lambda event: event.time_range.start)
    for number, event in enumerate(events, 1):
        event.id = number
    return events


def _event(
    record: Record, numbers: dict[int, int], threads: dict[int, int], microseconds: Any
) -> FunctionEvent:
    name = TURN + record.name if record.category == NODE else record.name
    inputs = record.inputs or []
    results = [(type, numel(shape) * type.numpy.itemsize) for shape, type in record.results or ()]
    event = FunctionEvent(
        id=0,
        name=f"{STEP}*" if name.startswith(f"{STEP}#") else name,
        trace_name=name,
        thread=numbers[record.thread],
        start_us=microseconds(record.begun),
        end_us=microseconds(record.ended),
        scope=_SCOPES.get(record.category, 0),
        sequence_nr=record.sequence,
        is_user_annotation=record.category == BLOCK,
        input_shapes=[list(value[0]) if _is_tensor(value) else [] for value in inputs],
        input_dtypes=[value[1].dtype.name if _is_tensor(value) else "" for value in inputs],
        concrete_inputs=[None if isinstance(v, tuple | list) else v for v in inputs],
        stack=record.stack or [],
        device_resource_id=threads[record.thread],
        self_cpu_memory_usage=sum(size for type, size in results if type.device.type == "cpu"),
        self_device_memory_usage=sum(size for type, size in results if type.device.type != "cpu"),
        remark=record.remark,
    )
    for kernel, begun, ended in record.compilations:
        event.compilations.append(Compilation(kernel, Interval(microseconds(begun), microseconds(ended))))
    for launch in record.launches:
        interval = Interval(microseconds(launch.begun), microseconds(launch.ended))
        device = int(launch.device.partition(":")[2])
        event.kernels.append(Kernel(launch.name, device, interval.elapsed_us(), interval))
    return event


def _is_tensor(described: Any) -> bool:
    """Return True if a described argument is a single tensor."""
    return isinstance(described, tuple)
