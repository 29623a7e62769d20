"""Lists of profiled events, with tables, sums, and export to Chrome's trace format and to flame graphs."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...core.display import shown_by
from .events import TURN, FunctionEvent, FunctionEventAvg
from .table import columns_of, format_time, line, made_bytes, stack_lines


class EventList(list[Any]):
    """List of events, or of sums of events.

    Args:
        events: the initial elements.
        profile_memory: True if tables show memory in PyTorch's two columns.
        process: the identifier of the process, for traces.
        since: the start of the profile in microseconds since 1970, for traces.
        use_device: "cuda" if GPUs were profiled too; tables then show them.
    """

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        profile_memory: bool = False,
        process: int = 0,
        since: float = 0,
        use_device: str | None = None,
    ):
        super().__init__(events)
        self.profile_memory = profile_memory
        self.process = process
        self.since = since
        self.use_device = use_device

    def __str__(self) -> str:
        return self.table()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.table())

    _repr_html_ = shown_by("profile_html")

    def _build_tree(self) -> None:
        """Nest the events of each thread in one another according to their times."""
        inside: dict[int, list[FunctionEvent]] = {}
        for event in sorted(self, key=lambda e: (e.time_range.start, -e.time_range.end)):
            around = inside.setdefault(event.thread, [])
            while around and around[-1].time_range.end < event.time_range.end:
                around.pop()
            if around:
                around[-1].append_cpu_child(event)
                event.set_cpu_parent(around[-1])
            around.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all events, without compilation."""
        return sum(event.self_cpu_time_total for event in self)

    @property
    def self_device_time_total(self) -> float:
        """The total time of all kernels on GPUs."""
        return sum(event.self_device_time_total for event in self)

    @property
    def compile_time_total(self) -> float:
        """The time spent compiling and loading kernels."""
        return sum(event.self_compile_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table.

        In addition to PyTorch's columns, "Compile" shows the time in which kernels were made (compiled or loaded from
        disk), which the other columns exclude, and "Bytes" the memory of the tensors made.

        Args:
            sort_by: the attribute to sort by, in descending order: ``"self_cpu_time_total"``, ``"cpu_time_total"``,
                ``"cpu_time"``, ``"cuda_time_total"``, ``"compile_time_total"``, ``"self_cpu_memory_usage"``,
                ``"count"``; by default events keep the order in which they began.
            row_limit: the maximum number of rows; -1 for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: longer text is truncated.
            header: a line above the table.
            top_level_events_only: omit events nested in another event.
            time_unit: "s", "ms" or "us" for all times; by default each time has its own.

        Raises:
            AttributeError: the events have no attribute ``sort_by``.
            ValueError: ``time_unit`` is unknown.
        """
        if not self:
            return ""
        columns = columns_of(self, (max_name_column_width, max_shapes_column_width, max_src_column_width), time_unit)
        rule = line(columns, ["-" * column.width for column in columns])
        shown = list(self)
        if sort_by is not None:
            shown.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        lines = []
        if header is not None or top_level_events_only:
            lines.append("=" * len(rule))
        if header is not None:
            lines.append(header)
        if top_level_events_only:
            lines.append("Only events that are not nested in another one")
            shown = [event for event in shown if event.cpu_parent is None]
        lines += [rule, line(columns, [column.title for column in columns]), rule]
        for event in shown if row_limit < 0 else shown[:row_limit]:
            lines += [line(columns, [column.text(event) for column in columns]), *stack_lines(columns, event)]
        lines += [rule, f"Self CPU time total: {format_time(self.self_cpu_time_total, time_unit)}"]
        if self.use_device is not None:
            device_time = format_time(self.self_device_time_total, time_unit)
            lines.append(f"Self {self.use_device.upper()} time total: {device_time}")
        lines.append(f"Compile time total: {format_time(self.compile_time_total, time_unit)}")
        return "\n".join(lines) + "\n"

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return the events summed by name.

        Args:
            group_by_input_shapes: sum only events with the same input shapes (needs ``record_shapes``).
            group_by_stack_n: sum only events with the same innermost calls, this many (needs ``with_stack``).
            group_by_overload_name: no effect, because operations have no overloads here.
        """

        def group(event: Any) -> tuple[Any, ...]:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            return event.key, event.is_user_annotation, shapes, *(event.stack or ())[:group_by_stack_n]

        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            sums.setdefault(group(event), FunctionEventAvg()).add(event)
        for average in sums.values():
            if not group_by_input_shapes:
                average.input_shapes = ""
            average.stack = (average.stack or [])[:group_by_stack_n]
        return EventList(sums.values(), **vars(self))

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events, with the key "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total._sum(event)
        total.key = "Total"
        return total

    def export_chrome_trace(self, path: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Write the JSON of Chrome's trace event format, also read by Perfetto; compressed if the path ends in .gz.

        Each event becomes a complete event ("ph": "X") with its thread, its start and duration in microseconds, and
        further data in "args".  So does each compilation, and each kernel on a GPU, with the GPU as its process.
        Arrows link operations to their nodes.  The metadata are stored with the events.

        Source: "Trace Event Format", the Chromium project.
        """
        document = {"schemaVersion": 1, "displayTimeUnit": "ms", **(metadata or {}), "traceEvents": [*_entries(self)]}
        opened: Any = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            json.dump(document, file)

    def supported_export_stacks_metrics(self) -> Sequence[str]:
        """Return the metrics that ``export_stacks`` supports."""
        return ["self_cpu_time_total", *["self_cuda_time_total"] * (self.use_device == "cuda")]

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of the events, one per line, for flame graphs.

        A line contains the calls, outermost first, and the metric as an integer.

        Raises:
            ValueError: ``metric`` is not among ``supported_export_stacks_metrics()``.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, metric))
                if event.stack and value > 0:
                    calls = ";".join(call.replace(";", ",").replace(" ", "_") for call in reversed(event.stack))
                    file.write(f"{calls} {value}\n")


class Results:
    """Base of profiles: the results of their events.

    Attributes:
        function_events: the events in order of their start.
        with_stack: True if the profile records the calls that led to events.
    """

    function_events: EventList
    with_stack: bool

    def check_finished(self) -> None:
        """Raise RuntimeError unless the recording has ended."""
        raise NotImplementedError

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return the events summed by name; see :meth:`EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all events in microseconds, without compilation."""
        return self.function_events.self_cpu_time_total

    @functools.wraps(EventList.table)
    def table(self, *args: Any, **kwargs: Any) -> str:
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace for ``chrome://tracing`` and https://ui.perfetto.dev, compressed if the path ends in ``.gz``.

        Raises:
            RuntimeError: nothing has been recorded, or the recording has not ended.
        """
        self.check_finished()
        self.function_events.export_chrome_trace(path, getattr(self, "_metadata", None))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of the events with their times, in the format read by flame graph tools.

        Raises:
            RuntimeError: the recording has not ended, or ``with_stack`` was not set.
            ValueError: ``metric`` is unknown.
        """
        self.check_finished()
        if not self.with_stack:
            raise RuntimeError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    _repr_html_ = shown_by("profile_html")


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
        category = "user_annotation" if event.is_user_annotation else "cpu_op"
        entry = {
            "ph": "X", "name": event.trace_name, "cat": category, **base, **_times(event, since),
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


def _times(timed: Any, since: float) -> dict[str, float]:
    return {"ts": since + timed.time_range.start, "dur": timed.time_range.elapsed_us()}


def _arguments(event: Any) -> dict[str, Any]:
    arguments = {"External id": event.id, "Bytes": made_bytes(event)}
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
