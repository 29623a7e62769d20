"""Steps of backward as HTML: the picture of the graph with the step's node lit, and the step's text.

It takes its colours from the page, and needs no script.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from html import escape

from .._tensor import Tensor
from .numbers import dtype_name, shape_text, values_text
from .step import Step

__all__ = ["picture", "step_html", "steps_html"]

#: Steps that a page shows, and characters up to which it shows a picture of each.
MANY, ROOM = 200, 250_000

#: Lines and characters of what is written at a node.
LINES, WIDTH = 3, 24

#: Lines of text that are seen at once.
HEIGHT = 24

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
        f"{step_html(step) if each else text_html(step)}</details>"
        for step in shown
    ]
    if drawn is not None and not each:
        whole = steps[0].run.drawing
        parts.insert(0, f'<div style="overflow:auto;max-height:40em">{whole.svg if whole is not None else ""}</div>')
    if len(steps) > MANY:
        parts.append(f"<div>and {len(steps) - MANY} more: look at <code>steps[{MANY}:]</code></div>")
    return f'<div class="numgrad-steps">{"".join(parts)}</div>'


def step_html(step: Step, lines: int = 0) -> str:
    """One step: picture and text, beside each other where there is room.  The text is so many lines high at least."""
    drawn = picture(step)
    image = "" if drawn is None else f'<div style="flex:0 1 auto;min-width:0;overflow:auto;max-height:40em">{drawn}</div>'
    return (
        f'<div style="display:flex;flex-flow:row wrap;gap:12px;align-items:flex-start">{image}'
        f'<div style="flex:1 1 24em;min-width:0">{text_html(step, lines)}</div></div>'
    )


def text_html(step: Step, lines: int = 0) -> str:
    """The text of a step."""
    height = f"height:{min(lines, HEIGHT) * 1.4 + 1:.1f}em;" if lines else ""
    return (
        f'<pre style="{height}overflow:auto;margin:4px 0;line-height:1.4;font-size:0.9em;color:inherit;'
        f'background:transparent">{escape(str(step))}</pre>'
    )


def picture(step: Step) -> str | None:
    """The graph with the node of the step lit and its gradient written there; None if it cannot be drawn."""
    drawing = step.run.drawing
    if drawing is None:
        return None
    lit = step
    while lit.parent is not None:  # its own node belongs to a graph that was made in backward
        lit = step.run.steps[lit.parent - 1]
    try:
        return drawing.highlighted({lit.node: _note(step)}).svg
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


def _in_short(gradient: object) -> list[str]:
    """A gradient in few lines."""
    if isinstance(gradient, Tensor):
        lines = values_text(gradient)
        if len(lines) <= LINES and all(len(line) <= WIDTH for line in lines):
            return lines
    shape, dtype = getattr(gradient, "shape", ()), getattr(gradient, "dtype", "")
    return [f"{shape_text(shape)} {dtype_name(dtype)}"]
