"""Pieces of reStructuredText, as lines."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

Lines = Iterator[str]


def heading(text: str, mark: str = "=") -> Lines:
    """Yield a heading in reStructuredText."""
    yield from (text, mark * len(text), "")


def summary(value: Any) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return escaped(" ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split()))


def escaped(text: str) -> str:
    """Return a line of a docstring, whose only markup are literals, in reStructuredText."""
    return re.sub(r"(``.+?``|:[a-z:]+:`.+?`)|[*|]|_(?=\W|$)", lambda found: found[1] or rf"\{found[0]}", text)


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> Lines:
    """Yield a table with a header row; nothing without other rows."""
    rows = list(rows)
    if not rows:
        return
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in (titles, *rows):
        for number, cell in enumerate(row):
            yield f"   {'  -' if number else '* -'} {cell}"
    yield ""


def literal(text: str) -> str:
    """Return text as an inline literal, on one line."""
    return f"``{' '.join(text.split())}``"


def indented(lines: Iterable[str], by: int = 3) -> Lines:
    """Yield lines indented by some blanks."""
    for line in lines:
        yield f"{' ' * by}{line}" if line else ""
