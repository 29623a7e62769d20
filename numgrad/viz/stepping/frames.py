"""Pictures of the graph at each step of backward: where it is, where it has been, and what gradients there are by then.

All frames have one layout, with room for what is written in any of them, so that nothing moves from one to the next.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ...autograd.node import AccumulateGrad
from ...core.tensor import Tensor
from ..drawing import Drawing
from ..numbers import values_text
from ..picture import Arrow, Box, GradientRow, Picture, Row, Slot, gradient_row, leaves_row
from .step import Step
from .values import Value

#: Lines and characters of what is written at a node, or at an arrow.
LINES, WIDTH = 3, 24


class _Known(NamedTuple):
    """What is written into a picture.

    Attributes:
        kept: the gradients that came to be kept.
        first: where there was none before.
        sent: the gradients that went over edges.
    """

    kept: dict[Slot, str]
    first: set[Slot]
    sent: dict[tuple[int, int], str]


class Frames:
    """The frames of one backward pass.

    Args:
        drawing: the graph as it was before.
        steps: of the pass, in their order.
    """

    def __init__(self, drawing: Drawing, steps: Sequence[Step]):
        self._picture = drawing.picture
        self._steps = steps

    def at(self, step: Step) -> Drawing:
        """The picture at the end of a step, whose node is lit and has the step's gradient written at it.

        Raises:
            ImportError: pygraphviz is not installed.
            ValueError: the step's node is not part of the graph that was drawn.
        """
        past = self._steps[: step.number]
        known = _known(past)
        places = self._picture.places
        walked = {places[s.node.sequence] for s in past[:-1] if s.node.sequence in places}
        flown = [
            n for n, arrow in enumerate(self._picture.arrows)
            if any(edge in known.sent for edge in arrow.edges)
            or (not arrow.edges and not arrow.dashed and arrow.tail in walked)  # where it was begun
        ]
        picture = replace(_written(self._picture, known), trail=frozenset([*flown, *walked]))
        return self._roomy.with_picture(picture).highlighted({step.outermost.node: _note(step)})

    @functools.cached_property
    def _roomy(self) -> Drawing:
        """A drawing with the longest of all texts, which has the layout of all frames."""
        return Drawing(_written(self._picture, _known(self._steps, longest=True)))


def _known(steps: Sequence[Step], longest: bool = False) -> _Known:
    """What the steps have made known: of what was kept in one slot the last text, or the longest."""
    known = _Known({}, set(), {})
    for step in steps:
        for entry in step.accumulated:
            if entry.after is None:
                continue
            slot = step.node.sequence, 0 if isinstance(step.node, AccumulateGrad) else entry.tensor.output_nr
            text = _in_short(entry.after, 1)[0]
            known.kept[slot] = max(known.kept.get(slot, ""), text, key=len) if longest else text
            if entry.before is None:
                known.first.add(slot)
        for result in step.results:
            known.sent[step.node.sequence, result.place] = "".join(_elements(result.gradient, 1))
    return known


def _written(picture: Picture, known: _Known) -> Picture:
    """The picture with what is known of gradients."""
    boxes = tuple([_box(box, known) for box in picture.boxes])
    return replace(picture, boxes=boxes, arrows=tuple([_arrow(arrow, known) for arrow in picture.arrows]))


def _box(box: Box, known: _Known) -> Box:
    if not box.leaves:
        return replace(box, rows=tuple([_row(row, known) for row in box.rows]))
    had = sum(row.have for row in box.rows if isinstance(row, GradientRow))
    have = had + sum(slot in known.first for slot in box.leaves)
    rows = [row for row in box.rows if not isinstance(row, GradientRow)]
    return replace(box, rows=(*rows, leaves_row(box.leaves, have))) if have else box


def _row(row: Row, known: _Known) -> Row:
    if not isinstance(row, GradientRow) or row.slots[0] not in known.kept:
        return row
    return gradient_row(row.name, row.slots[0], known.kept[row.slots[0]])


def _arrow(arrow: Arrow, known: _Known) -> Arrow:
    """The arrow with the gradient that went over it, where it stands for one edge alone."""
    sent = known.sent.get(arrow.edges[0]) if len(arrow.edges) == 1 else None
    return replace(arrow, label="\n".join(filter(None, [arrow.label, sent]))) if sent else arrow


def _note(step: Step) -> str:
    """What is written at the node: which step it is, and the gradient, if there is room for that."""
    lines = [f"step {step.number}"]
    for gradient in step.gradients[:1]:
        if gradient is not None:
            lines += _in_short(gradient, LINES)
    if len(step.gradients) > 1:
        lines.append(f"and {len(step.gradients) - 1} more")
    return "\n".join(lines)


def _in_short(gradient: Value, most: int) -> list[str]:
    """A gradient in few lines: its elements, or shape and dtype."""
    return _elements(gradient, most) or [f"{list(gradient.shape)} {gradient.dtype.name}"]


def _elements(gradient: Value | None, most: int) -> list[str]:
    """The elements of a gradient in so many short lines, no line if they do not fit."""
    lines = values_text(gradient) if isinstance(gradient, Tensor) else []
    return lines if len(lines) <= most and all(len(line) <= WIDTH for line in lines) else []
