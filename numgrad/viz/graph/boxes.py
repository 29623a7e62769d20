"""The text in the boxes of tensors, operations and modules, and the values that an operation has saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...autograd.function_node import BackwardCFunction
from ...autograd.hooks import hook_name
from ...autograd.node import AccumulateGrad, Node
from ...autograd.saved import PACKED, SavingNode
from ...autograd.views import CopySlices
from ...core.display import counted
from ...ops.table.recording import shown_name
from ...tensors.tensor import Tensor
from ..values import values_text
from .module_calls import ModuleCall
from .names import ObjectNames, printable, readable
from .picture import Box, Row, Run, Slot, gradient_row, leaves_row


class Describer:
    """A factory of boxes.

    Attributes:
        names: the names of tensors.
        values: True if elements are shown.
        saved: True if the values saved by nodes are shown.
    """

    def __init__(self, names: ObjectNames, values: bool, saved: bool):
        self.names = names
        self.values = values
        self.saved = saved

    # -- tensors --------------------------------------------------------------------------------------------

    def leaf(self, key: str, node: AccumulateGrad, group: str | None) -> Box:
        """Return the box of a leaf, which also stands for its AccumulateGrad."""
        leaf = node.variable
        rows = [*self._tensor_rows(leaf), *self._gradient_rows("grad", leaf._grad, (node.sequence, 0))]
        rows += [*_hook_rows(node), Row("", "AccumulateGrad", "quiet")]
        return Box(key, "leaf", _title(self.names.of(leaf), "leaf"), tuple(rows), group)

    def data(self, key: str, tensor: Tensor) -> Box:
        """Return the box of a tensor that requires no gradient."""
        rows = (*self._tensor_rows(tensor), Row("", "no gradient", "quiet"))
        return Box(key, "data", _title(self.names.of(tensor), "data"), rows)

    def output(self, key: str, tensor: Tensor, name: str | None) -> Box:
        """Return the box of a tensor that is a root of the drawing."""
        rows = self._tensor_rows(tensor)
        if not tensor.is_inference() and tensor._version:
            rows.append(Row("", f"version {tensor._version}: changed in place", "quiet"))
        if tensor._grad is not None and tensor.grad_fn is not None:
            rows += self._gradient_rows("grad", tensor._grad, (tensor.grad_fn.sequence, tensor.output_nr))
        return Box(key, "output", _title(name or self.names.of(tensor), "output"), tuple(rows))

    def edge_label(self, node: Node, number: int) -> str:
        """Return the label of the arrow of an output: name and shape, and the elements if they are known."""
        name = self.names.of_output(node.sequence, number)
        shape = str(list(node.output(number).shape))
        which = f"output {number}" if node.more_outputs and name is None else name
        lines = [shape if which is None else f"{which} {shape}"]
        if self.values and name is not None:
            lines += values_text(self.names.outputs[node.sequence, number])
        return "\n".join(lines)

    def _tensor_rows(self, tensor: Tensor) -> list[Row]:
        rows = [Row("", f"{list(tensor.shape)} {tensor._layout.type.dtype.name}")]
        if tensor._view is not None and not tensor.is_inference():
            base = self.names.of(tensor._root)
            rows.append(Row("", f"view of {base or list(tensor._root._layout.shape)}", "quiet"))
        return rows + self._value_rows(tensor)

    def _value_rows(self, tensor: Tensor) -> list[Row]:
        return [Row("", line) for line in values_text(tensor)] if self.values else []

    def _gradient_rows(self, label: str, gradient: Tensor | None, slot: Slot) -> list[Row]:
        if gradient is None:
            return [gradient_row(label, slot, None)]
        return [gradient_row(label, slot, str(list(gradient._layout.shape))), *self._value_rows(gradient)]

    # -- operations -----------------------------------------------------------------------------------------

    def operation(self, key: str, node: Node, group: str | None) -> Box:
        """Return the box of a node."""
        rows: list[Row] = []
        if isinstance(node, BackwardCFunction):
            rows.append(Row("", "a user-defined Function", "quiet"))
        if isinstance(node, CopySlices) and isinstance(node.operation, Node):
            rows.append(Row("", f"writes to a view by {node.operation.name()}", "quiet"))
        if self.saved:
            rows += saved_rows(node, self.names, self.values)
        if node.freed_by is not None:
            rows.append(Row("", f"freed by {node.freed_by.brief}", "quiet"))
        rows += self._attachment_rows(node)
        category = "function" if isinstance(node, BackwardCFunction) else "operation"
        is_freed = node.freed_by is not None
        return Box(key, category, _name_of(node), tuple(rows), group, is_freed, has_changed_saved(node))

    def _attachment_rows(self, node: Node) -> list[Row]:
        attached = node.attached
        if attached is None:
            return []
        rows = _hook_rows(node)
        for number, weak in attached.tensor_hooks.retained.items():
            tensor = weak()
            if tensor is not None:
                name = self.names.of(tensor) or self.names.of_output(node.sequence, number)
                label = f"{name}.grad" if name else "retained grad"
                rows += self._gradient_rows(label, tensor._grad, (node.sequence, number))
        if attached.location is not None:
            rows.append(Row("", f"recorded at {attached.location.brief}", "quiet"))
        return rows

    # -- several nodes --------------------------------------------------------------------------------------

    def module(self, key: str, call: ModuleCall, title: str, nodes: Sequence[Node], group: str | None) -> Box:
        """Return the box of a module's call, which stands for all nodes that the call recorded."""
        operations = [node for node in nodes if not isinstance(node, AccumulateGrad)]
        leaves = [node.variable for node in nodes if isinstance(node, AccumulateGrad)]
        slots = tuple([(node.sequence, 0) for node in nodes if isinstance(node, AccumulateGrad)])
        rows = [Row("", type(call.module).__name__, "quiet")] if title != type(call.module).__name__ else []
        rows.append(Row("", counted(len(operations), "operation")))
        if leaves:
            count = sum(leaf._layout.size for leaf in leaves)
            rows.append(Row("", f"{counted(len(leaves), 'parameter')}, {counted(count, 'element')}"))
            have = sum(leaf._grad is not None for leaf in leaves)
            if have:
                rows.append(leaves_row(slots, have))
        freed = sum(node.freed_by is not None for node in operations)
        whole = bool(freed) and all(node.freed_by is not None or not saves_tensors(node) for node in operations)
        if freed:
            rows.append(Row("", f"{'all' if whole else f'{freed:,}'} freed", "quiet"))
        changed = [node for node in operations if has_changed_saved(node)]
        if changed:
            rows.append(Row("", f"{changed[0].name()} saved a tensor that was changed since", "alarm"))
        tip = printable(call.name)
        return Box(key, "module", _title(title, "module"), tuple(rows), group, whole, bool(changed), tip, slots)


def _title(name: str | None, otherwise: str) -> tuple[Run, ...]:
    return ((name, True),) if name else ((otherwise, False),)


def _name_of(node: Node) -> tuple[Run, ...]:
    """Return the name of a node, with its distinguishing part emphasised."""
    if node.op_name is not None:
        return (node.op_name, True), (f"Backward{node.overload}", False)
    namespace, colons, name = node.name().rpartition("::")
    return (*([(namespace + colons, False)] if colons else ()), (name, True))


def _hook_rows(node: Node) -> list[Row]:
    names = [readable(hook_name(hook)) for hook, _ in hooks_at(node)]
    return [Row("", f"{'hook' if len(names) == 1 else 'hooks'} {', '.join(names)}")] if names else []


def hooks_at(node: Node) -> list[tuple[Any, str]]:
    """Return the hooks that run at a node, in their order, each with the way it was registered."""
    attached = node.attached
    if isinstance(node, AccumulateGrad):
        of_tensors = node.variable._hooks
    else:
        of_tensors = None if attached is None else attached.tensor_hooks
    parts: list[tuple[Any, str]] = []
    if of_tensors is not None:
        parts += [(hooks, "register_hook") for hooks in of_tensors.hooks.values()]
    if attached is not None:
        parts.append((attached.pre_hooks, "register_prehook of the node"))
    if of_tensors is not None:
        parts.append((of_tensors.post_accumulate, "register_post_accumulate_grad_hook"))
    if attached is not None:
        parts.append((attached.post_hooks, "register_hook of the node"))
    return [(hook, method) for hooks, method in parts if hooks for hook in hooks.values()]


#: The number of saved tensors listed in a box.
LISTED = 6
#: The maximum number of characters for saved values other than tensors.
LONG = 44


class Saved(NamedTuple):
    """A value that a node has saved, in the form it is kept; ``number`` is the index of the output if it is one."""

    name: str
    value: Any
    version: int | None
    number: int | None


def acting_node(node: Node) -> Node:
    """Return the node whose rule runs and saves; for a write to a view, this is the node of the writing operation."""
    while isinstance(node, CopySlices) and isinstance(node.operation, Node):
        node = node.operation
    return node


def entries_of(node: Node) -> list[Saved]:
    """Return the values that a node has saved."""
    node = acting_node(node)
    if not isinstance(node, SavingNode):
        return []
    return [Saved(*entry, node.saved_output(index)) for index, entry in enumerate(node.saved_entries())]


def saves_tensors(node: Node) -> bool:
    """Return True if a node has saved a tensor."""
    return any(entry.version is not None for entry in entries_of(node))


def has_changed_saved(node: Node) -> bool:
    """Return True if a saved tensor was changed in place since."""
    # SavingNode.modified raises if another thread frees the node at the same time
    return any(
        version is not None and version != PACKED and value._counter[0] != version
        for _, value, version, _ in entries_of(node)
    )


def saved_rows(node: Node, names: ObjectNames, values: bool) -> list[Row]:
    """Return the lines about a node's saved values, with the elements of tensors if ``values``."""
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
    defaults = getattr(getattr(node, "op", None), "attributes", {})
    for name, value in getattr(node, "constants", {}).items():
        others += _setting(shown_name(name), value) if value != defaults.get(name) else []
    if len(blocks) > LISTED:
        blocks[LISTED:] = [[Row("", f"… {len(blocks) - LISTED} more", "quiet")]]
    rows = [row for block in blocks for row in block]
    if others:
        text = ", ".join(others)
        rows.append(Row("", text if len(text) <= LONG else text[: LONG - 1] + "…", "quiet"))
    return [Row("saved", row.text, row.tone) if index == 0 else row for index, row in enumerate(rows)]


def _called(tensor: Tensor, names: ObjectNames) -> str | None:
    """Return the name of a tensor, or of the base that it is a view of."""
    base = None if tensor._view is None else names.of(tensor._root)
    return names.of(tensor) or (base and f"view of {base}")


def _setting(name: str, value: Any) -> list[str]:
    """Return a saved value other than a tensor as text; nothing for defaults and the memory layout (``columns``)."""
    if value is None or value is False or name == "columns" or (name in ("alpha", "beta") and value == 1):
        return []
    return [f"{name}={value!r}"]
