"""From what a profile has noted to its events."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from ...core.layout import numel
from ..watching import BLOCK, NODE, RULE
from .events import Compilation, FunctionEvent, Interval, Kernel
from .recording import COMPILATION, LAUNCH, Record, Recording
from .trace import TURN

#: Blocks of this name and ``#``, a number, are summed, with ``*`` in its place.
STEP = "ProfilerStep"

#: PyTorch's numbers for what an event is about.
_SCOPES = {RULE: 1, BLOCK: 7}


def events_of(recording: Recording) -> list[FunctionEvent]:
    """An event for each record, in order; what was compiled is put to the innermost record that it was done in.

    A compilation within none has an event of its own, ``numgrad::compile``, and so has a kernel that a GPU ran within
    none, ``numgrad::launch``.
    """
    numbers = {thread: number for number, thread in enumerate(recording.threads, 1)}

    def microseconds(time: int | None) -> float:
        return ((recording.ended if time is None else time) - recording.begun) / 1e3

    forward: dict[int, FunctionEvent] = {}
    events = []
    for record in recording.records:
        event = _event(record, numbers, recording.threads, microseconds)
        if record.kind in (NODE, RULE):
            origin = forward.get(record.sequence)
            event.fwd_thread = 0 if origin is None else origin.thread
            event.stack = [] if origin is None else origin.stack
        elif record.sequence >= 0:
            forward.setdefault(record.sequence, event)
        events.append(event)
    begins = [record.begun for record in recording.records]
    for record in recording.compilations:
        interval = Interval(microseconds(record.begun), microseconds(record.ended))
        index = bisect_right(begins, record.begun) - 1
        while index >= 0 and not _stands_within(record, recording.records[index]):
            index -= 1
        if index >= 0:
            event = events[index]
        else:
            event = _event(record, numbers, recording.threads, microseconds)
            events.append(event)
        event.compilations.append(Compilation(record.name, interval))
    events.sort(key=lambda event: event.time_range.start)
    for number, event in enumerate(events, 1):
        event.id = number
    return events


def _stands_within(record: Record, other: Record) -> bool:
    assert record.ended is not None
    return other.thread == record.thread and (other.ended is None or other.ended >= record.ended)


def _event(
    record: Record, numbers: dict[int, int], threads: dict[int, int], microseconds: Any
) -> FunctionEvent:
    names = {NODE: TURN + record.name, COMPILATION: "numgrad::compile", LAUNCH: "numgrad::launch"}
    name = names.get(record.kind, record.name)
    inputs = record.inputs or []
    results = [(type, numel(shape) * type.numpy.itemsize) for shape, type in record.results or ()]
    event = FunctionEvent(
        id=0,
        name=f"{STEP}*" if name.startswith(f"{STEP}#") else name,
        trace_name=name,
        thread=numbers[record.thread],
        start_us=microseconds(record.begun),
        end_us=microseconds(record.ended),
        scope=_SCOPES.get(record.kind, 0),
        sequence_nr=record.sequence,
        is_user_annotation=record.kind == BLOCK,
        input_shapes=[list(value[0]) if _is_tensor(value) else [] for value in inputs],
        input_dtypes=[value[1].dtype.name if _is_tensor(value) else "" for value in inputs],
        concrete_inputs=[None if isinstance(v, tuple | list) else v for v in inputs],
        stack=record.stack or [],
        device_resource_id=threads[record.thread],
        result_bytes=sum(size for type, size in results if type.device.type == "cpu"),
        device_result_bytes=sum(size for type, size in results if type.device.type != "cpu"),
        remark=record.remark,
    )
    for launch in record.launches or ():
        interval = Interval(microseconds(launch.begun), microseconds(launch.ended))
        device = int(launch.device.partition(":")[2])
        event.kernels.append(Kernel(launch.name, device, interval.elapsed_us(), interval))
    return event


def _is_tensor(described: Any) -> bool:
    """Whether an argument as records describe it is a tensor, not several or none."""
    return isinstance(described, tuple)
