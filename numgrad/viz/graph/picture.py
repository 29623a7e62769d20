"""The content of a picture of a graph: boxes, arrows between them, groups around them.

The renderers (SVG, DOT, Mermaid, text) are independent of tensors and nodes; they show a :class:`Picture`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

#: The place of a gradient: the number of the node at which it arrives, and that of the node's output.
Slot = tuple[int, int]

#: A piece of a title, and True if it is emphasised.
Run = tuple[str, bool]


@dataclass(frozen=True)
class Row:
    """A line in a box, below its title.

    Attributes:
        label: the subject of the line, such as "saved"; empty if it continues the line before.
        text: the text of the line.
        tone: "plain", "quiet" or "alarm".
    """

    label: str
    text: str
    tone: str = "plain"


@dataclass(frozen=True)
class GradientRow(Row):
    """A line about stored gradients, which changes while backward runs.

    Attributes:
        slots: the slots of the gradients.
        name: the name of a single gradient.
        have: the number of gradients present, if there are several.
    """

    slots: tuple[Slot, ...] = ()
    name: str = ""
    have: int = 0


def gradient_row(name: str, slot: Slot, value: str | None) -> GradientRow:
    """Return the line about one gradient, with its shape or elements as ``value``; None if there is none."""
    return GradientRow("", f"{name} {value}", "quiet" if value is None else "plain", (slot,), name)


def leaves_row(slots: tuple[Slot, ...], have: int) -> GradientRow:
    """Return the line about the gradients of several leaves, of which ``have`` have one."""
    return GradientRow("", f"{'all' if have == len(slots) else f'{have:,}'} have a gradient", "quiet", slots, have=have)


@dataclass(frozen=True)
class Box:
    """A box of the picture.

    Attributes:
        key: its name within the picture, such as ``n12``, which stays the same when the graph is drawn again.
        category: "leaf", "data", "operation", "function", "module", "output" or "rest".
        title: its heading.
        rows: the lines below the title.
        group: the key of the enclosing group, or None.
        freed: True if its saved values are gone.
        alarm: True if backward would refuse to pass through it.
        tip: the tooltip; the title, if it is empty.
        leaves: the slots of the leaves inside it, if it stands for a module.
    """

    key: str
    category: str
    title: tuple[Run, ...]
    rows: tuple[Row, ...] = ()
    group: str | None = None
    freed: bool = False
    alarm: bool = False
    tip: str = ""
    leaves: tuple[Slot, ...] = ()

    @property
    def is_tensor(self) -> bool:
        """True if the box stands for a tensor rather than for operations."""
        return self.category in ("leaf", "data", "output")

    @property
    def name(self) -> str:
        """The title as one string."""
        return "".join(text for text, _ in self.title)


@dataclass(frozen=True)
class Arrow:
    """A tensor that flows from one box to another; its gradient flows in the opposite direction.

    Attributes:
        tail, head: the keys of the boxes.
        label: the name and shape of the tensor, in lines; empty where a box at one end shows them.
        dashed: True if no gradient flows back.
        edges: the edges of the graph that it stands for, each as the number of a node and the index of its input.
    """

    tail: str
    head: str
    label: str = ""
    dashed: bool = False
    edges: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class ModuleGroup:
    """The call of a module, which encloses the boxes that it recorded."""

    key: str
    title: str
    class_name: str
    parent: str | None = None

    @property
    def caption(self) -> str:
        """The title and the class of the module, unless they are the same."""
        return self.title if self.title == self.class_name else f"{self.title} {self.class_name}"


@dataclass(frozen=True)
class Picture:
    """A graph in displayable form.

    Attributes:
        boxes: in the order of backward, the results first.
        arrows: from operands to results.
        groups: parents before their children.
        direction: the direction of the computation: "down", "right", "up" or "left".
        arrowheads: "forward" if they point from operands to results, "backward" for the direction of gradients.
        summary: a description in one or two sentences.
        box_keys: for the number of each node of the graph, the key of the box that shows it.
        lit: for the key of each highlighted box, the note at it.
        trail: the keys of boxes that backward has visited, and the indices of arrows that a gradient has passed.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    groups: tuple[ModuleGroup, ...]
    direction: str
    arrowheads: str
    summary: str
    box_keys: Mapping[int, str] = field(repr=False, default_factory=dict)
    lit: Mapping[str, str] = field(default_factory=dict)
    trail: frozenset[str | int] = frozenset()

    def nested(self) -> Iterator[Box | ModuleGroup | None]:
        """Yield boxes and groups in nested order: the items after a group are inside it, until None ends the group."""
        inside: dict[str | None, list[Box | ModuleGroup | None]] = {}
        for box in self.boxes:
            inside.setdefault(box.group, []).append(box)
        for group in self.groups:
            inside.setdefault(group.parent, []).append(group)
        waiting = inside.get(None, [])[::-1]
        while waiting:
            item = waiting.pop()
            yield item
            if isinstance(item, ModuleGroup):
                waiting += [None, *inside.get(item.key, [])[::-1]]
