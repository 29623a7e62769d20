"""Text tables of the events of a profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}  # in microseconds, largest first
_WIDTH = 12  # default width of a column
_GAP = "  "


def format_time(microseconds: float, unit: str | None = None) -> str:
    """Format a time in a unit, by default in the largest of seconds, milliseconds and microseconds not exceeding it.

    Raises:
        ValueError: ``unit`` is unknown.
    """
    if unit is None:
        unit = next((name for name, length in _UNITS.items() if microseconds >= length), "us")
    if unit not in _UNITS:
        raise ValueError(f"time_unit should be one of {sorted(_UNITS)}, not {unit!r}")
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def format_memory(size: int) -> str:
    """Format a number of bytes, in units of 1024."""
    for unit, bytes in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(size) >= bytes:
            return f"{size / bytes:.2f} {unit}"
    return f"{size} B"


def format_share(part: float, whole: float) -> str:
    """Format the share of a part in a whole, in percent."""
    return f"{100 * part / whole:.2f}%" if whole else "--"


class _Column(NamedTuple):
    title: str
    text: Callable[[Any], str]
    width: int = _WIDTH


def line(columns: Sequence[_Column], texts: Sequence[str]) -> str:
    """Return a line of the table with one text per column, truncated if too long."""
    widths = [column.width for column in columns]
    return _GAP.join([_cut(text, width).rjust(width) for text, width in zip(texts, widths, strict=True)])


def columns_of(events: Any, widths: tuple[int, int, int], time_unit: str | None = None) -> list[_Column]:
    """Return the columns of the table of these events; ``widths`` limit those of names, shapes and sources."""
    total, of_device = events.self_cpu_time_total, events.self_device_time_total
    name_width, shapes_width, source_width = widths

    def time_of(attribute: str) -> Callable[[Any], str]:
        return lambda event: format_time(getattr(event, attribute), time_unit)

    def share_of(attribute: str, whole: float = total) -> Callable[[Any], str]:
        return lambda event: format_share(getattr(event, attribute), whole)

    def memory_of(attribute: str) -> Callable[[Any], str]:
        return lambda event: format_memory(getattr(event, attribute))

    columns = [
        _Column("Name", lambda event: event.key, _fitting([event.key for event in events], name_width)),
        _Column("Self CPU %", share_of("self_cpu_time_total")),
        _Column("Self CPU", time_of("self_cpu_time_total")),
        _Column("CPU total %", share_of("cpu_time_total")),
        _Column("CPU total", time_of("cpu_time_total")),
        _Column("CPU time avg", time_of("cpu_time")),
        _Column("Compile", time_of("self_compile_time_total")),
    ]
    device = (events.use_device or "").upper()
    if device:
        columns += [
            _Column(f"Self {device}", time_of("self_device_time_total")),
            _Column(f"Self {device} %", share_of("self_device_time_total", of_device)),
            _Column(f"{device} total", time_of("device_time_total")),
            _Column(f"{device} time avg", time_of("device_time"), 13),
        ]
    if events.profile_memory:
        columns.append(_Column("CPU Mem", memory_of("cpu_memory_usage")))
        columns.append(_Column("Self CPU Mem", memory_of("self_cpu_memory_usage")))
        if device:
            columns.append(_Column(f"{device} Mem", memory_of("device_memory_usage")))
            columns.append(_Column(f"Self {device} Mem", memory_of("self_device_memory_usage"), 13))
    else:
        columns.append(_Column("Bytes", lambda event: format_memory(made_bytes(event))))
    columns.append(_Column("# of Calls", lambda event: str(event.count)))
    shapes = [str(event.input_shapes) for event in events if event.input_shapes]
    if shapes:
        columns.append(_Column("Input Shapes", lambda event: str(event.input_shapes), _fitting(shapes, shapes_width)))
    sources = [source for event in events for source in event.stack or ()]
    if sources:
        columns.append(_Column(_SOURCE, lambda event: (event.stack or [""])[0], _fitting(sources, source_width)))
    return columns


def made_bytes(event: Any) -> int:
    """Return the memory of the tensors that an event made itself, on all devices."""
    return event.self_cpu_memory_usage + event.self_device_memory_usage


_SOURCE = "Source Location"


def stack_lines(columns: Sequence[_Column], event: Any) -> list[str]:
    """Return lines below the event's source for its other calls, all but the innermost."""
    calls = (event.stack or ())[1:] if columns[-1].title == _SOURCE else ()
    return [line(columns, [*[""] * (len(columns) - 1), call]) for call in calls]


def _fitting(texts: Sequence[str], limit: int) -> int:
    """Return the width of a column with these texts, at most ``limit`` and at least the default width."""
    return max(_WIDTH, min(limit, max(map(len, texts)))) if texts else _WIDTH


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
