"""Operations of the table that decide by layouts what a call comes to: all that are not pointwise.

``@planned(...)`` decorates the function that decides.  It is given the arguments of a call with layouts in the place of
tensors, computes nothing, and returns the layout of the result and the launcher: ``launch(*tensors)`` runs what there
is to run and returns the memory of the result.  Of several results it returns a tuple of layouts, and ``launch`` a
tuple.  Of a view it returns in the place of the launcher by how many elements the view begins later than the tensor; of
several views a tuple, and of one in another dtype what gives the tensor's memory in that and where the view begins.

What ``prepare`` decided is remembered (see ``dispatch``), with the layouts and all other arguments as the key, except
``numbers``: these are given to ``launch`` after the tensors, and ``prepare`` gets their classes.  An index, where a
view begins, is such a number: ``prepare`` returns by how many elements each 1 of it moves the view, and ``key`` says
what the view's layout depends on.  Where the size of the result depends on values, ``prepare`` returns None in the
place of the layout, and ``launch`` the layout and the memory.

What an operation does in place, to the first of its inputs, is decided by the function that ``op.changing`` decorates:
it is given the same, and returns ``launch(*tensors, target)``, which overwrites the target.  ``op.in_place`` is called
with the arguments of ``op``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._layout import Layout
from .._tensor import Tensor, check_in_place
from ..autograd.grad_mode import TRANSFORMED, state
from .dispatch import Entries, Entry, change, finish, kept, perform, result_of, save
from .numbers import NUMBERS
from .recipes import OUTPUT, RuleNode, RuleRecipe
from .table import Operation, nth_view, parameters
from .transforms import ChangeCall, GeneralCall, transformed

__all__ = ["Planned", "planned"]


class Planned(Operation):
    """An operation that decides by layouts what a call comes to."""

    node_base = RuleNode

    def __init__(
        self, prepare: Callable[..., Any], node: str, numbers: Sequence[str] = (),
        key: Callable[..., Any] | None = None, connected: bool = True, extras: Sequence[str] = (), joint: bool = False,
        **declared: Any,
    ):
        super().__init__(prepare, node, **declared)
        self.connected = connected
        self.joint = joint or self.sequence
        self.extras = tuple(extras)
        self.graded = len(self.outputs) if extras else None
        self.key = key
        self.prepare = prepare
        self.function = functools.update_wrapper(functools.partial(self.unrecorded), prepare)
        self.entries, self.entries_in_place = Entries(), Entries()
        self.recent = self.entries.recent
        #: The positions among the arguments of what ``launch`` is given.
        self.operand_positions = tuple([self.parameters.index(name) for name in (*self.inputs, *numbers)])
        #: For each edge of a node the position among the operands.
        self.edge_positions = None if self.sequence else tuple([self.inputs.index(i) for i in self.differentiable])
        self.one = self.operand_positions == (0,) and not self.sequence
        #: How many operands come first among the arguments, in order; None where they do not.
        count = len(self.operand_positions)
        self.leading = count if self.operand_positions == tuple(range(count)) else None
        self.statics: Mapping[str, Any] = {}

    def __call__(self, *args: Any) -> Any:
        if self.one:
            operands: Any = args[:1]
            layout = args[0]._layout
            entry = self.recent.get((layout, *args[1:]) if len(args) > 1 else layout) or self.entry(args)[0]
        elif self.key is not None:
            operands = [args[position] for position in self.operand_positions]
            entry = self.recent.get(self.key(*args)) or self.entry(args)[0]
        else:
            entry, operands = self.entry(args)
        return perform(entry, operands)

    def run(self, operands: tuple[Any, ...], statics: Any) -> Any:
        """The call of an operation that has nothing but tensors for arguments (see ``dispatch.unary``)."""
        return self(*operands)

    def changing(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate the function that decides what a call in place comes to."""
        self.prepare_change = prepare
        return prepare

    def in_place(self, *args: Any) -> Tensor:
        """Overwrite the first input.

        Raises:
            RuntimeError: it may not be written to.
        """
        if state.mode & TRANSFORMED:
            return transformed(ChangeCall(self, args))
        entry, operands = self.entry(args, True)
        check_in_place(*operands)
        return change(entry, operands, operands[0])

    def performed(self, entry: Entry, operands: Sequence[Any]) -> Any:
        """A call in a mode that is out of the ordinary."""
        if not state.mode & TRANSFORMED:
            return perform(entry, operands, True)
        return transformed(GeneralCall(self, self._arguments(entry, operands)))

    def unrecorded(self, *args: Any) -> Any:
        """The result, of which nothing is recorded: a view is only a tensor on the same memory."""
        return result_of(*self.entry(args))

    def entry(self, args: Sequence[Any], in_place: bool = False) -> tuple[Entry, Sequence[Any]]:
        """What a call comes to, and what ``launch`` is given."""
        entries = self.entries_in_place if in_place else self.entries
        key: Any
        operands: Any
        if self.key is not None:
            operands = [args[position] for position in self.operand_positions]
            key = self.key(*args)
        elif self.sequence:
            operands = args[0]
            key = (*[tensor._layout for tensor in operands], *args[1:])
        elif self.one:
            operands = args[:1]
            key = (args[0]._layout, *args[1:]) if len(args) > 1 else args[0]._layout
        elif self.leading is not None:
            operands = args[: self.leading]
            own = [v if v is None else v.__class__ if v.__class__ in NUMBERS else v._layout for v in operands]
            key = (*own, *args[self.leading :])
        else:
            operands = [args[position] for position in self.operand_positions]
            given = list(args)
            for position, value in zip(self.operand_positions, operands):  # noqa: B905 - of one length
                if value is not None:
                    given[position] = value.__class__ if value.__class__ in NUMBERS else value._layout
            key = tuple(given)
        entry = entries.find(key)
        if entry is None:
            entry = entries.add(key, self.prepared(args, in_place))
        return entry, operands

    def prepared(self, args: Sequence[Any], in_place: bool = False) -> Entry:
        """What a call comes to, decided anew."""
        given: list[Any] = [value._layout if isinstance(value, Tensor) else value for value in args]
        if self.sequence:
            given[0] = tuple([tensor._layout for tensor in args[0]])
        for position in self.operand_positions:
            if given[position].__class__ in NUMBERS and not self.view:
                given[position] = given[position].__class__
        layout, launch = (given[0], self.prepare_change(*given)) if in_place else self.prepare(*given)
        several = layout.__class__ is tuple
        outputs = layout if several else (layout or given[0],)
        recorded = bool(self.rules) and any(own.type.dtype.differentiable for own in outputs)
        entry = Entry(self, launch, layout, recorded, tuple(given))
        if self.view:
            rest = entry.details[1:]
            known = layout if self.connected else ()
            entry.step = tuple([(nth_view, (self, rest, n)) for n in range(len(known))]) if several else (self, rest)
        return entry

    def again(self, tensor: Tensor, entry: Entry, numbers: Sequence[Any]) -> Any:
        """The view of another tensor, where these were the numbers of a call with this entry."""
        return self(*self._arguments(entry, (tensor, *numbers)))

    def _arguments(self, entry: Entry, operands: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of a call with this entry."""
        if self.sequence:
            return tuple(operands), *entry.details[1:]
        args = list(entry.details)
        for position, value in zip(self.operand_positions, operands, strict=True):
            args[position] = value
        return tuple(args)

    def recipe(self, entry: Entry, needed: int) -> RuleRecipe:
        """How a call with this entry is recorded where the inputs in the bits of ``needed`` need a gradient."""
        known: dict[str, Any] = dict(zip(self.parameters, entry.details, strict=False))
        operands = [self.parameters[position] for position in self.operand_positions]
        results = (*self.outputs, *self.extras)
        for name, value in tuple(known.items()):
            if isinstance(value, Layout):
                known[f"{name}_shape"], known[f"{name}_layout"] = value.shape, value
        saved: dict[str, int] = {}
        constants: dict[str, Any] = {}
        rules: list[Any] = []
        for number, name in enumerate(self.differentiable):
            if not (self.joint or needed >> number & 1):
                rules.append(None)
                continue
            names = parameters(self.rules[name])
            rules.append((self.rules[name], names))
            for each in names:
                if each in results:
                    saved[each] = OUTPUT - results.index(each)
                elif each in operands:
                    saved[each] = operands.index(each)
                elif each in known:
                    constants[each] = known[each]
                elif each != "grad":
                    raise TypeError(f"{self.name} has nothing called '{each}', which its rule for {name} asks for")
        recipe = RuleRecipe(self.node_class, saved, constants, rules)
        recipe.frees = any(source < len(self.inputs) for source in recipe.sources)  # not numbers, which configure it
        return recipe

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


def planned(
    node: str,
    *,
    inputs: Sequence[str] = ("input",),
    nondifferentiable: Sequence[str] = (),
    numbers: Sequence[str] = (),
    key: Callable[..., Any] | None = None,
    outputs: Sequence[str] = ("out",),
    extras: Sequence[str] = (),
    view: bool = False,
    connected: bool = True,
    sequence: bool = False,
    joint: bool = False,
    linear: bool = False,
    dims: Sequence[str] | None = None,
    shapes: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Planned]:
    """Decorate the function that decides what a call comes to.

    Args:
        numbers: parameters whose values are no part of what is decided, numbers that ``launch`` is given.
        key: a function of the arguments: what is decided by, where that is not the layouts and all that is no number.
        extras: names of further outputs, which have no gradient: what rules need, or users want to know.
        joint: whether one rule returns the gradients for all inputs that have one, as that of a sequence does.
        connected: whether autograd knows a view as one; else it takes it for a copy.

    The others are those of ``operation``.
    """

    def decorate(prepare: Callable[..., Any]) -> Planned:
        return Planned(
            prepare, node, numbers, key, connected, extras, joint, inputs=inputs, fixed=nondifferentiable,
            outputs=outputs, view=view, sequence=sequence, linear=linear, dims=dims, shapes=shapes,
        )

    return decorate
