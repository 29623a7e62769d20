"""Steps of backward as HTML: the picture of the graph with the step's node lit, and the step's text.

It takes its colours from the page, and needs no script.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from html import escape

from ..._rich.html import Html, element
from ..._tensor import Tensor
from ..drawing import Drawing
from ..numbers import values_text
from .step import Step
from .values import Value

__all__ = ["picture", "step_html", "steps_html"]

#: Steps that a page shows, and characters up to which it shows a picture of each.
MANY, ROOM = 100, 120_000

#: Lines and characters of what is written at a node.
LINES, WIDTH = 3, 24

#: Lines of text that are seen at once.
HEIGHT = 32

#: The room for a picture, in pixels.
WIDEST, TALLEST = 520, 600

_FRAME = "border:1px solid rgba(128,128,128,0.35);border-radius:4px;margin:2px 0;padding:2px 8px"

#: For the names of groups of ``details`` of which one is open.
_groups = itertools.count()


def steps_html(steps: Sequence[Step]) -> str:
    """All steps, each to be opened by itself."""
    if not steps:
        return "<div>no steps</div>"
    shown = steps[:MANY]
    drawing = steps[0].run.drawing
    drawn = picture(shown[0])
    each = drawn is not None and len(drawn) * len(shown) <= ROOM
    group = f"numgrad-steps-{next(_groups)}"
    parts = []
    for step in shown:
        title = element("summary", f"{step.number}. {step.title}", style="cursor:pointer")
        content = _beside(_image(picture(step), drawing), text_html(step)) if each else text_html(step)
        is_open = {"open": ""} if step is shown[0] else {}
        parts.append(element("details", title, content, name=group, **is_open, style=_FRAME))
    if drawing is not None and drawn is not None and not each:
        parts.insert(0, element("div", _image(drawing.svg, drawing), style="overflow:auto;max-height:40em"))
    if len(steps) > MANY:
        rest = element("code", f"steps[{MANY}:]")
        parts.append(element("div", f"and {len(steps) - MANY} more: look at ", rest))
    return element("div", *parts, class_="numgrad-steps")


def step_html(step: Step, lines: int = 0) -> Html:
    """One step: picture and text, beside each other where there is room.  The text is so many lines high at least."""
    svg = picture(step)
    return _beside(None if svg is None else Html(svg), text_html(step, lines))


def _beside(image: Html | None, text: Html) -> Html:
    parts = [] if image is None else [element("div", image, style="flex:0 1 auto;min-width:0")]
    parts.append(element("div", text, style="flex:1 1 24em;min-width:0"))
    wide = "width:0;min-width:100%"  # as wide as what it stands in, whatever is in it
    return element("div", *parts, style=f"{wide};display:flex;flex-flow:row wrap;gap:12px;align-items:flex-start")


def _image(svg: str | None, drawing: Drawing | None) -> Html | None:
    """A picture as an image, which unlike SVG itself is left in notebooks that are not trusted."""
    if svg is None or drawing is None:
        return None
    data = base64.b64encode(svg.encode()).decode()
    return Html(
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(drawing.summary)}" '
        'style="max-width:100%;height:auto">'
    )


def text_html(step: Step, lines: int = 0) -> Html:
    """The text of a step."""
    height = f"height:{min(lines, HEIGHT) * 1.4 + 1:.1f}em;" if lines else ""
    return element("pre", step, style=(
        f"{height}overflow:auto;white-space:pre;margin:4px 0;line-height:1.4;font-size:0.9em;color:inherit;"
        "background:transparent"
    ))


def picture(step: Step) -> str | None:
    """The graph with the node of the step lit and its gradient written there; None if it cannot be drawn.

    Of a large one it is the part around the node, always of the same size.
    """
    drawing = step.run.drawing
    if drawing is None:
        return None
    lit = step
    while lit.outer is not None:  # its own node belongs to a graph that was made in backward
        lit = lit.outer
    try:
        return drawing.highlighted({lit.node: _note(step)}).part(lit.node, WIDEST, TALLEST)
    except (ImportError, ValueError):
        return None


def _note(step: Step) -> str:
    """What is written at the node: which step it is, and the gradient, if there is room for that."""
    lines = [f"step {step.number}"]
    for gradient in step.gradients[:1]:
        if gradient is not None:
            lines += _in_short(gradient)
    if len(step.gradients) > 1:
        lines.append(f"and {len(step.gradients) - 1} more")
    return "\n".join(lines)


def _in_short(gradient: Value) -> list[str]:
    """A gradient in few lines."""
    if isinstance(gradient, Tensor):
        lines = values_text(gradient)
        if len(lines) <= LINES and all(len(line) <= WIDTH for line in lines):
            return lines
    return [f"{list(gradient.shape)} {gradient.dtype.name}"]
