"""Pictures of the graph at each step of backward, and the steps as HTML.

A picture shows the present node, the nodes visited before, and the gradients that exist by then.  All pictures have one
layout, large enough for the longest text, so that nothing moves between them.  The HTML takes its colours from the page
and needs no script.
"""

from __future__ import annotations

import base64
import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import NamedTuple

from ...tensors.tensor import Tensor
from ..graph.drawing import Drawing
from ..graph.picture import Arrow, Box, GradientRow, Picture, Row, Slot, gradient_row, leaves_row
from ..html import Html, element
from ..values import Value, values_text
from .step import BackwardStep

#: The maximum number of lines and characters of a text at a node or at an arrow.
LINES, WIDTH = 3, 24


class _Gradients(NamedTuple):
    """The facts written into a picture.

    Attributes:
        kept: the gradients that were stored.
        first: the slots that were empty before.
        sent: the gradients that were sent over edges.
    """

    kept: dict[Slot, str]
    first: set[Slot]
    sent: dict[tuple[int, int], str]


class Frames:
    """The frames of one backward pass.

    Args:
        drawing: the graph before backward.
        steps: the steps of the pass, in order.
    """

    def __init__(self, drawing: Drawing, steps: Sequence[BackwardStep]):
        self._picture = drawing.picture
        self._steps = steps

    def at(self, step: BackwardStep) -> Drawing:
        """Return the picture at the end of a step: its node is highlighted, with the step's gradient as a note.

        Raises:
            ImportError: pygraphviz is not installed.
            ValueError: the step's node is not part of the graph that was drawn.
        """
        past = self._steps[: step.number]
        gradients = _gradients_after(past)
        keys = self._picture.box_keys
        visited = {keys[s.node.sequence] for s in past[:-1] if s.node.sequence in keys}
        crossed = [
            n for n, arrow in enumerate(self._picture.arrows)
            if any(edge in gradients.sent for edge in arrow.edges)
            or (not arrow.edges and not arrow.dashed and arrow.tail in visited)  # the starting point of backward
        ]
        picture = replace(_written(self._picture, gradients), trail=frozenset([*crossed, *visited]))
        return self._largest.with_picture(picture).highlighted({step.outermost.node: _note(step)})

    @functools.cached_property
    def _largest(self) -> Drawing:
        """A drawing with the longest of all texts, whose layout all frames share."""
        return Drawing(_written(self._picture, _gradients_after(self._steps, longest=True)))


def _gradients_after(steps: Sequence[BackwardStep], longest: bool = False) -> _Gradients:
    """Return the facts known after the steps; for each slot the last text, or the longest."""
    gradients = _Gradients({}, set(), {})
    for step in steps:
        for entry in step.accumulated:
            if entry.after is None:
                continue
            text = _in_short(entry.after, 1)[0]
            gradients.kept[entry.slot] = max(gradients.kept.get(entry.slot, ""), text, key=len) if longest else text
            if entry.before is None:
                gradients.first.add(entry.slot)
        for result in step.results:
            gradients.sent[step.node.sequence, result.index] = "".join(_elements(result.gradient, 1))
    return gradients


def _written(picture: Picture, gradients: _Gradients) -> Picture:
    """Return the picture with the known gradients."""
    boxes = tuple([_box(box, gradients) for box in picture.boxes])
    return replace(picture, boxes=boxes, arrows=tuple([_arrow(arrow, gradients) for arrow in picture.arrows]))


def _box(box: Box, gradients: _Gradients) -> Box:
    if not box.leaves:
        return replace(box, rows=tuple([_row(row, gradients) for row in box.rows]))
    had = sum(row.have for row in box.rows if isinstance(row, GradientRow))
    have = had + sum(slot in gradients.first for slot in box.leaves)
    rows = [row for row in box.rows if not isinstance(row, GradientRow)]
    return replace(box, rows=(*rows, leaves_row(box.leaves, have))) if have else box


def _row(row: Row, gradients: _Gradients) -> Row:
    if not isinstance(row, GradientRow) or row.slots[0] not in gradients.kept:
        return row
    return gradient_row(row.name, row.slots[0], gradients.kept[row.slots[0]])


def _arrow(arrow: Arrow, gradients: _Gradients) -> Arrow:
    """Return the arrow with the gradient that was sent over it, if it stands for a single edge."""
    sent = gradients.sent.get(arrow.edges[0]) if len(arrow.edges) == 1 else None
    return replace(arrow, label="\n".join(filter(None, [arrow.label, sent]))) if sent else arrow


def _note(step: BackwardStep) -> str:
    """Return the note at the node: the number of the step, and the gradient, if it is short enough."""
    lines = [f"step {step.number}"]
    for gradient in step.gradients[:1]:
        if gradient is not None:
            lines += _in_short(gradient, LINES)
    if len(step.gradients) > 1:
        lines.append(f"and {len(step.gradients) - 1} more")
    return "\n".join(lines)


def _in_short(gradient: Value, most: int) -> list[str]:
    """Return a gradient in few lines: its elements, or shape and dtype."""
    return _elements(gradient, most) or [f"{list(gradient.shape)} {gradient.dtype.name}"]


def _elements(gradient: Value | None, most: int) -> list[str]:
    """Return the elements of a gradient in at most ``most`` short lines; no line if they do not fit."""
    lines = values_text(gradient) if isinstance(gradient, Tensor) else []
    return lines if len(lines) <= most and all(len(line) <= WIDTH for line in lines) else []


#: The number of steps on a page, and the number of characters up to which a page has a picture of each.
MANY, LONGEST = 100, 120_000

#: The number of text lines visible at once.
HEIGHT = 32

#: The maximum size of a picture, in pixels.
WIDEST, TALLEST = 520, 600

_FRAME = "border:1px solid rgba(128,128,128,0.35);border-radius:4px;margin:2px 0;padding:2px 8px"

#: Numbers for the names of groups of ``details``, of which one is open at a time.
_groups = itertools.count()


def steps_html(steps: Sequence[BackwardStep], frames: Frames | None) -> str:
    """Return all steps as HTML, each to be opened by itself."""
    if not steps:
        return "<div>no steps</div>"
    shown = steps[:MANY]
    drawing = steps[0].run.drawing
    drawn = picture(shown[0], frames)
    each = drawn is not None and len(drawn) * len(shown) <= LONGEST
    group = f"numgrad-steps-{next(_groups)}"
    parts = []
    for step in shown:
        title = element("summary", f"{step.number}. {step.title}", style="cursor:pointer")
        content = _side_by_side(_image(picture(step, frames), drawing), text_html(step)) if each else text_html(step)
        is_open = {"open": ""} if step is shown[0] else {}
        parts.append(element("details", title, content, name=group, **is_open, style=_FRAME))
    if drawing is not None and drawn is not None and not each:
        parts.insert(0, element("div", _image(drawing.svg, drawing), style="overflow:auto;max-height:40em"))
    if len(steps) > MANY:
        omitted = element("code", f"steps[{MANY}:]")
        parts.append(element("div", f"and {len(steps) - MANY} more: look at ", omitted))
    return element("div", *parts, class_="numgrad-steps")


def step_html(step: BackwardStep, frames: Frames | None, lines: int = 0) -> Html:
    """Return one step as HTML: a picture beside a text of at least ``lines`` lines, or above it on a narrow page."""
    svg = picture(step, frames)
    return _side_by_side(None if svg is None else Html(svg), text_html(step, lines))


def _side_by_side(image: Html | None, text: Html) -> Html:
    parts = [] if image is None else [element("div", image, style="flex:0 1 auto;min-width:0")]
    parts.append(element("div", text, style="flex:1 1 24em;min-width:0"))
    wide = "width:0;min-width:100%"  # as wide as its container, whatever its content
    return element("div", *parts, style=f"{wide};display:flex;flex-flow:row wrap;gap:12px;align-items:flex-start")


def _image(svg: str | None, drawing: Drawing | None) -> Html | None:
    """Return a picture as an image, which, unlike SVG itself, is kept in untrusted notebooks."""
    if svg is None or drawing is None:
        return None
    data = base64.b64encode(svg.encode()).decode()
    return Html(
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(drawing.summary)}" '
        'style="max-width:100%;height:auto">'
    )


def text_html(step: BackwardStep, lines: int = 0) -> Html:
    """Return the text of a step as HTML."""
    height = f"height:{min(lines, HEIGHT) * 1.4 + 1:.1f}em;" if lines else ""
    return element("pre", step, style=(
        f"{height}overflow:auto;white-space:pre;margin:4px 0;line-height:1.4;font-size:0.9em;color:inherit;"
        "background:transparent"
    ))


def picture(step: BackwardStep, frames: Frames | None) -> str | None:
    """Return the frame of the step; None if it cannot be drawn.

    For a large graph it is the part around the node, always of the same size.
    """
    if frames is None:
        return None
    try:
        return frames.at(step).part(step.outermost.node, WIDEST, TALLEST)
    except (ImportError, ValueError):
        return None
