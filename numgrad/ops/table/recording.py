"""Recording of calls: the node of a result, the values that it saves for the rules, and the calls of the rules.

An ``OpNode`` keeps the values that the rules of its operation need.  A ``BackwardPlan`` holds the names of these values
and their sources, once for all calls with one entry and one choice of gradients.  Before a call, ``begin`` finds the
operands that have gradients; after it, ``finish`` gives the result a node.  ``record`` is the short way to do both, for
one result in an ordinary mode.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.accumulation import Deferred
from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...autograd.locations import Location
from ...autograd.node import Node, edge_of, next_sequence
from ...autograd.saved import PACKED, SavedTensor, SavingNode, keep, restore
from ...autograd.views import record_inplace
from ...core.layout import Layout
from ...devices import NUMBERS
from ...tensors.tensor import Tensor, tensor_of
from .entries import Entry

if TYPE_CHECKING:
    from .op import Op


class OpNode(SavingNode):
    """A node of a table entry, with the values that its rules need."""

    __slots__ = ("backward_plan",)

    op: Op
    backward_plan: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the saved values in the rules."""
        return self.backward_plan.names

    @property
    def constants(self) -> Mapping[str, Any]:
        """Values that the rules need and that are not saved."""
        return self.backward_plan.constants

    def unpack(self) -> dict[str, Any]:
        """Return the saved values by name.

        Raises:
            RuntimeError: if they were freed by an earlier backward, or a tensor was changed in place since.
        """
        saved = self.kept()
        values = {}
        for name, value, version in zip(self.names, saved, self.versions):  # noqa: B905 - of one length; strict= costs time
            if version is not None:
                number = self.output_number(name)
                if number is not None or version == PACKED or value._counter[0] != version:  # otherwise unchanged
                    value = restore(self, value, version, number, state.mode & GRAD)
            values[name] = value
        return values

    def output_number(self, name: str) -> int | None:
        """Return the number of the output of a saved name, None if the name is not an output."""
        return 0 if name == "out" else None

    def saved_names(self) -> list[str]:
        return [shown_name(name) for name in self.names]

    def saved_output(self, index: int) -> int | None:
        return self.output_number(self.names[index])

    def release(self, freed_by: Location) -> None:
        if self.backward_plan.frees:
            self.saved = freed_by

    def value_of(self, name: str) -> Any:
        """Return the value saved by this name; None if it was not needed."""
        return self.unpack_one(self.names.index(name)) if name in self.names else self.constants.get(name)

    def raw_value_of(self, name: str) -> SavedTensor:
        """Return the tensor saved by this name as it is kept, to attach hooks to."""
        return self.raw(self.names.index(name)) if name in self.names else SavedTensor.of(self, None)

    def __dir__(self) -> list[str]:
        shown = {shown_name(name) for name in (*self.names, *self.constants)}
        return [name for name in super().__dir__() if "_saved_" not in name or name.split("_saved_")[1] in shown]


def node_class(name: str, base: type[Node], **fields: Any) -> Any:
    """Return a class of nodes of this name, such as ``MulBackward0``, with the operation's name and the overload."""
    op_name, _, overload = name.rpartition("Backward")
    if overload.isdigit():
        fields.update(op_name=op_name, overload=overload)
    return type(name, (base,), {**fields, "__slots__": (), "__module__": "numgrad.autograd"})


def show_saved(node_class: Any, names: Iterable[str]) -> None:
    """Add the attributes ``_saved_<name>`` and ``_raw_saved_<name>`` to a class of nodes.

    They are properties of the class, since with a ``__getattr__`` Python would look up all attributes more slowly.
    """
    for name in names:
        for shown in {name, shown_name(name)}:
            setattr(node_class, f"_saved_{shown}", property(functools.partial(OpNode.value_of, name=name)))
            setattr(node_class, f"_raw_saved_{shown}", property(functools.partial(OpNode.raw_value_of, name=name)))


#: PyTorch's names in the attributes of nodes for parameters that rules name.
_PUBLIC = {
    "input": "self", "out": "result", "input_shape": "self_sym_sizes", "dims": "dim", "stop": "end", "order": "ord",
}


def shown_name(name: str) -> str:
    """Return the name in the attributes of nodes for a name in rules: ``self`` for ``input``."""
    return _PUBLIC.get(name, name)


#: Source of a saved value that is the operation's own result.
OUTPUT = -1


class BackwardPlan:
    """Plan of the nodes of calls with one entry, for one choice of inputs that need a gradient.

    Attributes:
        node_class: the class of the nodes.
        names: the values that a node saves: those that the rules need besides the gradient and the constants.
        sources: the sources of these values: the position of an operand, or OUTPUT; OUTPUT - n is the n-th of several.
        constants: the values that the rules need and that are not saved.
        of_operands: True if all sources are operands.
        of_first: True if all sources are operands or the first result.
        frees: True if a backward pass drops the saved values, so that a second one is impossible.
        plan: the plan of the call; None for a view.
    """

    __slots__ = ("constants", "frees", "names", "node_class", "of_first", "of_operands", "plan", "sources")

    def __init__(
        self, node_class: type[Any], names: Sequence[str], sources: Sequence[int], constants: Mapping[str, Any]
    ):
        self.node_class = node_class
        self.names = tuple(names)
        self.sources = tuple(sources)
        self.of_operands = all(source >= 0 for source in self.sources)
        self.of_first = all(source >= OUTPUT for source in self.sources)
        self.constants = constants
        self.plan: Any = None
        self.frees = any(source < len(node_class.op.inputs) for source in self.sources)  # numbers alone are kept


class RuleBackwardPlan(BackwardPlan):
    """Backward plan of calls whose gradients are computed by rules that call other operations.

    Attributes:
        calls: for each edge (once, if one rule serves all) the rule and the positions of its arguments among the
            gradient, the saved values and the values of the constants, in this order; or the rule, None and the
            constants, if it takes nothing else besides the gradient.  None for an edge whose gradient is not needed.
    """

    __slots__ = ("calls", "constant_values")

    def __init__(
        self, node_class: type[Any], saved: Mapping[str, int], constants: Mapping[str, Any],
        rules: Sequence[tuple[Any, Sequence[str]] | None],
    ):
        hidden = [name for name, value in constants.items() if name == "needed" or isinstance(value, Layout)]
        shown = {name: value for name, value in constants.items() if name not in hidden}
        super().__init__(node_class, list(saved), list(saved.values()), shown)
        order = ["grad", *saved, *constants]
        self.constant_values = tuple(constants.values())
        self.calls: list[Any] = []
        for call in rules:
            if call is None:
                self.calls.append(None)
                continue
            rule, names = call
            if names[0] == "grad" and constants.keys() >= {*names[1:]}:
                self.calls.append((rule, None, tuple([constants[name] for name in names[1:]])))
            else:
                self.calls.append((rule, [order.index(name) for name in names], ()))

    def gradients(self, gradient: Any, saved: Iterable[Any]) -> list[Any]:
        """Return the results of the rules."""
        values = [gradient, *saved, *self.constant_values]
        results: list[Any] = []
        for call in self.calls:
            if call is None:
                results.append(None)
            else:
                rule, slots, constants = call
                results.append(rule(gradient, *constants) if slots is None else rule(*[values[slot] for slot in slots]))
        return results


class RuleNode(OpNode):
    """The node of an operation whose rules call other operations."""

    __slots__ = ()

    op: Any
    backward_plan: RuleBackwardPlan

    def output_number(self, name: str) -> int | None:
        return self.op.outputs.index(name) if name in self.op.outputs else None

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        plan = self.backward_plan
        results = plan.gradients(gradient, self.unpacked() if plan.sources else ())
        return tuple(results[0]) if self.op.joint else tuple(results)

    def add_to(self, total: Any, gradient: Any) -> bool:
        plan, adder = self.backward_plan, self.op.adder
        if adder is None:
            return False
        _, slots, constants = plan.calls[0]
        if slots is None:
            return adder(total, gradient, *constants)
        values = [gradient, *self.unpacked(), *plan.constant_values]
        return adder(total, *[values[slot] for slot in slots])

    def deferred(self, gradient: Any, target: Any) -> tuple[Deferred, ...]:
        plan, passage, through = self.backward_plan, self.op.passage, getattr(target, "op", None)
        if through is not None and through.reshapes and target.edges[0] is not None:
            through = getattr(target.edges[0][0], "op", None)
        if passage is None or passage[0] is not through:
            return ()
        rule, slots, _ = plan.calls[0]
        values = [gradient, *self.unpacked(), *plan.constant_values]
        arguments = [values[slot] for slot in slots]
        pass_on = functools.partial(passage[1], rule, arguments)
        return (Deferred(target.layout, functools.partial(rule, *arguments), pass_on),)

    def unpacked(self) -> Any:
        """Return the saved values in the order of the names.

        Raises:
            RuntimeError: if they were freed by an earlier backward, or a tensor was changed in place since.
        """
        saved = self.kept()
        if state.mode & GRAD:  # the outputs get their edges back
            return self.unpack().values()
        for value, version in zip(saved, self.versions):  # noqa: B905 - of one length; strict= costs time
            if version is not None and (version == PACKED or value._counter[0] != version):
                return self.unpack().values()
        return saved


_new = object.__new__


def begin(entry: Entry, operands: Sequence[Any], target: Any = None) -> Any:
    """Return the argument of ``finish`` for a call about to run; None if nothing is to be recorded.

    It contains the backward plan, the edges and the operands.  If ``target`` is about to be overwritten, it also
    contains the values of operands that a node keeps; the target is copied if the rules need its old value.
    """
    if not (state.mode & GRAD and entry.recorded):
        return None
    for value in operands:
        if value is not None and value.__class__ not in NUMBERS and value._requires_grad:
            break
    else:
        return None
    edges: list[Any] = []
    needed = 0
    positions = entry.op.edge_positions
    for number, position in enumerate(range(len(operands)) if positions is None else positions):
        edge = None
        if position is not None:
            value = operands[position]
            if value is not None and value.__class__ not in NUMBERS and value._requires_grad:
                edge = edge_of(value)
                if edge is not None:
                    needed |= 1 << number
        edges.append(edge)
    if not needed:
        return None
    plan = entry.backward_plan(1 if positions is None else needed)
    if target is None:
        return plan, tuple(edges), operands, None
    if 0 in plan.sources:
        operands = (target._kept_copy(), *operands[1:])
    return plan, tuple(edges), operands, _kept(plan, operands)  # as they were before the change


def finish(pending: Any, out: Any, target: Tensor | None = None) -> None:
    """Make a node the origin of the result ``out``, which is ``target`` if that was overwritten."""
    plan, edges, operands, before = pending
    outputs = out if out.__class__ is tuple else (out,)
    graded = len(outputs) if plan.node_class.op.graded is None else plan.node_class.op.graded
    if target is None and graded == 1 and state.mode <= ORDINARY:
        record(plan, outputs[0], edges, operands, outputs)
        return
    differentiable = [tensor for tensor in outputs[:graded] if tensor._layout.type.dtype.differentiable]
    node = plan.node_class(edges, differentiable[0]._layout)
    if len(differentiable) > 1:
        node.more_outputs = tuple([result._layout for result in differentiable[1:]])
    node.backward_plan = plan
    node.saved, node.versions = None, ()
    if target is not None:
        record_inplace(target, node)  # before saving, whose hooks may raise: the target has been changed
    else:
        for number, result in enumerate(differentiable):
            result._edge = (node, number)
            result._requires_grad = True
    _save(node, plan, outputs, before or _kept(plan, operands))


def record_one(entry: Entry, out: Tensor, operands: Sequence[Any]) -> None:
    """Record a call of which only the first operand may have an edge."""
    input = operands[0]
    edge = input._edge
    if edge is None or input._view is not None:
        edge = edge_of(input)
    if edge is not None:
        record(entry.backward_plans.get(1) or entry.backward_plan(1), out, (edge,), operands)


def record(
    plan: BackwardPlan, out: Tensor, edges: tuple[Any, ...], operands: Sequence[Any], outputs: Sequence[Tensor] = ()
) -> None:
    """Give the only result that has a gradient its node, in an ordinary mode."""
    node: Any = _new(plan.node_class)  # does the work of ``Node.__init__`` in less time
    node.edges = edges
    node.layout = out._layout
    node.more_outputs = node.attached = None
    node.sequence = next_sequence()
    node.backward_plan = plan
    out._edge = (node, 0)
    out._requires_grad = True
    sources = plan.sources
    if not sources:
        node.saved = node.versions = ()
    elif plan.of_operands:
        if len(sources) == 1:
            value = operands[sources[0]]
            plain = value is None or value.__class__ in NUMBERS
            node.saved, node.versions = (value,), (None if plain else value._counter[0],)
        else:
            node.saved = saved = tuple([operands[source] for source in sources])
            node.versions = tuple([None if v is None or v.__class__ in NUMBERS else v._counter[0] for v in saved])
    elif not plan.of_first:
        _save(node, plan, outputs or (out,), _kept(plan, operands))
    else:
        value = tensor_of(out._layout, out._storage, out._offset)
        value._counter = counter = out._counter
        if len(sources) == 1:
            node.saved, node.versions = (value,), (counter[0],)
        else:
            node.saved = saved = tuple([operands[source] if source >= 0 else value for source in sources])
            node.versions = tuple([None if v is None or v.__class__ in NUMBERS else v._counter[0] for v in saved])


def _kept(plan: BackwardPlan, operands: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
    """Return the operands that a node keeps, with the versions of tensors; results are added later."""
    saved: list[Any] = []
    versions: list[int | None] = []
    plain = state.mode <= ORDINARY
    for source in plan.sources:
        value = operands[source] if source >= 0 else None
        version: int | None = None
        if value is not None and value.__class__ not in NUMBERS:
            if plain:
                version = value._counter[0]
            else:
                value, version = keep(value)
        saved.append(value)
        versions.append(version)
    return saved, versions


def _save(node: Any, plan: BackwardPlan, outputs: Sequence[Tensor], inputs: tuple[list[Any], list[int | None]]) -> None:
    """Save the operands ``inputs`` and the results that the rules need in a node."""
    saved, versions = inputs
    for position, source in enumerate(plan.sources):
        if source < 0:
            number = OUTPUT - source
            output = outputs[number]
            saved[position], versions[position] = keep(output, number if output._requires_grad else None)
    node.saved, node.versions = tuple(saved), tuple(versions)
