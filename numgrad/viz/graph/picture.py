"""What is in a picture of a graph: boxes, arrows between them, groups around them.

The renderers (SVG, DOT, Mermaid, text) know nothing of tensors and nodes; they show a :class:`Picture`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

#: Where a gradient is kept: the number of the node at which it arrives, and that of the node's output.
Slot = tuple[int, int]

#: A piece of a title, and whether it is what the eye should find first.
Run = tuple[str, bool]


@dataclass(frozen=True)
class Row:
    """A line in a box, below its title.

    Attributes:
        label: what the line is about, such as "saved"; empty if it goes on with the line before.
        text: what there is to say.
        tone: "plain", "quiet" or "alarm".
    """

    label: str
    text: str
    tone: str = "plain"


@dataclass(frozen=True)
class GradientRow(Row):
    """A line about gradients that are kept, which changes while backward runs.

    Attributes:
        slots: whose gradients.
        name: what one alone is called.
        have: of several, how many there are.
    """

    slots: tuple[Slot, ...] = ()
    name: str = ""
    have: int = 0


def gradient_row(name: str, slot: Slot, value: str | None) -> GradientRow:
    """The line about one gradient: its shape or its elements as ``value``, None if there is none."""
    return GradientRow("", f"{name} {value}", "quiet" if value is None else "plain", (slot,), name)


def leaves_row(slots: tuple[Slot, ...], have: int) -> GradientRow:
    """The line about the gradients of several leaves, of which so many have one."""
    return GradientRow("", f"{'all' if have == len(slots) else f'{have:,}'} have a gradient", "quiet", slots, have=have)


@dataclass(frozen=True)
class Box:
    """A box of the picture.

    Attributes:
        key: its name within the picture, such as ``n12``, which stays the same when the graph is drawn again.
        category: "leaf", "data", "operation", "function", "module", "output" or "rest".
        title: what it is called.
        rows: what is said of it.
        group: the key of the group that it lies in, None for none.
        freed: whether what it had saved is gone.
        alarm: whether backward would refuse to go through it.
        tip: what is shown where the mouse rests; the title, if it is empty.
        leaves: the slots of the leaves that lie in it, if it stands for a module.
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
        """Whether it stands for a tensor rather than for operations."""
        return self.category in ("leaf", "data", "output")

    @property
    def name(self) -> str:
        """The title in one piece."""
        return "".join(text for text, _ in self.title)


@dataclass(frozen=True)
class Arrow:
    """A tensor that goes from one box to another; its gradient comes back the other way.

    Attributes:
        tail, head: the keys of the boxes.
        label: name and shape of the tensor, in lines; empty where a box at one end says so.
        dashed: whether no gradient comes back.
        edges: the edges of the graph that it stands for: the number of a node, and which of its inputs.
    """

    tail: str
    head: str
    label: str = ""
    dashed: bool = False
    edges: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Group:
    """The call of a module, with the boxes that it recorded inside."""

    key: str
    title: str
    class_name: str
    parent: str | None = None

    @property
    def caption(self) -> str:
        """Title and class of the module, unless they are the same."""
        return self.title if self.title == self.class_name else f"{self.title} {self.class_name}"


@dataclass(frozen=True)
class Picture:
    """A graph as it is shown.

    Attributes:
        boxes: in the order of backward, the results first.
        arrows: from operands to results.
        groups: parents before their parts.
        direction: where the computation goes: "down", "right", "up" or "left".
        arrowheads: "forward" if they point from operands to results, "backward" for the way of gradients.
        summary: what there is to see, in a sentence or two.
        box_keys: for the number of each node of the graph, the key of the box that shows it.
        lit: by the keys of boxes, what is written at those that are highlighted.
        trail: the keys of boxes that backward has come by, and the numbers of arrows on which a gradient has gone.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    groups: tuple[Group, ...]
    direction: str
    arrowheads: str
    summary: str
    box_keys: Mapping[int, str] = field(repr=False, default_factory=dict)
    lit: Mapping[str, str] = field(default_factory=dict)
    trail: frozenset[str | int] = frozenset()

    def nested(self) -> Iterator[Box | Group | None]:
        """Boxes and groups as they lie in one another: what follows a group is inside, until None ends the group."""
        inside: dict[str | None, list[Box | Group | None]] = {}
        for box in self.boxes:
            inside.setdefault(box.group, []).append(box)
        for group in self.groups:
            inside.setdefault(group.parent, []).append(group)
        waiting = inside.get(None, [])[::-1]
        while waiting:
            item = waiting.pop()
            yield item
            if isinstance(item, Group):
                waiting += [None, *inside.get(item.key, [])[::-1]]
