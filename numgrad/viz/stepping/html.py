"""Steps of backward as HTML: the picture of the graph with the step's node lit, and the step's text.

It takes its colours from the page, and needs no script.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from html import escape

from ..drawing import Drawing
from ..rich.html import Html, element
from .frames import Frames
from .step import Step

#: Steps that a page shows, and characters up to which it shows a picture of each.
MANY, ROOM = 100, 120_000

#: Lines of text that are seen at once.
HEIGHT = 32

#: The room for a picture, in pixels.
WIDEST, TALLEST = 520, 600

_FRAME = "border:1px solid rgba(128,128,128,0.35);border-radius:4px;margin:2px 0;padding:2px 8px"

#: For the names of groups of ``details`` of which one is open.
_groups = itertools.count()


def steps_html(steps: Sequence[Step], frames: Frames | None) -> str:
    """All steps, each to be opened by itself."""
    if not steps:
        return "<div>no steps</div>"
    shown = steps[:MANY]
    drawing = steps[0].run.drawing
    drawn = picture(shown[0], frames)
    each = drawn is not None and len(drawn) * len(shown) <= ROOM
    group = f"numgrad-steps-{next(_groups)}"
    parts = []
    for step in shown:
        title = element("summary", f"{step.number}. {step.title}", style="cursor:pointer")
        content = _beside(_image(picture(step, frames), drawing), text_html(step)) if each else text_html(step)
        is_open = {"open": ""} if step is shown[0] else {}
        parts.append(element("details", title, content, name=group, **is_open, style=_FRAME))
    if drawing is not None and drawn is not None and not each:
        parts.insert(0, element("div", _image(drawing.svg, drawing), style="overflow:auto;max-height:40em"))
    if len(steps) > MANY:
        rest = element("code", f"steps[{MANY}:]")
        parts.append(element("div", f"and {len(steps) - MANY} more: look at ", rest))
    return element("div", *parts, class_="numgrad-steps")


def step_html(step: Step, frames: Frames | None, lines: int = 0) -> Html:
    """One step: picture and text, beside each other where there is room.  The text is so many lines high at least."""
    svg = picture(step, frames)
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


def picture(step: Step, frames: Frames | None) -> str | None:
    """The frame of the step; None if it cannot be drawn.

    Of a large graph it is the part around the node, always of the same size.
    """
    if frames is None:
        return None
    try:
        return frames.at(step).part(step.outermost.node, WIDEST, TALLEST)
    except (ImportError, ValueError):
        return None
