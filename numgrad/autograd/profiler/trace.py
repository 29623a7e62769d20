"""The events of a profile as files for other programs: Chrome's trace format, and stacks for flame graphs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import Any

#: How the names of the engine's turns at nodes begin.
TURN = "autograd::engine::evaluate_function: "


def write_trace(events: Any, path: str, metadata: Mapping[str, Any] | None = None) -> None:
    """Write the JSON of Chrome's trace event format, which Perfetto reads, too; compressed if the path ends in .gz.

    There is a complete event ("ph": "X") for each event, with its thread, its beginning and length in microseconds and
    in "args" what else is known of it; one for each compilation; one for each kernel on a GPU, which stands there as
    a process of its own; and arrows from operations to their nodes.  The metadata stand beside the events.

    Source: "Trace Event Format", the Chromium project.
    """
    entries = list(_entries(events))
    document = {"schemaVersion": 1, "displayTimeUnit": "ms", **(metadata or {}), "traceEvents": entries}
    opened: Any = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        json.dump(document, file)


def _entries(events: Any) -> Iterator[dict[str, Any]]:
    process, since = events.process, events.since
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "numgrad"}}
    for thread, number in sorted({(event.device_resource_id, event.thread) for event in events}):
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": f"thread {number}"}}
    for device in sorted({kernel.device for event in events for kernel in event.kernels}):
        yield {"ph": "M", "name": "process_name", "pid": device, "tid": 0, "args": {"name": f"GPU {device}"}}
    recorded: dict[int, dict[str, Any]] = {}
    for event in events:
        base = {"pid": process, "tid": event.device_resource_id}
        entry = {
            "ph": "X", "name": event.trace_name, "cat": _category(event), **base, **_times(event, since),
            "args": _arguments(event),
        }
        yield entry
        for compilation in event.compilations:
            name = f"compile {compilation.kernel}"
            yield {"ph": "X", "name": name, "cat": "compilation", **base, **_times(compilation, since), "args": {}}
        for kernel in event.kernels:
            base_of_gpu = {"pid": kernel.device, "tid": 0, "args": {"External id": event.id}}
            yield {"ph": "X", "name": kernel.name, "cat": "kernel", **base_of_gpu, **_times(kernel, since)}
        number = event.sequence_nr
        if number >= 0 and event.scope == 0 and number not in recorded and not event.name.startswith(TURN):
            recorded[number] = {**base, "ts": entry["ts"]}
        elif event.scope == 1 and number in recorded:
            arrow = {"id": number, "name": "fwdbwd", "cat": "fwdbwd"}
            yield {"ph": "s", **arrow, **recorded[number]}
            yield {"ph": "f", "bp": "e", **arrow, **base, "ts": entry["ts"]}


def _category(event: Any) -> str:
    return "user_annotation" if event.is_user_annotation else "cpu_op"


def _times(timed: Any, since: float) -> dict[str, float]:
    return {"ts": since + timed.time_range.start, "dur": timed.time_range.elapsed_us()}


def _arguments(event: Any) -> dict[str, Any]:
    arguments = {"External id": event.id, "Bytes": event.self_cpu_memory_usage + event.self_device_memory_usage}
    if event.sequence_nr >= 0:
        arguments["Sequence number"] = event.sequence_nr
        arguments["Fwd thread id"] = event.fwd_thread
    if event.self_compile_time_total:
        arguments["Compile us"] = event.self_compile_time_total
    if event.input_shapes:
        arguments["Input Dims"] = event.input_shapes
        arguments["Input type"] = event.input_dtypes
        arguments["Concrete Inputs"] = ["" if value is None else str(value) for value in event.concrete_inputs]
    if event.stack:
        arguments["Call stack"] = ";".join(event.stack)
    if event.remark is not None:
        arguments["Remark"] = event.remark
    return arguments


def write_stacks(events: Any, path: str, metric: str) -> None:
    """Write a line for each event that has a stack: the calls, the outermost first, and the metric, a whole number."""
    with open(path, "w", encoding="utf-8") as file:
        for event in events:
            value = int(getattr(event, metric))
            if event.stack and value > 0:
                calls = ";".join(call.replace(";", ",").replace(" ", "_") for call in reversed(event.stack))
                file.write(f"{calls} {value}\n")
