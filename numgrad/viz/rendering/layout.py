"""Where the parts of a picture lie, which Graphviz finds.

Graphviz is given boxes of known size without text, so it needs no fonts, and the same picture is laid out the same way
on every machine.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..picture import Arrow, Box, Group, Picture
from .sizes import CAPTION, box_size, label_size
from .text_width import sans_width

#: A point: from the left, from the top.
Point = tuple[float, float]

#: How Graphviz calls the directions.
RANKS = {"down": "TB", "up": "BT", "right": "LR", "left": "RL"}


class Rectangle(NamedTuple):
    """A rectangle: its corner at the left and the top, its width and height."""

    left: float
    top: float
    width: float
    height: float


class Curve(NamedTuple):
    """The way of an arrow.

    Attributes:
        points: of Bézier curves: every third lies on the way.
        end: where the arrowhead begins and where its tip is.
        forward: whether that is at the end of the way.
        label: the middle of its label, if it has one.
    """

    points: list[Point]
    end: tuple[Point, Point]
    forward: bool
    label: Point | None


class Layout(NamedTuple):
    """Where everything lies.

    Attributes:
        width, height: of the whole.
        boxes, groups: by key.
        captions: how far down the middle of each group's caption is.
        curves: one per arrow, in their order.
    """

    width: float
    height: float
    boxes: dict[str, Rectangle]
    groups: dict[str, Rectangle]
    captions: dict[str, float]
    curves: list[Curve]


def pygraphviz() -> Any:
    """The package that has Graphviz.

    Raises:
        ImportError: it is not installed; the message says how to install it.
    """
    try:
        import pygraphviz
    except ImportError as error:
        raise ImportError(
            "drawing SVG, PNG and PDF needs pygraphviz, which brings Graphviz along: pip install -e \".[notebooks]\" "
            "or pip install pygraphviz; the Mermaid and text forms do without"
        ) from error
    return pygraphviz


#: Graphviz keeps things in variables of its own: one thread at a time.
one_at_a_time = threading.Lock()


def lay_out(picture: Picture) -> Layout:
    """The layout of a picture.

    Raises:
        ImportError: pygraphviz is not installed.
    """
    graphviz = pygraphviz()
    text = "\n".join(_lines(picture))
    with one_at_a_time:
        graph = graphviz.AGraph(string=text)
        found = json.loads(graph.draw(format="json0", prog="dot"))
        graph.close()
    return _read(picture, found)


def _lines(picture: Picture) -> Iterator[str]:
    """The graph as Graphviz is given it."""
    yield f'digraph {{ rankdir={RANKS[picture.direction]}; nodesep=0.28; ranksep=0.34;'
    yield 'node [shape=box, fixedsize=true, label=""]; edge [arrowsize=0.8];'
    for item in picture.nested():
        if isinstance(item, Box):
            width, height = box_size(item)
            yield f'"{item.key}" [width={width / 72:.4f}, height={height / 72:.4f}];'
        elif isinstance(item, Group):
            yield f"subgraph cluster_{item.key} {{ margin=10; labeljust=l; label=<{_blank(*caption_size(item))}>;"
        else:
            yield "}"
    turned = ", dir=back" if picture.arrowheads == "backward" else ""
    for number, arrow in enumerate(picture.arrows):
        label = f"label=<{_blank(*label_size(arrow.label))}>" if arrow.label else 'label=""'
        yield f'"{arrow.tail}" -> "{arrow.head}" [{label}{turned}, comment={number}];'
    yield "}"


def caption_size(group: Group) -> tuple[float, float]:
    """The size of a group's caption."""
    return sans_width(group.caption, CAPTION, bold=True) + 6, CAPTION + 4


def _blank(width: float, height: float) -> str:
    """An empty table of this size, in place of a text."""
    return (
        '<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0" FIXEDSIZE="TRUE" '
        f'WIDTH="{width:.0f}" HEIGHT="{height:.0f}"><TR><TD></TD></TR></TABLE>'
    )


def _read(picture: Picture, found: dict[str, Any]) -> Layout:
    """The layout, from Graphviz' JSON, which counts heights from below."""
    left, bottom, right, top = map(float, found["bb"].split(","))

    def point(text: str) -> Point:
        x, y = text.split(",")
        return float(x) - left, top - float(y)

    boxes, groups, captions = {}, {}, {}
    for item in found.get("objects", ()):
        name = item["name"]
        if name.startswith("cluster_"):
            key = name.removeprefix("cluster_")
            west, south, east, north = map(float, item["bb"].split(","))
            groups[key] = Rectangle(west - left, top - north, east - west, north - south)
            captions[key] = point(item["lp"])[1]
        else:
            x, y = point(item["pos"])
            width, height = 72 * float(item["width"]), 72 * float(item["height"])
            boxes[name] = Rectangle(x - width / 2, y - height / 2, width, height)
    drawn = sorted(found.get("edges", ()), key=lambda item: int(item["comment"]))
    curves = [_curve(arrow, item, point) for arrow, item in zip(picture.arrows, drawn, strict=True)]
    return Layout(right - left, top - bottom, boxes, groups, captions, curves)


def _curve(arrow: Arrow, item: dict[str, Any], point: Any) -> Curve:
    mark, *rest = item["pos"].split()  # "e,x,y" for the tip at the end, "s,x,y" for one at the start; then the points
    forward = mark.startswith("e")
    points = [point(text) for text in rest]
    end = points[-1 if forward else 0], point(mark[2:])
    return Curve(points, end, forward, point(item["lp"]) if arrow.label else None)
