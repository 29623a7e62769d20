"""Selection and order of the nodes of a backward pass, and traversals for inspecting a graph.

Note [Order]
A node takes its number after its edges are set, so every consumer of a node's output has a higher number than the
node.  A traversal of the reachable nodes from the highest number down therefore reaches a node only after every node
that sends it a gradient has run.  AccumulateGrad nodes, the ends of paths, are older than the operations that use
their leaves.  In this order they would all run last and keep every parameter's gradient alive until then.  Instead of
being sorted, they count their incoming edges and run as soon as the last gradient has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any
from weakref import WeakMethod

from .node import AccumulateGrad, DeadEnd, Edge, Node


def reach(roots: Sequence[Edge], buffers: dict[Node, Any], pending: dict[AccumulateGrad, int]) -> bool:
    """Give every reachable node an empty buffer, and count the edges into each AccumulateGrad.

    Return True if all paths end at an AccumulateGrad.
    """
    stack: list[Node] = []
    edges: Iterable[Edge] = roots
    all_lead_on = True
    while True:
        leads_on = False
        for edge in edges:
            if edge is not None:
                leads_on = True
                node = edge[0]
                if node.__class__ is AccumulateGrad:
                    pending[node] = pending.get(node, 0) + 1
                elif node not in buffers:
                    buffers[node] = None
                    stack.append(node)
        if not leads_on:
            all_lead_on = False
        if not stack:
            return all_lead_on
        edges = stack.pop().edges


def leading_to(targets: Set[Node], order: Sequence[Node]) -> set[Node]:
    """Return the nodes of ``order`` from which a path leads to one of the targets."""
    leading: set[Node] = set()
    for node in reversed(order):
        for edge in node.edges:
            if edge is not None and (edge[0] in leading or edge[0] in targets):
                leading.add(node)
                break
    return leading


def only_behind(
    node: Node, results: Sequence[Any], roots: Iterable[Edge], left: Iterable[tuple[Node, Any]],
    leaves: Iterable[AccumulateGrad],
) -> set[Node]:
    """Return the nodes that are reachable only through the edges of ``node`` whose result is None.

    ``left`` are the nodes that have not run yet, in order, with the gradients that have arrived at them.
    """
    pairs = [(edge[0], result) for edge, result in zip(node.edges, results, strict=True) if edge is not None]
    ends = [end for end, result in pairs if result is None and not _is_plain_leaf(end)]
    if not ends:
        return set()
    behind = set(nodes_behind(ends))
    led_to = {edge[0] for edge in roots if edge is not None} | {end for end, result in pairs if result is not None}
    unreached = set()
    for waiting, gradient in left:
        if waiting in behind and waiting not in led_to and gradient is None:
            unreached.add(waiting)
        else:
            led_to.update([edge[0] for edge in waiting.edges if edge is not None])
    return unreached | {leaf for leaf in leaves if leaf in behind and leaf not in led_to}


def _is_plain_leaf(node: Node) -> bool:
    """Return True for a leaf at which nothing happens if no gradient arrives."""
    return isinstance(node, AccumulateGrad) and node.variable._hooks is None and node.attached is None


def edges_of(node: Node) -> list[tuple[Node, int]]:
    """Return the edges along which gradients flow."""
    return [edge for _, edge in numbered_edges_of(node)]


def numbered_edges_of(node: Node) -> list[tuple[int, tuple[Node, int]]]:
    """Return the edges along which gradients flow, each with the index of its input."""
    edges = enumerate(node.edges)
    return [(n, edge) for n, edge in edges if edge is not None and not isinstance(edge[0], DeadEnd)]


def nodes_behind(roots: Iterable[Node], is_end: Callable[[Node], bool] = lambda node: False) -> list[Node]:
    """Return the roots and all nodes that backward would reach from them, latest first, stopping at each end."""
    nodes: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.sequence not in nodes:
            nodes[node.sequence] = node
            if not is_end(node):
                stack += [edge[0] for edge in node.edges if edge is not None and edge[0].__class__ is not DeadEnd]
    return [nodes[sequence] for sequence in sorted(nodes, reverse=True)]


# -- work between nodes --------------------------------------------------------------------------------------


#: Weak references to methods that are called after each node of the passes that begin while they are here.
#: Communication that runs at the same time makes progress in them.
between_nodes: set[WeakMethod[Callable[[], Any]]] = set()


def interleaved(order: Iterable[Node]) -> Iterator[Node]:
    """Iterate over nodes, and call those methods between them."""
    methods = [each for method in between_nodes if (each := method()) is not None]
    for node in order:
        yield node
        for method in methods:
            method()
