"""How large the parts of a picture are, and where the text stands in them; in points, as the SVG has them."""

from __future__ import annotations

from typing import NamedTuple

from ..picture import Box
from .text_width import monospace_width, sans_width

#: Sizes of the type: of titles, of the rows below them, at arrows and of the captions of groups.
TITLE, ROW, LABEL, CAPTION = 13.0, 10.5, 10.0, 11.5
#: From one row to the next, and from the frame of a box to its text.
LINE, PADDING = 14.0, 9.0


class Size(NamedTuple):
    """Width and height."""

    width: float
    height: float


def label_column(box: Box) -> int:
    """The characters of the column of labels, with the gap that follows it."""
    longest = max((len(row.label) for row in box.rows), default=0)
    return longest + 1 if longest else 0


def rows_width(box: Box) -> float:
    """The width of a box's rows: labels and texts in two columns."""
    column = " " * label_column(box)
    return max((monospace_width(column + row.text, ROW) for row in box.rows), default=0.0)


def box_size(box: Box) -> Size:
    """The size of a box that has room for its text."""
    title = sum(sans_width(text, TITLE, strong) for text, strong in box.title)
    width = max(title, rows_width(box)) + 2 * PADDING
    return Size(max(width, 44.0), TITLE + len(box.rows) * LINE + 2 * PADDING - 3)


def label_size(text: str, size: float = LABEL) -> Size:
    """The size of some lines at an arrow."""
    lines = text.split("\n")
    return Size(max(monospace_width(line, size) for line in lines) + 10, len(lines) * (size + 3))
