"""Operations of the table that decide by layouts what a call comes to: all that are not pointwise.

``@planned(...)`` decorates the function that decides.  It is given the arguments of a call with layouts in the place of
tensors, computes nothing, and returns the layout of the result and the launcher: ``launch(*tensors)`` runs what there
is to run and returns the memory of the result.  Of several results it returns a tuple of layouts, and ``launch`` a
tuple.  Of a view it returns in the place of the launcher by how many elements the view begins later than the tensor.

What ``prepare`` decided is remembered (see ``dispatch``), with the layouts and all other arguments as the key, except
``numbers``: these are given to ``launch`` after the tensors, and ``prepare`` gets their classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._layout import Layout
from .._tensor import Tensor, tensor_of
from ..autograd.grad_mode import GRAD, ORDINARY, TRANSFORMED, state
from ..autograd.node import MAYBE, Node, edge_of
from ..autograd.origins import UNRECORDED
from ..autograd.views import View
from .dispatch import Entries, Entry, begin, execute, finish, kept, record, result_of, save
from .numbers import NUMBERS
from .recipes import OUTPUT, RuleNode, RuleRecipe
from .table import Operation, parameters
from .transforms import GeneralCall, transformed

__all__ = ["Planned", "planned"]


class Planned(Operation):
    """An operation that decides by layouts what a call comes to."""

    def __init__(self, prepare: Callable[..., Any], node: str, numbers: Sequence[str] = (), **declared: Any):
        super().__init__(prepare, node, **declared)
        self.prepare = prepare
        self.function = self.unrecorded
        self.entries = Entries()
        self.recent = self.entries.recent
        tensors = [self.parameters.index(name) for name in self.inputs]
        #: The positions among the arguments of what ``launch`` is given.
        self.operand_positions = tuple([*tensors, *[self.parameters.index(name) for name in numbers]])
        #: For each edge of a node the position among the operands.
        self.edge_positions = None if self.sequence else tuple([self.inputs.index(i) for i in self.differentiable])
        self.one = self.operand_positions == (0,) and not self.sequence
        if self.one and self.view:
            self.call = _view_call(self)
        elif self.one and len(self.outputs) == 1:
            self.call = _call_on_one(self)
        else:
            self.call = self._call

    def make_node_class(self, name: str) -> type[Node]:
        return type(name, (RuleNode,), {"op": self, "__slots__": (), "__module__": "numgrad.autograd"})

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)

    def _call(self, *args: Any) -> Any:
        if state.mode > ORDINARY:
            return self.run(*args)
        return execute(*self.entry(args))

    def run(self, *args: Any) -> Any:
        """The call, in whatever mode."""
        if state.mode & TRANSFORMED:
            return transformed(GeneralCall(self, args))
        entry, operands = self.entry(args)
        if not self.view:
            return execute(entry, operands)
        pending = begin(entry, operands)
        out = result_of(entry, operands)
        self._connect_views(args, out)
        if pending is not None:
            finish(pending, out)
        elif not state.mode & GRAD:
            for view in out if out.__class__ is tuple else (out,):
                view._origin = UNRECORDED
        return out

    def unrecorded(self, *args: Any) -> Any:
        """The result, of which nothing is recorded: a view is only a tensor on the same memory."""
        return result_of(*self.entry(args))

    def entry(self, args: Sequence[Any]) -> tuple[Entry, Sequence[Any]]:
        """What a call comes to, and what ``launch`` is given."""
        if self.sequence:
            operands = args[0]
            key: Any = (*[tensor._layout for tensor in operands], *args[1:])
        elif self.one:
            operands = args[:1]
            key = (args[0]._layout, *args[1:])
        else:
            operands = [args[position] for position in self.operand_positions]
            given = list(args)
            for position, value in zip(self.operand_positions, operands):  # noqa: B905 - of one length
                if value is not None:
                    given[position] = value.__class__ if value.__class__ in NUMBERS else value._layout
            key = tuple(given)
        entry = self.entries.find(key)
        if entry is None:
            entry = self.entries.add(key, self._prepared(args))
        return entry, operands

    def _prepared(self, args: Sequence[Any]) -> Entry:
        given: list[Any] = [value._layout if isinstance(value, Tensor) else value for value in args]
        if self.sequence:
            given[0] = tuple([tensor._layout for tensor in args[0]])
        for position in self.operand_positions:
            if given[position].__class__ in NUMBERS:
                given[position] = given[position].__class__
        layout, launch = self.prepare(*given)
        first = [own for own in (layout if layout.__class__ is tuple else (layout,)) if own.type.dtype.differentiable]
        return Entry(self, launch, layout, bool(self.rules) and bool(first), given)

    def recipe(self, entry: Entry, needed: int) -> RuleRecipe:
        """How a call with this entry is recorded where the inputs in the bits of ``needed`` need a gradient."""
        known: dict[str, Any] = dict(zip(self.parameters, entry.details, strict=False))
        operands = [self.parameters[position] for position in self.operand_positions]
        for name, value in tuple(known.items()):
            if isinstance(value, Layout):
                known[f"{name}_shape"] = value.shape
        saved: dict[str, int] = {}
        constants: dict[str, Any] = {}
        rules: list[Any] = []
        for number, name in enumerate(self.differentiable):
            if not (self.sequence or needed >> number & 1):
                rules.append(None)
                continue
            names = parameters(self.rules[name])
            rules.append((self.rules[name], names))
            for each in names:
                if each in self.outputs:
                    saved[each] = OUTPUT - self.outputs.index(each)
                elif each in operands:
                    saved[each] = operands.index(each)
                elif each in known:
                    constants[each] = known[each]
                elif each != "grad":
                    raise TypeError(f"{self.name} has nothing called '{each}', which its rule for {name} asks for")
        return RuleRecipe(self.node_class, saved, constants, rules)

    # -- what is recorded of calls that were done in another way -------------------------------------------------------

    def _record(self, edges: tuple[Any, ...], args: tuple[Any, ...], out: Tensor) -> None:
        self._record_several(edges, args, (out,))

    def _record_several(self, edges: tuple[Any, ...], args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        entry, operands = self.entry(args)
        if any(one._layout.type.dtype.differentiable for one in outputs):
            finish((entry.recipe(_bits(edges)), edges, operands, None), outputs)

    def _save(self, node: Any, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        entry, operands = self.entry(args)
        node.recipe = recipe = entry.recipe(_bits(node.edges))
        save(node, recipe, outputs, kept(recipe, operands))


def _bits(edges: Sequence[Any]) -> int:
    return sum([(edge is not None) << number for number, edge in enumerate(edges)])


def _call_on_one(op: Planned) -> Callable[..., Any]:
    """The call of an operation on one tensor that has one result."""
    recent, run = op.recent, op.run
    differentiable = bool(op.differentiable)

    def call(input, *statics):
        try:
            entry = recent[(input._layout, *statics)]
        except (KeyError, AttributeError, TypeError):
            return run(input, *statics)
        mode = state.mode
        if mode > ORDINARY:
            return run(input, *statics)
        out = tensor_of(entry.layout, entry.launch(input))
        if not mode & GRAD:
            out._origin = UNRECORDED
        elif input._requires_grad and entry.recorded and differentiable:
            edge = edge_of(input)
            if edge is not None:
                record(entry.recipes.get(1) or entry.recipe(1), out, (edge,), (input,))
        return out

    return call


def _view_call(op: Planned) -> Callable[..., Any]:
    """The call of an operation that makes one view of one tensor."""
    recent, run = op.recent, op.run

    def call(input, *statics):
        try:
            entry = recent[(input._layout, *statics)]
        except (KeyError, AttributeError, TypeError):
            return run(input, *statics)
        mode = state.mode
        if mode > ORDINARY:
            return run(input, *statics)
        out = tensor_of(entry.layout, input._storage, input._offset + entry.launch)
        out._counter = input._counter
        out._view = View(input, (op, statics))
        out._requires_grad = MAYBE
        if not mode & GRAD:
            out._origin = UNRECORDED
        elif input._requires_grad and entry.recorded:
            edge = edge_of(input)
            if edge is not None:
                record(entry.recipes.get(1) or entry.recipe(1), out, (edge,), (input,))
        return out

    return call


def planned(
    node: str,
    *,
    inputs: Sequence[str] = ("input",),
    nondifferentiable: Sequence[str] = (),
    numbers: Sequence[str] = (),
    outputs: Sequence[str] = ("out",),
    view: bool = False,
    sequence: bool = False,
    linear: bool = False,
    dims: Sequence[str] | None = None,
    shapes: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Planned]:
    """Decorate the function that decides what a call comes to.

    Args:
        numbers: parameters whose values are no part of what is decided, numbers that ``launch`` is given.

    The others are those of ``operation``.
    """

    def decorate(prepare: Callable[..., Any]) -> Planned:
        return Planned(
            prepare, node, numbers, inputs=inputs, fixed=nondifferentiable, outputs=outputs, view=view,
            sequence=sequence, linear=linear, dims=dims, shapes=shapes,
        )

    return decorate
