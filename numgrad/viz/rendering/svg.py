"""Pictures as SVG. No element has an ``id``, so that several pictures in one page cannot clash."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from ..graph.picture import Box, Picture
from .graphviz import Curve, PictureLayout, Point, Rectangle
from .sizes import CAPTION, LABEL, LINE, MONOSPACE, PADDING, ROW, TITLE, label_column, label_size, rows_width
from .style import GREY, LIGHT_UP, MONO, QUIET, SANS, TONES, Style, style_of

#: The margin around the picture.
MARGIN = 6.0

#: The smallest scale of a picture; below it, only a part is shown.
SMALLEST = 0.8


class Window(NamedTuple):
    """A part of a picture: the point in its middle, and its maximum size in pixels."""

    middle: Point
    width: float
    height: float


def svg_text(picture: Picture, layout: PictureLayout, window: Window | None = None) -> str:
    """Return the picture as SVG with the given layout; only the visible part if there is a window."""
    notes = [_note(text, key, picture, layout) for key, text in picture.lit.items() if text]
    right = round(max([layout.width, *[note.left + note.width for note, _ in notes]]) + 2 * MARGIN)
    bottom = round(max([layout.height, *[note.top + note.height for note, _ in notes]]) + 2 * MARGIN)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {_view(right, bottom, window)} role="img" '
        f'aria-label="{escape(picture.summary)}" style="max-width:100%;height:auto">',
        f"<title>{escape(picture.summary)}</title>",
    ]
    for group in picture.groups:
        where, (x, y) = layout.groups[group.key], layout.captions[group.key]
        lines.append(
            f'<g class="group"><rect {_bounds(where)} rx="6" fill="{GREY}" fill-opacity="0.09" stroke="{GREY}" '
            f'stroke-opacity="0.55"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" font-family="{SANS}" font-size="{CAPTION:g}" '
            f'fill="{GREY}"><tspan font-weight="bold">{escape(group.title)}</tspan>'
            f"{escape(group.caption[len(group.title):])}</text></g>"
        )
    for number, (arrow, curve) in enumerate(zip(picture.arrows, layout.curves, strict=True)):
        width = 2.0 if arrow.tail in picture.lit else 1.2
        lines += _arrow(curve, arrow.label, arrow.dashed, width, width == 2 or number in picture.trail)
    for box in picture.boxes:
        lines += _box(box, layout.boxes[box.key], style_of(picture, box))
    for note in notes:
        lines += _note_lines(*note)
    return "\n".join([*lines, "</svg>\n"])


def _view(width: int, height: int, window: Window | None) -> str:
    """Return the size at which a picture of this size is shown, and the visible part of it, as SVG attributes."""
    if window is None:
        return f'width="{width}" height="{height}" viewBox="{-MARGIN:g} {-MARGIN:g} {width} {height}"'
    scale = max(SMALLEST, min(1, window.width / width, window.height / height))
    lengths = min(width, window.width / scale), min(height, window.height / scale)
    starts = [
        max(0, min(point + MARGIN - length / 2, whole - length)) - MARGIN
        for point, length, whole in zip(window.middle, lengths, (width, height), strict=True)
    ]
    return (
        f'width="{lengths[0] * scale:.0f}" height="{lengths[1] * scale:.0f}" '
        f'viewBox="{starts[0]:.0f} {starts[1]:.0f} {lengths[0]:.0f} {lengths[1]:.0f}"'
    )


def _bounds(where: Rectangle) -> str:
    return f'x="{where.left:.1f}" y="{where.top:.1f}" width="{where.width:.1f}" height="{where.height:.1f}"'


def _box(box: Box, where: Rectangle, style: Style) -> Iterator[str]:
    yield f'<g class="node {box.category}" data-node="{escape(box.key)}"><title>{escape(box.tip or box.name)}</title>'
    dashes = ' stroke-dasharray="5 3"' if style.dashed else ""
    yield (
        f'<rect {_bounds(where)} rx="{style.radius:g}" fill="{style.fill}" stroke="{style.stroke}" '
        f'stroke-width="{style.width:g}"{dashes}/>'
    )
    middle = where.left + where.width / 2
    y = where.top + PADDING + TITLE - 3
    runs = "".join(
        f'<tspan font-weight="bold">{escape(text)}</tspan>' if strong else
        f'<tspan fill="{QUIET}">{escape(text)}</tspan>' for text, strong in box.title
    )
    yield (
        f'<text x="{middle:.1f}" y="{y:.1f}" text-anchor="middle" font-family="{SANS}" font-size="{TITLE:g}" '
        f'fill="{style.text}">{runs}</text>'
    )
    column = label_column(box)
    x = where.left + (where.width - rows_width(box)) / 2
    for number, row in enumerate(box.rows):
        height = y + 1 + (number + 1) * LINE
        if row.label:
            yield _mono(row.label, x, height, ROW, QUIET)
        if column:
            yield _mono(row.text, x + column * MONOSPACE * ROW, height, ROW, TONES[row.tone])
        else:
            yield _mono(row.text, middle, height, ROW, TONES[row.tone], "middle")
    yield "</g>"


def _mono(text: str, x: float, y: float, size: float, fill: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" xml:space="preserve" font-family="{escape(MONO)}" '
        f'font-size="{size:g}" fill="{fill}">{escape(text)}</text>'
    )


def _arrow(curve: Curve, label: str, dashed: bool, width: float, lit: bool) -> Iterator[str]:
    colour = LIGHT_UP if lit else GREY
    start, *further = curve.points
    path = f"M{_xy(start)}C{' '.join(map(_xy, further))}"
    dashes = ' stroke-dasharray="3 3"' if dashed else ""
    near, tip = curve.end
    if lit and curve.forward:  # the gradient flows in the opposite direction
        path += f"L{_xy(tip)}"
        near, tip = _short_of(further[0], start), start
    yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashes}/>'
    yield f'<path d="{_head(near, tip)}" fill="{colour}"/>'
    if curve.label is not None and label:
        x, y = curve.label
        lines = label.split("\n")
        for number, line in enumerate(lines):
            height = y + LABEL / 3 + (number - (len(lines) - 1) / 2) * (LABEL + 3)
            yield _mono(line, x, height, LABEL, colour if lit else GREY, "middle")


def _short_of(start: Point, tip: Point) -> Point:
    """Return the point on the line from ``start`` to ``tip`` at which the arrowhead begins."""
    part = min(8 / (math.dist(start, tip) or 1.0), 1.0)
    return tip[0] + (start[0] - tip[0]) * part, tip[1] + (start[1] - tip[1]) * part


def _xy(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _head(start: Point, tip: Point) -> str:
    """Return the outline of an arrowhead."""
    dx, dy = tip[0] - start[0], tip[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    across = (-dy / length * 3.4, dx / length * 3.4)
    left, right = (start[0] + across[0], start[1] + across[1]), (start[0] - across[0], start[1] - across[1])
    return f"M{_xy(tip)}L{_xy(left)}L{_xy(right)}Z"


def _note(text: str, key: str, picture: Picture, layout: PictureLayout) -> tuple[Rectangle, list[str]]:
    """Return the note at a lit box: on the side at which the gradient arrives, beside the arrow if there is room.

    The note stays within the picture where possible, so that the picture keeps its size.
    """
    box = layout.boxes[key]
    width, height = label_size(text, ROW)
    width, height = width + 10, height + 5
    top = box.top - height + 3 if picture.direction == "up" else box.top + box.height - 3
    middle = box.left + box.width / 2
    leftmost, rightmost = -MARGIN / 2, layout.width + MARGIN / 2 - width
    centred = max(min(middle - width / 2, rightmost), leftmost)
    for left in (middle + 7, middle - 7 - width, centred):
        where = Rectangle(left, max(top, -MARGIN / 2), width, height)
        others = [*[other for name, other in layout.boxes.items() if name != key], *_labels(picture, layout)]
        if leftmost <= left <= rightmost and not any(_overlap(where, other) for other in others):
            break
    return where, text.split("\n")


def _labels(picture: Picture, layout: PictureLayout) -> Iterator[Rectangle]:
    """Yield the rectangles of the arrow labels."""
    for arrow, curve in zip(picture.arrows, layout.curves, strict=True):
        if curve.label is not None and arrow.label:
            (x, y), (width, height) = curve.label, label_size(arrow.label)
            yield Rectangle(x - width / 2, y - height / 2, width, height)


def _overlap(first: Rectangle, second: Rectangle) -> bool:
    return (
        first.left < second.left + second.width and second.left < first.left + first.width
        and first.top < second.top + second.height and second.top < first.top + first.height
    )


def _note_lines(where: Rectangle, lines: list[str]) -> Iterator[str]:
    yield f'<g class="note"><rect {_bounds(where)} rx="4" fill="{LIGHT_UP}" stroke="#ffffff" stroke-width="1"/>'
    for number, line in enumerate(lines):
        y = where.top + 12 + number * (ROW + 3)
        yield _mono(line, where.left + where.width / 2, y, ROW, "#ffffff", "middle").replace(
            "<text ", '<text font-weight="bold" '
        )
    yield "</g>"
