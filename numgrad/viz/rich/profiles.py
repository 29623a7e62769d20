"""Profiles: their table, in which bars show who took how much of the time."""

from __future__ import annotations

from typing import Any

from ...autograd.profiler.table import columns_of, format_time
from ...core.display import counted
from .html import element, framed, table

_MOST = 100

#: The greatest widths of names, shapes and sources, in characters.
_WIDTHS = (55, 40, 75)

_BAR = "rgba(90,150,230,.35)"


def html(profile: Any) -> str | None:
    """A profile's averages, or a list of events in its own order, as HTML; None if there are no events."""
    events: Any = profile if isinstance(profile, list) else _averages(profile)
    if not events:
        return None
    columns = columns_of(events, _WIDTHS, None, events.profile_memory)
    shown = events[:_MOST]
    total = events.self_cpu_time_total
    rows = [[_cell(column, event) for column in columns] for event in shown]
    gpus = f", on GPUs {format_time(events.self_device_time_total)}" if events.use_device else ""
    made = format_time(events.compile_time_total)
    totals = f"in all {format_time(total)}{gpus}, and {made} to compile or load kernels"
    if len(shown) < len(events):
        totals += f"; the first {_MOST} of {counted(len(events), 'row')}"
    return framed(element("p", totals), table(rows, [column.title for column in columns], class_="names"))


def _averages(profile: Any) -> Any:
    """The events of a profile, a single one or one with a schedule, summed by name; None if there are none yet."""
    if hasattr(profile, "profiler"):
        profile = profile.profiler
    if profile is None or not profile.function_events:
        return None
    averages = profile.key_averages()
    averages.sort(key=lambda event: event.self_cpu_time_total, reverse=True)
    return averages


def _cell(column: Any, event: Any) -> str:
    """What stands in a cell; a share of the time is a bar, too."""
    text = column.text(event)
    if not text.endswith("%"):
        return text
    return element("td", text, style=f"background: linear-gradient(90deg, {_BAR} {text}, transparent {text})")
