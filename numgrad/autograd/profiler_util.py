"""Lists of events, which show, sum and export them, in PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core.display import shown_by
from .profiler.events import Compilation, FunctionEvent, FunctionEventAvg, Interval
from .profiler.table import table
from .profiler.trace import write_stacks, write_trace

__all__ = ["Compilation", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class EventList(list[Any]):
    """A list of events, or of sums of them.

    Args:
        events: what stands in it.
        profile_memory: whether tables show memory in PyTorch's two columns.
        process: the identifier of the process, for traces.
        since: when the profile began, in microseconds since 1970, for traces.
        use_device: "cuda" if GPUs were profiled, too, which tables then show.
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

    _repr_html_ = shown_by("profiles")

    def _build_tree(self) -> None:
        """Find which event stands within which: in one thread, by their times."""
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
        """The time of all events together, compiling apart."""
        return sum(event.self_cpu_time_total for event in self)

    @property
    def self_device_time_total(self) -> float:
        """The time of all kernels on GPUs."""
        return sum(event.self_device_time_total for event in self)

    @property
    def compile_time_total(self) -> float:
        """How long compiling and loading kernels took."""
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
        """The events as a table.

        Beside PyTorch's columns there are "Compile", the time in which kernels were made (compiled or loaded from
        disk), which is no part of the others, and "Bytes", the memory of the tensors that were made.

        Args:
            sort_by: the attribute to sort by, the largest first: ``"self_cpu_time_total"``, ``"cpu_time_total"``,
                ``"cpu_time"``, ``"cuda_time_total"``, ``"compile_time_total"``, ``"self_cpu_memory_usage"``,
                ``"count"``; otherwise they stand in the order in which they began.
            row_limit: how many rows to show at most; -1 for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: longer text is cut.
            header: a line to put above.
            top_level_events_only: leave out what stands within another event.
            time_unit: "s", "ms" or "us" for all times; by default each has its own.

        Raises:
            AttributeError: the events have no such attribute.
            ValueError: there is no such unit.
        """
        return table(
            self, sort_by, row_limit, (max_name_column_width, max_shapes_column_width, max_src_column_width), header,
            top_level_events_only, time_unit, self.profile_memory,
        )

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events summed by name.

        Args:
            group_by_input_shapes: sum only those of the same input shapes (needs ``record_shapes``).
            group_by_stack_n: sum only those that the same innermost calls, this many, led to (needs ``with_stack``).
            group_by_overload_name: there are no overloads to tell apart.
        """

        def group(event: Any) -> tuple[Any, ...]:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            return event.key, event.is_user_annotation, shapes, *(event.stack or ())[:group_by_stack_n]

        result = self._summed(group)
        for average in result:
            if not group_by_input_shapes:
                average.input_shapes = ""
            average.stack = (average.stack or [])[:group_by_stack_n]
        return result

    def _summed(self, group: Callable[[Any], Any]) -> EventList:
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            sums.setdefault(group(event), FunctionEventAvg()).add(event)
        return EventList(
            sums.values(), profile_memory=self.profile_memory, process=self.process, since=self.since,
            use_device=self.use_device,
        )

    def total_average(self) -> FunctionEventAvg:
        """All events summed to one, with the key "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total._sum(event)
        total.key = "Total"
        return total

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file that ``chrome://tracing`` and Perfetto show; see ``profile``."""
        write_trace(self, path)

    def supported_export_stacks_metrics(self) -> Sequence[str]:
        """What ``export_stacks`` may count."""
        return ["self_cpu_time_total", *["self_cuda_time_total"] * (self.use_device == "cuda")]

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of the events, with how long each took, one in a line, as flame graphs are made of.

        Raises:
            ValueError: ``metric`` is not among ``supported_export_stacks_metrics()``.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        write_stacks(self, path, metric)
