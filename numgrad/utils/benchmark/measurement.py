"""Timed statements and their times."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "trim_sigfig", "unit_to_english"]

#: Spreads, as fractions of the median, above which a warning and a serious warning are issued.
_SPREAD, _GREAT_SPREAD = 0.1, 0.25

#: Resolution of times in seconds.
_RESOLUTION = 2.5e-8

#: Maximum number of significant digits shown.
_MOST_DIGITS = 4

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}


@dataclass(frozen=True, repr=False)
class TaskSpec:
    """A timed statement, and the names under which its times appear in tables."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or otherwise the statement, with the second label."""
        if self.label is None and "\n" in self.stmt:
            part = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{part}\n{textwrap.indent(self.stmt, '  ')}"
        part = f": {self.sub_label}" if self.sub_label else ""
        return (self.stmt if self.label is None else self.label) + part

    def setup_str(self) -> str:
        """Return a description of the setup code; empty if there is none."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return title, description and setup code, one below the other."""
        sections = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{section}\n" if "\n" in section else section for section in sections if section)


@dataclass(repr=False)
class Measurement:
    """Times of a statement, in seconds.

    The attributes of ``task_spec`` are also attributes of the measurement.

    Args:
        number_per_run: the number of runs of the statement for each of the times.
        raw_times: the total times of these runs.
        task_spec: the task measured.
        metadata: arbitrary additional data.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in {field.name for field in fields(TaskSpec)}:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """The time of one run, from each of the raw times."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """The interquartile range of the times."""
        return self._quantile(0.75) - self._quantile(0.25)

    def _quantile(self, part: float) -> float:
        return float(np.quantile(self.times, part))

    @property
    def significant_figures(self) -> int:
        """The number of significant digits of the median, by the spread of the middle half of the times; at least 1."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : math.ceil(3 * len(times) / 4)]
        interval = max(1.645 * float(np.std(middle)) / math.sqrt(len(middle)), _RESOLUTION)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MOST_DIGITS)

    def meets_confidence(self, threshold: float = _SPREAD) -> bool:
        """Return True if the interquartile range is less than this fraction of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        """True if the times vary much."""
        return not self.meets_confidence()

    def _warning(self) -> str:
        if not self.has_warnings:
            return ""
        cause = "could indicate system fluctuation"
        if not self.meets_confidence(_GREAT_SPREAD):
            cause = "suggests significant environmental influence"
        spread = self.iqr / self.median * 100
        return (
            f"  WARNING: Interquartile range is {spread:.1f}% of the median measurement.\n           This {cause}."
        )

    @property
    def title(self) -> str:
        """The title of the task; see :class:`TaskSpec`."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count = len(self.raw_times)
        unit, scale = select_unit(self.median)
        several = count > 1
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  {'Median: ' if several else ''}{self.median / scale:.2f} {unit}",
        ]
        if count >= 4:
            low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        runs = f"{self.number_per_run} runs {'per measurement,' if several else ','} {threads}"
        lines += [f"  {count} measurement{'s' if several else ''}, {runs}", self._warning()]
        return "\n".join(lines).strip()

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return one measurement per task, with the times of all its measurements."""
        times: dict[TaskSpec, list[float]] = {}
        for measurement in measurements:
            times.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, task_times, task) for task, task_times in times.items()]


def select_unit(t: float) -> tuple[str, float]:
    """Return a suitable unit for a time, and the unit's length in seconds."""
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(math.log10(t) // 3), "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """Return the word for a unit: "microsecond" for "us"."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number rounded to ``n`` significant digits."""
    scale = 10.0 ** (math.ceil(math.log10(abs(x))) - n)
    return float(round(x / scale) * scale)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return the distinct elements in the order of their first occurrence."""
    return list(dict.fromkeys(elements))
