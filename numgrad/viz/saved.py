"""What a node has saved, and what its box says of that."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..autograd.node import Node
from ..autograd.saved import PACKED, SavingNode
from ..autograd.views import CopySlices
from ..core.tensor import Tensor
from ..ops.table.nodes import public_name
from .names import Names
from .numbers import values_text
from .picture import Row

#: Saved tensors that are listed in a box.
LISTED = 6
#: Characters of what is saved besides tensors.
LONG = 44


class Saved(NamedTuple):
    """Something that a node has saved, as it is kept; ``number`` says which output of the node it is, if it is one."""

    name: str
    value: Any
    version: int | None
    number: int | None


def acting(node: Node) -> Node:
    """The node whose rule runs and saves: of one that writes to a view, that of the writing operation."""
    while isinstance(node, CopySlices) and isinstance(node.operation, Node):
        node = node.operation
    return node


def entries_of(node: Node) -> list[Saved]:
    """What a node has saved."""
    node = acting(node)
    if not isinstance(node, SavingNode):
        return []
    return [Saved(*entry, node.saved_output(place)) for place, entry in enumerate(node.saved_entries())]


def saves_tensors(node: Node) -> bool:
    """Whether it has saved a tensor."""
    return any(entry.version is not None for entry in entries_of(node))


def is_spoiled(node: Node) -> bool:
    """Whether a saved tensor was changed in place since."""
    # not SavingNode.modified, which raises if another thread frees the node meanwhile
    return any(
        version is not None and version != PACKED and value._counter[0] != version
        for _, value, version, _ in entries_of(node)
    )


def saved_rows(node: Node, names: Names, values: bool) -> list[Row]:
    """The lines about what a node has saved, with the elements of tensors if ``values``."""
    blocks: list[list[Row]] = []  # the lines of each tensor
    others: list[str] = []
    for name, value, version, number in entries_of(node):
        if version is None:
            others += _setting(name, value)
        elif version == PACKED:
            blocks.append([Row("", f"{name} {list(value.shape)}, packed by a hook")])
        else:
            called = names.of_output(node.sequence, number) if number is not None else _called(value, names)
            is_called = f" = {called}" if called and called != name else ""
            text = f"{name}{is_called} {list(value.shape)}"
            now = value._counter[0]
            if now != version:
                blocks.append([Row("", f"{text}: version {version}, now {now}", "alarm")])
            else:
                blocks.append([Row("", line) for line in [text, *(values_text(value) if values else [])]])
    defaults = getattr(getattr(node, "op", None), "statics", {})
    for name, value in getattr(node, "constants", {}).items():
        others += _setting(public_name(name), value) if value != defaults.get(name) else []
    if len(blocks) > LISTED:
        blocks[LISTED:] = [[Row("", f"… {len(blocks) - LISTED} more", "quiet")]]
    rows = [row for block in blocks for row in block]
    if others:
        text = ", ".join(others)
        rows.append(Row("", text if len(text) <= LONG else text[: LONG - 1] + "…", "quiet"))
    return [Row("saved", row.text, row.tone) if place == 0 else row for place, row in enumerate(rows)]


def _called(tensor: Tensor, names: Names) -> str | None:
    """The name of a tensor, or of that which it is a view of."""
    base = None if tensor._view is None else names.of(tensor._root)
    return names.of(tensor) or (base and f"view of {base}")


def _setting(name: str, value: Any) -> list[str]:
    """Something saved that is no tensor, unless it only says no, or how matrices lie in memory (``columns``)."""
    if value is None or value is False or name == "columns" or (name in ("alpha", "beta") and value == 1):
        return []
    return [f"{name}={value!r}"]
