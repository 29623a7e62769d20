"""How a call is recorded: the node, what it saves for the rules, and how these are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...autograd.grad_mode import GRAD, state
from ...autograd.locations import Location
from ...autograd.saved import PACKED
from ...core.layout import Layout
from .nodes import OpNode

#: Among the sources of what is saved: the operation's own result.
OUTPUT = -1


class Recipe:
    """How a call with one entry is recorded, for one choice of inputs that need a gradient.

    Attributes:
        node_class: the class of the nodes.
        names: what the rules need besides the gradient and the constants, which is what a node saves.
        sources: where that comes from: the position of an operand, or OUTPUT; OUTPUT - n is the n-th of several.
        constants: what the rules know without saving it.
        of_operands: whether all of that are operands.
        frees: whether a backward pass drops what was saved, so that there is no second one.
    """

    __slots__ = ("constants", "frees", "names", "node_class", "of_operands", "sources")

    def __init__(
        self, node_class: type[Any], names: Sequence[str], sources: Sequence[int], constants: Mapping[str, Any]
    ):
        self.node_class = node_class
        self.names = tuple(names)
        self.sources = tuple(sources)
        self.of_operands = all(source >= 0 for source in self.sources)
        self.constants = constants
        self.frees = bool(self.sources)


class RecordedNode(OpNode):
    """A node that was recorded by a recipe."""

    __slots__ = ("recipe",)

    recipe: Any

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.recipe.names

    @property
    def constants(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.recipe.constants

    def release(self, freed_by: Location) -> None:
        if self.recipe.frees:
            self.saved = freed_by


class RuleRecipe(Recipe):
    """How a call is recorded whose gradients are computed by rules that call other operations.

    Attributes:
        calls: for each edge (once, if one rule serves all) the rule and where its arguments stand among the gradient,
            what was saved and the values of the constants, in this order; or None and the constants, where it takes
            nothing else besides the gradient.  None for an edge whose gradient is not needed.
    """

    __slots__ = ("calls", "known")

    def __init__(
        self, node_class: type[Any], saved: Mapping[str, int], constants: Mapping[str, Any],
        rules: Sequence[tuple[Any, Sequence[str]] | None],
    ):
        hidden = [name for name, value in constants.items() if name == "needed" or isinstance(value, Layout)]
        shown = {name: value for name, value in constants.items() if name not in hidden}
        super().__init__(node_class, list(saved), list(saved.values()), shown)
        order = ["grad", *saved, *constants]
        self.known = tuple(constants.values())
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
        """What the rules return."""
        values = [gradient, *saved, *self.known]
        results: list[Any] = []
        for call in self.calls:
            if call is None:
                results.append(None)
            else:
                rule, slots, constants = call
                results.append(rule(gradient, *constants) if slots is None else rule(*[values[slot] for slot in slots]))
        return results


class RuleNode(RecordedNode):
    """The node of an operation whose rules call other operations."""

    __slots__ = ()

    op: Any
    recipe: RuleRecipe

    def output_number(self, name: str) -> int | None:
        return self.op.outputs.index(name) if name in self.op.outputs else None

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        recipe = self.recipe
        results = recipe.gradients(gradient, self.unpacked() if recipe.sources else ())
        return tuple(results[0]) if self.op.joint else tuple(results)

    def unpacked(self) -> Any:
        """What was saved, in the order of the names.

        Raises:
            RuntimeError: it was freed by an earlier backward, or a tensor was changed in place since.
        """
        saved = self.kept()
        if state.mode & GRAD:  # the outputs get their edges back
            return self.unpack().values()
        for value, version in zip(saved, self.versions):  # noqa: B905 - of one length; strict= costs time
            if version is not None and (version == PACKED or value._counter[0] != version):
                return self.unpack().values()
        return saved
