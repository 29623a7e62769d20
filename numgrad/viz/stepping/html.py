"""Steps of backward as HTML: the picture of the graph with the step's node lit, and the step's text.

It takes its colours from the page, and needs no script.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Sequence
from html import escape

from ..._tensor import Tensor
from ..numbers import dtype_name, shape_text, values_text
from .step import Step

__all__ = ["picture", "step_html", "steps_html"]

#: Steps that a page shows, and characters up to which it shows a picture of each.
MANY, ROOM = 100, 120_000

#: Lines and characters of what is written at a node.
LINES, WIDTH = 3, 24

#: Lines of text that are seen at once.
HEIGHT = 32

#: The room for a picture, in pixels, and how small a large one is made before only a part of it is shown.
WIDEST, TALLEST, SMALLEST = 520, 600, 0.8

_FRAME = "border:1px solid rgba(128,128,128,0.35);border-radius:4px"

#: For the names of groups of ``details`` of which one is open.
_groups = itertools.count()


def steps_html(steps: Sequence[Step]) -> str:
    """All steps, each to be opened by itself."""
    if not steps:
        return "<div>no steps</div>"
    shown = steps[:MANY]
    drawn = picture(shown[0])
    each = drawn is not None and len(drawn) * len(shown) <= ROOM
    group = f"numgrad-steps-{next(_groups)}"
    parts = [
        f'<details name="{group}"{" open" if step is shown[0] else ""} style="{_FRAME};margin:2px 0;padding:2px 8px">'
        f'<summary style="cursor:pointer">{step.number}. {escape(step.title)}</summary>'
        f"{_beside(_image(picture(step)), text_html(step)) if each else text_html(step)}</details>"
        for step in shown
    ]
    if drawn is not None and not each:
        whole = steps[0].run.drawing
        image = None if whole is None else _image(whole.svg)
        parts.insert(0, f'<div style="overflow:auto;max-height:40em">{image}</div>')
    if len(steps) > MANY:
        parts.append(f"<div>and {len(steps) - MANY} more: look at <code>steps[{MANY}:]</code></div>")
    return f'<div class="numgrad-steps">{"".join(parts)}</div>'


def step_html(step: Step, lines: int = 0) -> str:
    """One step: picture and text, beside each other where there is room.  The text is so many lines high at least."""
    return _beside(picture(step), text_html(step, lines))


def _beside(drawn: str | None, text: str) -> str:
    image = "" if drawn is None else f'<div style="flex:0 1 auto;min-width:0">{drawn}</div>'
    return (  # as wide as what it stands in, whatever is in it
        f'<div style="width:0;min-width:100%;display:flex;flex-flow:row wrap;gap:12px;align-items:flex-start">{image}'
        f'<div style="flex:1 1 24em;min-width:0">{text}</div></div>'
    )


def _image(svg: str | None) -> str | None:
    """A picture as an image, which unlike SVG itself is left in notebooks that are not trusted."""
    if svg is None:
        return None
    label = re.search(r'aria-label="([^"]*)"', svg)
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<img src="data:image/svg+xml;base64,{data}" alt="{label.group(1) if label else ""}" '
        'style="max-width:100%;height:auto">'
    )


def text_html(step: Step, lines: int = 0) -> str:
    """The text of a step."""
    height = f"height:{min(lines, HEIGHT) * 1.4 + 1:.1f}em;" if lines else ""
    return (
        f'<pre style="{height}overflow:auto;white-space:pre;margin:4px 0;line-height:1.4;font-size:0.9em;color:inherit;'
        f'background:transparent">{escape(str(step))}</pre>'
    )


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
        svg = drawing.highlighted({lit.node: _note(step)}).svg
    except (ImportError, ValueError):
        return None
    box = drawing._layout.made.boxes[drawing._place(lit.node)]
    return _part(svg, (box.left + box.width / 2, box.top + box.height / 2))


def _part(svg: str, middle: tuple[float, float]) -> str:
    """The part of a picture around a point, where the whole is too large even when it is made a little smaller."""
    view = re.search(r'width="(\d+)" height="(\d+)" viewBox="(\S+) (\S+) \S+ \S+"', svg)
    if view is None:
        return svg
    whole = [int(length) for length in view.group(1, 2)]
    scale = max(SMALLEST, min(1, WIDEST / whole[0], TALLEST / whole[1]))
    lengths = [min(whole[0], WIDEST / scale), min(whole[1], TALLEST / scale)]
    starts = [
        max(float(first), min(point - length / 2, float(first) + all_of_it - length))
        for first, point, length, all_of_it in zip(view.group(3, 4), middle, lengths, whole, strict=True)
    ]
    return svg.replace(
        view.group(), f'width="{lengths[0] * scale:.0f}" height="{lengths[1] * scale:.0f}" '
        f'viewBox="{starts[0]:.0f} {starts[1]:.0f} {lengths[0]:.0f} {lengths[1]:.0f}"', 1
    )


def _note(step: Step) -> str:
    """What is written at the node: which step it is, and the gradient, if there is room for that."""
    lines = [f"step {step.number}"]
    for gradient in step.gradients[:1]:
        if gradient is not None:
            lines += _in_short(gradient)
    if len(step.gradients) > 1:
        lines.append(f"and {len(step.gradients) - 1} more")
    return "\n".join(lines)


def _in_short(gradient: object) -> list[str]:
    """A gradient in few lines."""
    if isinstance(gradient, Tensor):
        lines = values_text(gradient)
        if len(lines) <= LINES and all(len(line) <= WIDTH for line in lines):
            return lines
    shape, dtype = getattr(gradient, "shape", ()), getattr(gradient, "dtype", "")
    return [f"{shape_text(shape)} {dtype_name(dtype)}"]
