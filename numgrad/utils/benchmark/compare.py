"""Tables of measurements."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"
_BOLD, _END = "\033[1m", "\033[0m"

#: Measurements of a row, one per column, None for an empty cell.
_Row = Sequence[Measurement | None]


class Colorize(enum.Enum):
    """Scope within which times are compared with the best one."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements as tables, shown by ``str`` and ``print``.

    There is one table per label, with a row for each second label and a column for each description.

    Args:
        results: measurements; those of the same task are merged.
    """

    def __init__(self, results: Iterable[Measurement]):
        self._results: list[Measurement] = []
        self._trim = False
        self._colorize = Colorize.NONE
        self._highlight = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises:
            ValueError: a value is not a Measurement.
        """
        results = list(results)
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only significant digits."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour times by their distance from the best one of their column, or of their row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times that vary much between runs."""
        self._highlight = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        tables: dict[str | None, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            tables.setdefault(result.label, []).append(result)
        return "\n".join(self._table(label, results) for label, results in tables.items())

    # -- one table ----------------------------------------------------------------------------------------

    def _table(self, label: str | None, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(result.median for result in results))
        places = {(_row_key(result), result.description or ""): result for result in results}
        keys = sorted(ordered_unique(key for key, _ in places), key=lambda key: key[:2])
        columns = ordered_unique(column for _, column in places)
        rows: list[_Row] = [[places.get((key, column)) for column in columns] for key in keys]

        names = _row_names(keys)
        cells = [self._column([row[number] for row in rows], scale) for number in range(len(columns))]
        texts = [["", *columns], *([name, *row] for name, row in zip(names, zip(*cells, strict=True), strict=True))]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = ["  |  ".join(text.center(width) for text, width in zip(texts[0], widths, strict=True))]
        length = len(lines[0])
        before = None
        for key, row, line in zip(keys, rows, texts[1:], strict=True):
            if key[0] != before:
                before = key[0]
                lines.append(f"{before} threads: ".ljust(length, "-"))
                group = [other for other_key, other in zip(keys, rows, strict=True) if other_key[0] == before]
            best = self._best(row, group)
            parts = [line[0].ljust(widths[0])]
            for text, width, result, fastest in zip(line[1:], widths[1:], row, best, strict=True):
                text = text.center(width)
                parts.append(text if result is None or fastest is None else _coloured(text, result.median, fastest))
            lines.append("  |  ".join(parts))
        title = f" {label or ''} "
        note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        return "\n".join([
            f"[{title.center(length - 2, '-')}]",
            *lines,
            "",
            f"Times are in {unit_to_english(unit)}s ({unit}).",
            note if self._highlight and any(result.has_warnings for result in results) else "",
        ])

    def _column(self, results: _Row, scale: float) -> list[str]:
        """Return the texts of a column, all of the same length."""
        present = [result for result in results if result is not None]
        highlight = self._highlight and any(result.has_warnings for result in present)
        digits = [math.ceil(math.log10(result.median / scale)) for result in present]
        decimals = 1
        if self._trim:
            pairs = zip(present, digits, strict=True)
            decimals = min(max(result.significant_figures - count, 0) for result, count in pairs)
        width = max(digits) + decimals + (1 if decimals else 0)
        texts = []
        for result in results:
            value, mark = "", ""
            if result is not None:
                time = result.median / scale
                value = f"{trim_sigfig(time, result.significant_figures) if self._trim else time:.{decimals}f}"
                mark = f" (! {result.iqr / result.median * 100:.0f}%)" if highlight and result.has_warnings else ""
            texts.append(value.rjust(width) + mark.rjust(7 if highlight else 0))
        length = max(map(len, texts))
        return [text if text.strip() else " " * length for text in texts]

    def _best(self, row: _Row, group: Sequence[_Row]) -> list[float | None]:
        """Return the fastest time to compare each entry of a row with, or None for no comparison."""
        if self._colorize is Colorize.NONE:
            return [None] * len(row)
        if self._colorize is Colorize.ROWWISE:
            return [_fastest(row)] * len(row)
        return [_fastest(column) for column in zip(*group, strict=True)]


def _row_key(result: Measurement) -> tuple[int, str, str]:
    return result.num_threads, result.env or "", result.as_row_name


def _fastest(results: _Row) -> float | None:
    return min((result.median for result in results if result is not None), default=None)


def _row_names(keys: Sequence[tuple[int, str, str]]) -> list[str]:
    """Return the row headings: the name, preceded by the environment in rows where it changes."""
    environments = {env for _, env, _ in keys}
    width = max(map(len, environments)) if len(environments) > 1 else 0
    names, before = [], None
    for threads, env, name in keys:
        shown = f"({env})" if width and (threads, env) != before else ""
        before = threads, env
        names.append(f"  {shown.ljust(width + 4)}{name}")
    return names


def _coloured(text: str, time: float, best: float) -> str:
    if time <= best * 1.01 or time <= best + 1e-7:
        return f"{_BEST}{_BOLD}{text}{_END}{_END}"
    if time <= best * 1.1:
        return f"{_GOOD}{_BOLD}{text}{_END}{_END}"
    if time >= best * 5:
        return f"{_VERY_BAD}{_BOLD}{text}{_END}{_END}"
    return f"{_BAD}{text}{_END}{_END}" if time >= best * 2 else text
