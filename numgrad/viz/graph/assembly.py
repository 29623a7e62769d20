"""Conversion of a graph to its picture: the choice of boxes, arrows and groups, and of the part that is shown."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...autograd.graph import GradientEdge
from ...autograd.node import AccumulateGrad, DeadEnd, Node, edge_of
from ...autograd.order import edges_of, nodes_behind, numbered_edges_of
from ...core.display import counted
from ...nn.modules.module import Module
from ...tensors.tensor import Tensor, type_name
from .boxes import Describer, entries_of
from .module_calls import Fold, ModuleCall, calls_of, folded_calls
from .names import ObjectNames, readable
from .picture import Arrow, Box, ModuleGroup, Picture, Row

#: The key of the box that stands for everything not shown.
REST = "rest"


class Assembly:
    """The construction of one picture.

    Every node belongs to a unit, which becomes one box: the node itself, or the call of a folded module.  A unit is
    identified by its key.
    """

    def __init__(self, roots: Sequence[Root], module: Module | None, names: ObjectNames, fold: Fold):
        self.roots = roots
        self.names = names
        self.module = module
        self.nodes = nodes_behind([root.node for root in roots])
        operations = [node for node in self.nodes if not isinstance(node, AccumulateGrad)]
        self.calls: dict[int, ModuleCall] = {} if module is None else calls_of(operations, module)
        folded = folded_calls(fold, module, self.nodes, self.calls)
        #: For the number of each node, the key of its unit; for each such key, the members of the unit.
        self.unit: dict[int, str] = {}
        self.members: dict[str, list[Node]] = {}
        self.folded: dict[str, ModuleCall] = {}
        for node in operations:
            call = folded.get(node.sequence)
            if call is not None:
                self.folded[call.key] = call
            self._join(node, f"n{node.sequence}" if call is None else call.key)
        self._join_leaves()
        self.behind: dict[str, list[str]] = {}
        for node in self.nodes:
            unit = self.unit[node.sequence]
            behind = self.behind.setdefault(unit, [])
            behind += [key for other, _ in edges_of(node) if (key := self.unit[other.sequence]) != unit]

    def _join(self, node: Node, unit: str) -> None:
        self.unit[node.sequence] = unit
        self.members.setdefault(unit, []).append(node)

    def _join_leaves(self) -> None:
        """Move each parameter into the call that uses it, if only one call does."""
        parameters = set() if self.module is None else {id(parameter) for parameter in self.module.parameters()}
        users: dict[int, list[Node]] = {}
        for node in self.nodes:
            for other, _ in edges_of(node):
                if isinstance(other, AccumulateGrad) and id(other.variable) in parameters:
                    users.setdefault(other.sequence, []).append(node)
        for node in self.nodes:
            if isinstance(node, AccumulateGrad):
                using = users.get(node.sequence, [])
                units = {self.unit[user.sequence] for user in using}
                unit = next(iter(units)) if len(units) == 1 else ""
                self._join(node, unit if unit in self.folded else f"n{node.sequence}")
                calls = [self.calls.get(user.sequence) for user in using]
                common = _common_call(calls)
                if common is not None:
                    self.calls[node.sequence] = common

    def picture(
        self, describer: Describer, max_depth: int | None, max_nodes: int | None, direction: str, arrowheads: str
    ) -> Picture:
        """Return the picture of the units that are near enough to the roots."""
        shown = nearest([self.unit[root.node.sequence] for root in self.roots], self.behind, max_depth, max_nodes)
        box_keys = {sequence: unit if unit in shown else REST for sequence, unit in self.unit.items()}
        boxes, arrows = self._outputs(describer, box_keys)
        groups: dict[str, ModuleGroup] = {}
        for unit, members in self.members.items():
            if unit in shown:
                boxes.append(self._box(unit, members, describer, groups))
        data_boxes, data_arrows = self._data(describer, shown)
        boxes += data_boxes
        arrows += self._arrows(describer, box_keys) + data_arrows
        hidden = [node for node in self.nodes if box_keys[node.sequence] == REST]
        if hidden:
            boxes.append(_hidden_box(hidden))
        return Picture(
            tuple(boxes), tuple(arrows), tuple([groups[key] for key in sorted(groups, key=_start_of)]),
            direction, arrowheads, self._summary(boxes, hidden), box_keys,
        )

    # -- boxes ----------------------------------------------------------------------------------------------

    def _box(self, unit: str, members: list[Node], describer: Describer, groups: dict[str, ModuleGroup]) -> Box:
        call = self.folded.get(unit)
        if call is not None:
            group = self._group(call.parent, groups)
            return describer.module(unit, call, self._title(call), members, group)
        (node,) = members
        group = self._group(self.calls.get(node.sequence), groups)
        if isinstance(node, AccumulateGrad):
            return describer.leaf(unit, node, group)
        return describer.operation(unit, node, group)

    def _group(self, call: ModuleCall | None, groups: dict[str, ModuleGroup]) -> str | None:
        """Return the key of a call's group, which is created together with the groups around it."""
        if call is None:
            return None
        for each in call.path():
            if each.key not in groups:
                parent = each.parent.key if each.parent is not None else None
                groups[each.key] = ModuleGroup(each.key, self._title(each), type(each.module).__name__, parent)
        return call.key

    def _title(self, call: ModuleCall) -> str:
        """Return a module's name within the module around it, with the number of the call if there are several."""
        around = call.parent
        name = call.name or self.names.of(call.module) or type(call.module).__name__
        if around is not None and around.name and name.startswith(f"{around.name}."):
            name = name[len(around.name) + 1 :]
        turn = self._turns[call.key]
        return f"{readable(name)} (call {turn})" if turn else readable(name)

    @functools.cached_property
    def _turns(self) -> dict[str, int]:
        """For the key of each call, its index among the calls of the same module; 0 if it is the only one."""
        seen = {each.key: each for call in self.calls.values() for each in call.path()}
        same: dict[str, list[str]] = {}
        for key in sorted(seen, key=_start_of):
            same.setdefault(seen[key].name, []).append(key)
        return {
            key: turn if len(keys) > 1 else 0 for keys in same.values() for turn, key in enumerate(keys, start=1)
        }

    def _outputs(self, describer: Describer, box_keys: dict[int, str]) -> tuple[list[Box], list[Arrow]]:
        boxes, arrows = [], []
        for index, root in enumerate(self.roots):
            if root.tensor is not None and not isinstance(root.node, AccumulateGrad):
                boxes.append(describer.output(f"out{index}", root.tensor, root.name))
                arrows.append(Arrow(box_keys[root.node.sequence], f"out{index}"))
        return boxes, arrows

    def _data(self, describer: Describer, shown: set[str]) -> tuple[list[Box], list[Arrow]]:
        """Return boxes for the input data: saved tensors that require no gradient and have a name."""
        named: dict[int, tuple[Tensor, dict[str, None]]] = {}
        for unit in self.members:
            for node in self.members[unit] if unit in shown else ():
                for _, value, _, number in entries_of(node):
                    data = self._named_data(value) if number is None and isinstance(value, Tensor) else None
                    if data is not None:
                        named.setdefault(id(data), (data, {}))[1][unit] = None
        buffers = set() if self.module is None else {id(buffer) for buffer in self.module.buffers()}
        boxes, arrows = [], []
        for index, (tensor, units) in enumerate(named.values()):
            if id(tensor) in buffers and all(unit in self.folded for unit in units):
                continue
            boxes.append(describer.data(f"d{index}", tensor))
            arrows += [Arrow(f"d{index}", unit, dashed=True) for unit in units]
        return boxes, arrows

    def _named_data(self, tensor: Tensor) -> Tensor | None:
        """Return the tensor or the base that it is a view of, whichever has a name, unless it requires a gradient."""
        base = tensor if tensor._view is None else tensor._root
        if tensor._edge is not None or base._requires_grad:
            return None
        return next((data for data in (tensor, base) if self.names.of(data) is not None), None)

    def _arrows(self, describer: Describer, box_keys: dict[int, str]) -> list[Arrow]:
        arrows: dict[Any, Arrow] = {}
        edges: dict[Any, list[tuple[int, int]]] = {}
        for node in self.nodes:
            head = box_keys[node.sequence]
            for index, (other, number) in numbered_edges_of(node) if head != REST else ():
                tail = box_keys[other.sequence]
                if tail == head:
                    continue
                if tail == REST:
                    arrows[REST, head] = Arrow(REST, head)
                    continue
                key = (tail, head, other.sequence, number, None if head in self.folded else index)
                if key not in arrows:
                    label = "" if isinstance(other, AccumulateGrad) else describer.edge_label(other, number)
                    arrows[key] = Arrow(tail, head, label)
                edges.setdefault(key, []).append((node.sequence, index))
        return [replace(arrow, edges=tuple(edges.get(key, ()))) for key, arrow in arrows.items()]

    def _summary(self, boxes: Sequence[Box], hidden: Sequence[Node]) -> str:
        names = [box.name for box in boxes if box.category == "output"] or [self.roots[0].node.name()]
        operations = sum(not isinstance(node, AccumulateGrad) for node in self.nodes)
        count = len(self.nodes) - operations
        shown = [box.name for box in boxes if box.category == "leaf"]
        leaves = f" ({', '.join(shown)})" if shown and len(shown) == count <= 6 else ""
        text = (
            f"The graph of {', '.join(names[:4])}: {counted(operations, 'operation')} and "
            f"{counted(count, 'leaf', 'leaves')}{leaves}"
        )
        return f"{text}; {counted(len(hidden), 'node')} not shown" if hidden else text


def _start_of(key: str) -> int:
    """Return the number at which the call with this key began."""
    return int(key[1:])


def _hidden_box(hidden: Sequence[Node]) -> Box:
    rows = (Row("", "not shown", "quiet"),)
    return Box(REST, "rest", ((f"… {counted(len(hidden), 'more node')}", True),), rows, tip=(
        "further from the result: raise max_depth or max_nodes, or fold them by passing the module"
    ))


def _common_call(calls: Sequence[ModuleCall | None]) -> ModuleCall | None:
    """Return the innermost call that equals or contains all of the given calls."""
    common = None
    for step in zip(*[[] if call is None else call.path() for call in calls], strict=False):
        if len({call.key for call in step}) > 1:
            break
        common = step[0]
    return common


class Root(NamedTuple):
    """A starting point of a drawing.

    Attributes:
        node: the node whose graph is drawn.
        number: the index of the output of the node.
        tensor: the tensor that was given, None for a node.
        name: its key, if it was given in a dictionary.
    """

    node: Node
    number: int
    tensor: Tensor | None
    name: str | None


def roots_of(subject: Any) -> list[Root]:
    """Return the roots of the drawing of a subject.

    Raises:
        TypeError: the subject is or contains something other than tensors, nodes and gradient edges.
        ValueError: the subject is empty, or a tensor requires no gradient.
    """
    is_named = isinstance(subject, Mapping)
    if not is_named and (not isinstance(subject, list | tuple) or isinstance(subject, GradientEdge)):
        return [_root(subject, None, "subject")]
    if not subject:
        raise ValueError(f"there is nothing to draw: the {type(subject).__name__} is empty")
    return [
        _root(value, readable(str(key)) if is_named else None, f"subject[{key!r}]")
        for key, value in (subject.items() if is_named else enumerate(subject))
    ]


def _root(value: Any, name: str | None, which: str) -> Root:
    if isinstance(value, GradientEdge):
        return Root(value.node, value.output_nr, None, name)
    if isinstance(value, Node):
        return Root(value, 0, None, name)
    if not isinstance(value, Tensor):
        allowed = "a tensor, a node (grad_fn), a gradient edge, or a list, tuple or dictionary of these"
        raise TypeError(f"{which} must be {allowed}, not {type_name(value)}")
    edge = edge_of(value) if value.requires_grad else None
    if edge is None or isinstance(edge[0], DeadEnd):
        raise ValueError(
            f"{which} has no graph to draw: the tensor of shape {list(value.shape)}, {value.dtype}, does not "
            "require gradients, so nothing was recorded (numgrad.explain(tensor) says why)"
        )
    return Root(edge[0], edge[1], value, name)


def nearest(
    roots: Iterable[str], behind: Mapping[str, Sequence[str]], max_depth: int | None, max_count: int | None
) -> set[str]:
    """Return the keys within ``max_depth`` steps of the roots, at most the ``max_count`` nearest of them."""
    front = list(dict.fromkeys(roots))
    result: set[str] = set()
    depth = 0
    while front and (max_depth is None or depth <= max_depth):
        left = len(front) if max_count is None else max_count - len(result)
        result.update(front[:left])
        if left < len(front):
            break
        front = [key for key in dict.fromkeys(k for near in front for k in behind.get(near, ())) if key not in result]
        depth += 1
    return result
