"""Colours and lines of pictures: dark text in filled boxes with mid-grey lines, which suit light and dark pages."""

from __future__ import annotations

from typing import NamedTuple

from ..graph.picture import Box, Picture

SANS = "Helvetica, Arial, sans-serif"
MONO = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"

#: Colours of text in boxes: normal, secondary, and for errors.
DARK, QUIET, ALARM = "#1f2328", "#59616b", "#b3261e"
#: The colour of a row by its tone.
TONES = {"plain": DARK, "quiet": QUIET, "alarm": ALARM}
#: Arrows, captions and frames, which lie directly on the page.
GREY = "#7a7f87"
#: The frame and the arrows of highlighted boxes.
LIGHT_UP = "#c2590a"


class Style(NamedTuple):
    """The look of a box.  Round boxes are tensors, angular ones operations."""

    fill: str
    stroke: str
    radius: float = 3
    dashed: bool = False
    width: float = 1.2
    text: str = DARK


STYLES = {
    "leaf": Style("#cfe2f8", "#5b8cc0", 11),
    "data": Style("#efe6cf", "#b59a56", 11),
    "output": Style("#d2ecd0", "#62a35d", 11),
    "operation": Style("#e9ebee", "#8a9099"),
    "function": Style("#e4d8f5", "#8f72bf"),
    "module": Style("#cfe8e4", "#4f9a90", 3, False, 2),
    "rest": Style("#f3f2ee", "#8a9099", 3, True),
    "freed": Style("#f4f5f6", "#a2a7ae", 3, True, 1.2, "#5f6670"),
    "trail": Style("#fff1c2", LIGHT_UP, 3, False, 1.2),
    "lit": Style("#ffdb66", LIGHT_UP, 3, False, 2.6),
}


def style_of(picture: Picture, box: Box) -> Style:
    """Return the style of a box of the picture."""
    style = STYLES[box.category]
    if box.freed:
        style = STYLES["freed"]
    if box.alarm:
        style = style._replace(stroke=ALARM, width=2.2)
    if box.key in picture.lit or box.key in picture.trail:
        style = STYLES["lit" if box.key in picture.lit else "trail"]._replace(radius=style.radius)
    return style
