"""The nodes behind others, found without recursion: a graph may be 100,000 nodes deep."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from ..autograd.node import DeadEnd, Node

__all__ = ["edges_of", "nearest", "nodes_behind"]

_Key = TypeVar("_Key", bound=Hashable)


def edges_of(node: Node) -> list[tuple[Node, int]]:
    """The edges along which gradients flow."""
    return [edge for edge in node.edges if edge is not None and not isinstance(edge[0], DeadEnd)]


def nodes_behind(roots: Iterable[Node]) -> list[Node]:
    """The roots and all nodes that backward would go through from them, the latest first."""
    found: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.sequence not in found:
            found[node.sequence] = node
            stack += [edge[0] for edge in edges_of(node)]
    return [found[sequence] for sequence in sorted(found, reverse=True)]


def nearest(
    roots: Iterable[_Key], behind: Mapping[_Key, Sequence[_Key]], max_depth: int | None, max_count: int | None
) -> set[_Key]:
    """Those that are reached from the roots in at most ``max_depth`` steps, the ``max_count`` nearest of them."""
    front = list(dict.fromkeys(roots))
    found: set[_Key] = set()
    depth = 0
    while front and (max_depth is None or depth <= max_depth):
        room = len(front) if max_count is None else max_count - len(found)
        found.update(front[:room])
        if room < len(front):
            break
        front = [key for key in dict.fromkeys(k for near in front for k in behind.get(near, ())) if key not in found]
        depth += 1
    return found
