"""The interface to Graphviz, which lays out the SVG and draws PNG and PDF.

For the SVG, Graphviz receives boxes of known size without text.  The layout therefore needs no fonts and is identical
on every machine.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from ..graph.picture import Arrow, Box, ModuleGroup, Picture
from .sizes import CAPTION, LABEL, PADDING, ROW, TITLE, box_size, label_column, label_size, sans_width
from .style import DARK, GREY, LIGHT_UP, QUIET, TONES, style_of

#: A point: its distance from the left and from the top.
Point = tuple[float, float]

#: Graphviz' names of the directions.
RANKS = {"down": "TB", "up": "BT", "right": "LR", "left": "RL"}


class Rectangle(NamedTuple):
    """A rectangle: its top left corner, its width and its height."""

    left: float
    top: float
    width: float
    height: float


class Curve(NamedTuple):
    """The path of an arrow.

    Attributes:
        points: the points of Bézier curves; every third one lies on the path.
        end: the base and the tip of the arrowhead.
        forward: True if the arrowhead is at the end of the path.
        label: the centre of its label, if it has one.
    """

    points: list[Point]
    end: tuple[Point, Point]
    forward: bool
    label: Point | None

    def places_near(self, y: float, distance: float) -> list[float]:
        """Return the distances from the left of points on the path, close together, that lie near a height."""
        parts = [self.points[first : first + 4] for first in range(0, len(self.points) - 3, 3)]
        on_path = [*self.end, *[_on_curve(part, step / 16) for part in parts for step in range(17)]]
        return [x for x, height in on_path if abs(height - y) < distance]


def _on_curve(points: list[Point], t: float) -> Point:
    """Return the point of a cubic Bézier curve at a parameter from 0 to 1."""
    weights = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3
    x, y = (sum(weight * point[axis] for weight, point in zip(weights, points, strict=True)) for axis in (0, 1))
    return x, y


class PictureLayout(NamedTuple):
    """The coordinates of all parts of a picture.

    Attributes:
        width, height: the size of the whole picture.
        boxes, groups: rectangles by key.
        captions: for each group, the middle of the left side of its caption.
        curves: one per arrow, in the order of the arrows.
    """

    width: float
    height: float
    boxes: dict[str, Rectangle]
    groups: dict[str, Rectangle]
    captions: dict[str, Point]
    curves: list[Curve]


#: Graphviz keeps state in global variables, so only one thread may use it at a time.
_one_at_a_time = threading.Lock()


def _drawn(text: str, form: str) -> bytes:
    """Return Graphviz' output for a graph in the DOT language.

    Raises:
        ImportError: pygraphviz, the package that includes Graphviz, is not installed; the message says how to install
            it.
    """
    try:
        import pygraphviz  # the other formats do not need it
    except ImportError as error:
        raise ImportError(
            "drawing SVG, PNG and PDF needs pygraphviz, which includes Graphviz: pip install -e \".[notebooks]\" "
            "or pip install pygraphviz; Mermaid and text do not"
        ) from error
    with _one_at_a_time:
        graph = pygraphviz.AGraph(string=text)
        data: bytes = graph.draw(format=form, prog="dot")
        graph.close()
    return data


def lay_out(picture: Picture) -> PictureLayout:
    """Return the layout of a picture.

    Raises:
        ImportError: pygraphviz is not installed.
    """
    return _read(picture, json.loads(_drawn("\n".join(_lines(picture)), "json0")))


def _lines(picture: Picture) -> Iterator[str]:
    """Yield the lines of the graph in the DOT language."""
    yield f'digraph {{ rankdir={RANKS[picture.direction]}; nodesep=0.28; ranksep=0.34;'
    yield 'node [shape=box, fixedsize=true, label=""]; edge [arrowsize=0.8];'
    for item in picture.nested():
        if isinstance(item, Box):
            width, height = box_size(item)
            yield f'"{item.key}" [width={width / 72:.4f}, height={height / 72:.4f}];'
        elif isinstance(item, ModuleGroup):
            width, height = caption_size(item)
            room = _blank(2 * width + CAPTION, height)  # on one side of an arrow there is room for the caption
            yield f"subgraph cluster_{item.key} {{ margin=10; labeljust=l; label=<{room}>;"
        else:
            yield "}"
    direction = ", dir=back" if picture.arrowheads == "backward" else ""
    for number, arrow in enumerate(picture.arrows):
        label = f"label=<{_blank(*label_size(arrow.label))}>" if arrow.label else 'label=""'
        yield f'"{arrow.tail}" -> "{arrow.head}" [{label}{direction}, comment={number}];'
    yield "}"


def caption_size(group: ModuleGroup) -> tuple[float, float]:
    """Return the size of a group's caption."""
    return sans_width(group.caption, CAPTION, bold=True) + 6, CAPTION + 4


def _blank(width: float, height: float) -> str:
    """Return an empty table of this size, which stands in for a text."""
    return (
        '<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0" FIXEDSIZE="TRUE" '
        f'WIDTH="{width:.0f}" HEIGHT="{height:.0f}"><TR><TD></TD></TR></TABLE>'
    )


def _read(picture: Picture, layout: dict[str, Any]) -> PictureLayout:
    """Return the layout from Graphviz' JSON, in which heights are measured from the bottom."""
    left, bottom, right, top = map(float, layout["bb"].split(","))

    def point(text: str) -> Point:
        x, y = text.split(",")
        return float(x) - left, top - float(y)

    boxes, groups, heights = {}, {}, {}
    for item in layout.get("objects", ()):
        name = item["name"]
        if name.startswith("cluster_"):
            key = name.removeprefix("cluster_")
            west, south, east, north = map(float, item["bb"].split(","))
            groups[key] = Rectangle(west - left, top - north, east - west, north - south)
            heights[key] = point(item["lp"])[1]
        else:
            x, y = point(item["pos"])
            width, height = 72 * float(item["width"]), 72 * float(item["height"])
            boxes[name] = Rectangle(x - width / 2, y - height / 2, width, height)
    drawn = sorted(layout.get("edges", ()), key=lambda item: int(item["comment"]))
    curves = [_curve(arrow, item, point) for arrow, item in zip(picture.arrows, drawn, strict=True)]
    captions = {}
    for group in picture.groups:
        y = heights[group.key]
        captions[group.key] = _caption_start(groups[group.key], y, caption_size(group)[0], curves), y
    return PictureLayout(right - left, top - bottom, boxes, groups, captions, curves)


def _caption_start(group: Rectangle, y: float, width: float, curves: list[Curve]) -> float:
    """Return the left end of a caption: the first position in its group's line where no arrow crosses it."""
    crossings = [x for curve in curves for x in curve.places_near(y, CAPTION / 2 + 2)]
    last = group.left + group.width - PADDING / 2 - width
    candidates = [group.left + PADDING, *sorted([x + PADDING / 2 for x in crossings])]
    free = [x for x in candidates if x <= last and not any(x - 2 < other < x + width for other in crossings)]
    return next((x for x in free if x >= candidates[0]), candidates[0])


def _curve(arrow: Arrow, item: dict[str, Any], point: Any) -> Curve:
    mark, *ends = item["pos"].split()  # "e,x,y" for a tip at the end, "s,x,y" for one at the start; then the points
    forward = mark.startswith("e")
    points = [point(text) for text in ends]
    end = points[-1 if forward else 0], point(mark[2:])
    return Curve(points, end, forward, point(item["lp"]) if arrow.label else None)


def rendered(picture: Picture, form: str) -> bytes:
    """Return the picture as the content of a "png" or "pdf" file.

    Raises:
        ImportError: pygraphviz is not installed.
    """
    return _drawn(dot_text(picture), form)


def dot_text(picture: Picture) -> str:
    """Return the picture in DOT, with boxes at least as large as in the SVG, so that the layout is the same."""
    lines = [
        "digraph {",
        f'rankdir={RANKS[picture.direction]}; nodesep=0.28; ranksep=0.34; bgcolor="transparent"; dpi=144;',
        f'node [shape=box, fontname="sans-serif", fontsize={TITLE:g}, fontcolor="{DARK}", margin="0.1,0.05"];',
        f'edge [fontname="monospace", fontsize={LABEL:g}, fontcolor="{GREY}", color="{GREY}", arrowsize=0.8];',
    ]
    for item in picture.nested():
        lines.append(_box(item, picture) if isinstance(item, Box) else "}" if item is None else _group(item))
    lines += [_arrow(arrow, picture) for arrow in picture.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _group(group: ModuleGroup) -> str:
    caption = f"<B>{escape(group.title)}</B>{escape(group.caption[len(group.title):])}"
    return (
        f'subgraph cluster_{group.key} {{ margin=10; labeljust=l; label=<{caption}>; style="rounded,filled"; '
        f'fillcolor="{GREY}18"; color="{GREY}8c"; fontname="sans-serif"; fontsize={CAPTION:g}; fontcolor="{GREY}";'
    )


def _arrow(arrow: Arrow, picture: Picture) -> str:
    options = []
    if arrow.label:
        label = "\n".join(f" {line} " for line in arrow.label.split("\n"))
        options.append(f"label={_quoted(label)}")
    lit = arrow.tail in picture.lit  # the gradient flows in the opposite direction
    if lit or picture.arrowheads == "backward":
        options.append("dir=back")
    if arrow.dashed:
        options.append("style=dashed")
    if lit:
        options.append(f'color="{LIGHT_UP}", penwidth=2')
    return f'"{arrow.tail}" -> "{arrow.head}" [{", ".join(options)}];'


def _box(box: Box, picture: Picture) -> str:
    style = style_of(picture, box)
    width, height = box_size(box)
    shape = ["filled", *(["rounded"] if box.is_tensor else []), *(["dashed"] if style.dashed else [])]
    options = [
        f"label=<{_label(box)}>", f'style="{",".join(shape)}"', f'fillcolor="{style.fill}"', f'color="{style.stroke}"',
        f"penwidth={style.width:g}", f"width={width / 72:.4f}", f"height={height / 72:.4f}",
        f"tooltip={_quoted(box.tip or box.name)}",
    ]
    note = picture.lit.get(box.key)
    if note:
        text = _monospace(note, "#ffffff").replace("\n", "<BR/>")
        options.append(f'xlabel=<<TABLE BGCOLOR="{LIGHT_UP}" BORDER="0"><TR><TD>{text}</TD></TR></TABLE>>')
    return f'"{box.key}" [{", ".join(options)}];'


def _label(box: Box) -> str:
    """Return title and rows as Graphviz tables."""
    title = "".join(
        f"<B>{escape(text)}</B>" if strong else f'<FONT COLOR="{QUIET}">{escape(text)}</FONT>'
        for text, strong in box.title
    )
    column = label_column(box)
    side = "LEFT" if column else "CENTER"
    rows = [
        f'<TR><TD ALIGN="{side}">{_monospace(row.label.ljust(column), QUIET)}{_monospace(row.text, TONES[row.tone])}'
        "</TD></TR>"
        for row in box.rows
    ]
    return (
        '<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="1">'
        f'<TR><TD>{title}</TD></TR>{"".join(rows)}</TABLE>'
    )


def _monospace(text: str, colour: str) -> str:
    """Return a cell's text with its spaces preserved; "" for empty text, which Graphviz rejects."""
    if not text:
        return ""
    kept = escape(text).replace(" ", "&#160;")
    return f'<FONT FACE="monospace" POINT-SIZE="{ROW:g}" COLOR="{colour}">{kept}</FONT>'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
