"""Sizes of the parts of a picture and positions of the text in them, in points, as in the SVG.

The widths of characters are those of DejaVu Sans, which is wider than other sans-serif fonts; fixed-width fonts are
nearly all alike.  Because nothing is measured with local fonts, boxes hold their text whatever fonts a reader has, and
a picture is the same everywhere.
"""

from __future__ import annotations

import unicodedata

from ..graph.picture import Box

#: Font sizes: of titles, of the rows below them, of arrow labels and of the captions of groups.
TITLE, ROW, LABEL, CAPTION = 13.0, 10.5, 10.0, 11.5
#: The distance between rows, and between the frame of a box and its text.
LINE, PADDING = 14.0, 9.0


def label_column(box: Box) -> int:
    """Return the width of the column of labels in characters, including the gap after it."""
    longest = max((len(row.label) for row in box.rows), default=0)
    return longest + 1 if longest else 0


def rows_width(box: Box) -> float:
    """Return the width of a box's rows: labels and texts in two columns."""
    column = " " * label_column(box)
    return max((monospace_width(column + row.text, ROW) for row in box.rows), default=0.0)


def box_size(box: Box) -> tuple[float, float]:
    """Return the width and the height of a box that holds its text."""
    title = sum(sans_width(text, TITLE, strong) for text, strong in box.title)
    width = max(title, rows_width(box)) + 2 * PADDING
    return max(width, 44.0), TITLE + len(box.rows) * LINE + 2 * PADDING - 3


def label_size(text: str, size: float = LABEL) -> tuple[float, float]:
    """Return the width and the height of the lines of an arrow label."""
    lines = text.split("\n")
    return max(monospace_width(line, size) for line in lines) + 10, len(lines) * (size + 3)


#: The width of a character of a fixed-width font at size 1.
MONOSPACE = 0.602

#: Widths of bold letters at size 1; other characters are assumed to be as wide as a digit.
_WIDTHS = {
    character: width
    for width, characters in {
        0.36: "'ijl IJ|\\/.,:;", 0.45: "-f!()[]tr_`", 0.6: '"*?zcs', 0.67: "vxyLkaeEFT", 0.73: "bdghnopquSYPCZ{}$",
        0.77: "BAKRVX", 0.84: "UGD#+<=>HN^~OQ&", 0.92: "w", 1.02: "%@Mm", 1.1: "W",
    }.items()
    for character in characters
}  # fmt: skip
_DIGIT, _REGULAR = 0.7, 0.92
#: Most readers have narrower fonts, and the padding of boxes covers the rest.
_TIGHT = 0.94


def sans_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a text in a sans-serif font."""
    width = sum(_WIDTHS.get(character, _DIGIT) * _cells(character) for character in text)
    return size * width * _TIGHT * (1 if bold else _REGULAR)


def monospace_width(text: str, size: float) -> float:
    """Return the width of a text in a fixed-width font."""
    return size * MONOSPACE * sum(map(_cells, text))


def _cells(character: str) -> int:
    """Return 2 for the wide characters of East Asian scripts, otherwise 1."""
    return 1 if character.isascii() or unicodedata.east_asian_width(character) not in "WF" else 2
