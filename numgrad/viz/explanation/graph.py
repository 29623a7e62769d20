"""What lies behind a tensor in the graph, whether it was freed, and how one tensor depends on another."""

from __future__ import annotations

from ...autograd.history import changes_since
from ...autograd.locations import Location
from ...autograd.node import Node
from ...autograd.saved import SavingNode
from ...core.display import counted
from ...core.tensor import Tensor
from . import requires
from .subject import NAMED, Subject, listed, nodes_behind

#: From how many paths on their number is not told.
MANY = 1000


def text(subject: Subject) -> str:
    """What backward would find on its way from this tensor."""
    if subject.trouble is not None:
        return subject.trouble
    node = subject.node
    if node is None:
        return "nothing lies behind it."
    return text_of_node(node)


def text_of_node(node: Node) -> str:
    """What backward would find from this node on."""
    nodes, leaves = nodes_behind(node)
    shapes = f" (of {_shapes(leaves)})" if leaves else ""
    verb = "lies" if len(nodes) == 1 and not leaves else "lie"
    found = f"{counted(len(nodes), 'node')} and {counted(len(leaves), 'leaf', 'leaves')}{shapes} {verb} behind it."
    location = None if node.attached is None else node.attached.location
    made = f" {node.name()} was recorded here:\n{location}" if location is not None else ""
    return f"{found}{made}{_fate(nodes, made != '')}"


def _shapes(tensors: list[Tensor]) -> str:
    return f"{'shape' if len(tensors) == 1 else 'shapes'} {listed([list(tensor._layout.shape) for tensor in tensors])}"


def _fate(nodes: list[Node], below: bool) -> str:
    """What became of what the nodes had saved."""
    changed = [
        (node, tensor, version)
        for node in nodes if isinstance(node, SavingNode) and not node.is_freed()
        for tensor, version in node.modified()
    ]
    freed = [node for node in nodes if node.freed_by is not None]
    start = "\n" if below else " "
    if freed:
        calls: dict[Location, list[str]] = {}
        for node in freed:
            assert node.freed_by is not None
            calls.setdefault(node.freed_by, []).append(node.name())
        parts = [f"What {listed(names)} had saved was freed here:\n{call}" for call, names in calls.items()]
        return start + "\n".join([*parts, "With retain_graph=True the graph can be gone through again."])
    if changed:
        node, tensor, version = changed[0]
        changes = list(changes_since(tensor, version).values())
        where = f", here:\n{changes[0]}\nBackward" if changes else ". Backward"
        return (
            f"{start}{node.name()} has saved a tensor of shape {list(tensor.shape)} at version {version} that was "
            f"changed in place since{where} will refuse to compute with it."
        )
    return f"{start}Nothing is freed: backward can go through it."


def dependence_text(subject: Subject, output: Tensor) -> str:
    """Whether and how ``output`` depends on the tensor."""
    other = Subject(output)
    if output is subject.tensor:
        return "the tensor itself."
    if not output.requires_grad:
        return f"{other.described()}. It requires no gradient: {requires.text(other)[7:]}"
    ways = _ways(other.target, subject) if subject.tensor.requires_grad else 0
    if not ways or other.target is None or subject.target is None:
        _, leaves = nodes_behind(other.target)
        on = f", only on leaves of {_shapes(leaves)}" if leaves else ""
        return f"{other.described()}. It does not depend on the tensor{on}."
    names = [node.name() for node in _way(other.target, subject.target)]
    if len(names) > 2 * NAMED:
        names[NAMED:-NAMED] = [f"({len(names) - 2 * NAMED} more)"]
    number = f"{MANY} paths or more" if ways == MANY else counted(ways, "path")
    by = f"{number} {'leads' if ways == 1 else 'lead'} back to the tensor"
    return f"{other.described()}. {by}{', the shortest' if ways > 1 else ''}: {' <- '.join(names)}"


def _ways(start: Node | None, subject: Subject) -> int:
    """How many paths lead from a node to where the gradient of the tensor arrives, no more than MANY."""
    nodes, _ = nodes_behind(start)
    ways: dict[Node, int] = {}
    for node in reversed(nodes):  # the oldest first: what a node leads to is known before it
        found = sum(
            ways.get(edge[0], 0) + (edge[0] is subject.target and edge[1] == subject.number)
            for edge in node.edges if edge is not None
        )
        ways[node] = min(found, MANY)  # the numbers themselves would be as long as the graph is deep
    return ways.get(start, 0) if start is not None and start is not subject.target else 0


def _way(start: Node, target: Node) -> list[Node]:
    """The shortest path from a node to another, both included."""
    before: dict[Node, Node | None] = {start: None}
    front = [start]
    while target not in before:
        reached = []
        for node in front:
            for edge in node.edges:
                if edge is not None and edge[0] not in before:
                    before[edge[0]] = node
                    reached.append(edge[0])
        front = reached
    path: list[Node] = []
    reached_from: Node | None = target
    while reached_from is not None:
        path.append(reached_from)
        reached_from = before[reached_from]
    return path[::-1]
