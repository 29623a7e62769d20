"""The nodes behind others, found without recursion: a graph may be 100,000 nodes deep."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .node import DeadEnd, Node

__all__ = ["edges_of", "nodes_behind", "numbered_edges_of"]


def edges_of(node: Node) -> list[tuple[Node, int]]:
    """The edges along which gradients flow."""
    return [edge for edge in node.edges if edge is not None and not isinstance(edge[0], DeadEnd)]


def numbered_edges_of(node: Node) -> list[tuple[int, tuple[Node, int]]]:
    """The edges along which gradients flow, each with the number of the input that it belongs to."""
    edges = enumerate(node.edges)
    return [(n, edge) for n, edge in edges if edge is not None and not isinstance(edge[0], DeadEnd)]


def nodes_behind(roots: Iterable[Node], ends: Collection[Node] = ()) -> list[Node]:
    """The roots and all nodes that backward would go through from them, the latest first; not ``ends`` and beyond."""
    found: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.sequence not in found and node not in ends:
            found[node.sequence] = node
            stack += [edge[0] for edge in edges_of(node)]
    return [found[sequence] for sequence in sorted(found, reverse=True)]
