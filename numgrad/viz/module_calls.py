"""Which call of which module recorded a node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..autograd.node import Node
from ..nn.modules.calls_made import calls_made
from ..nn.modules.module import Module


class Call(NamedTuple):
    """A call of a module.

    Attributes:
        key: the key of the group or box that stands for it.
        name: the module's dotted name, empty for the outermost.
        module: the module.
        depth: how many calls lie around it; 0 for the outermost module, at least 1 for those below.
        parent: the call around it.
    """

    key: str
    name: str
    module: Module
    depth: int
    parent: Call | None

    def way(self) -> list[Call]:
        """The calls around this one, the outermost first, and this one."""
        found = [self]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found[::-1]


def calls_of(nodes: Iterable[Node], module: Module) -> dict[int, Call]:
    """By the number of a node, the innermost call of ``module`` or a part of it that recorded the node.

    It is found by the numbers alone (see ``numgrad.nn.modules.calls_made``): a node that another thread recorded
    during a call counts as recorded by it, and of calls too long ago nothing is known.
    """
    names = {id(part): (name, part) for name, part in module.named_modules()}
    made = sorted([(begun, -ended, part) for part, begun, ended in calls_made.copy() if part in names])
    open_calls: list[tuple[int, Call]] = []  # with the number at which each ended
    found: dict[int, Call] = {}
    waiting = iter([*made, None])
    following = next(waiting)
    for sequence in sorted([node.sequence for node in nodes]):
        while following is not None and following[0] < sequence:
            begun, ended, part = following
            following = next(waiting)
            while open_calls and open_calls[-1][0] < begun:
                open_calls.pop()
            name, called = names[part]
            parent = open_calls[-1][1] if open_calls else None
            depth = 0 if called is module else 1 if parent is None else parent.depth + 1
            open_calls.append((-ended, Call(f"m{begun}", name, called, depth, parent)))
        while open_calls and open_calls[-1][0] < sequence:
            open_calls.pop()
        if open_calls:
            found[sequence] = open_calls[-1][1]
    return found
