"""One step of backward: what arrived at a node, what it made of that, and where it went."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...autograd.node import AccumulateGrad, Node
from ..graph.drawing import Drawing
from ..graph.picture import Slot
from ..values import value_text
from .rules import Rule, attribute, gradient_names


@dataclass(eq=False)
class Run:
    """What all steps of one backward have in common.

    Attributes:
        limit: elements up to which a tensor is copied; larger ones are summarized.
        drawing: the graph before backward, if it can be drawn.
        count: how many steps there are.
        names: what outputs of nodes are called, and leaves, as the only outputs of their AccumulateGrads.
    """

    limit: float
    drawing: Drawing | None
    count: int = 0
    names: dict[Slot, str] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class Result:
    """The gradient of one input of a node.

    Attributes:
        source: the number of the step that made it.
        index: which of the node's inputs it is of.
        rule: the input's name and how the gradient is computed.
        node, output: where it was sent: the gradient of which output of which node.
        gradient: what was sent on; None if a hook has taken it away.
        before_hooks: what was to be sent, before a hook of the node changed it; None if none has.
        summed: the shape in which the rule gave it, if it was summed to that of the input, which was broadcast.
        step: the number of the step at which it arrived; None if there was none.
    """

    source: int
    index: int
    rule: Rule
    node: Node
    output: int
    gradient: Any = None
    before_hooks: Any = None
    summed: tuple[int, ...] | None = None
    step: int | None = None

    @property
    def input(self) -> str:
        """The name of the input."""
        return self.rule.input

    @property
    def formula(self) -> str | None:
        """How the gradient is computed, as written in the op table; None for a node that is not of the table."""
        return self.rule.formula

    def __repr__(self) -> str:
        return f"<Result: gradient of {self.input}, to {self.node.name()}>"


@dataclass(eq=False)
class Accumulated:
    """What became of the ``grad`` of a tensor: of a leaf, or of one that ``retain_grad()`` was called on.

    Attributes:
        tensor: the tensor.
        slot: the number of the node at which its gradient arrives, and that of the node's output.
        before, after: its ``grad`` at the beginning and at the end of the step, or None.
    """

    tensor: Any
    slot: Slot
    before: Any
    after: Any = None


class Step:
    """What backward did at one node.

    Gradients and other values are as they were then: copies without a graph, or, of large tensors, a ``Summary``.

    Attributes:
        number: its index in the order of steps, from 1.
        node: the node.
        gradients: for each output of the node the gradient that its rules were given, None where there was none.
        sources: for each output the numbers of the steps whose gradients were added up, None standing for a gradient
            that the pass began with.
        arrived: the gradients before hooks saw them; the same as ``gradients`` if there are no hooks.
        hooks: the hooks that ran, each with how it was registered.
        changed: whether a hook has changed a gradient that arrived.
        rules: for each input the rule.
        saved: what the rules used besides the gradients, by the names in the rules.
        packed: names of what they used besides, which hooks keep in another form (see ``saved_tensors_hooks``).
        results: the gradients that were sent on.
        accumulated: the tensors whose ``grad`` was added to.
        remark: the source of a user's backward; of another node that the op table does not have, what it is.
        outer: the step that it ran within, whose rule or hook runs a backward of its own, as those of some checkpoints
            do; mostly None.
        depth: how many steps it ran within.
    """

    def __init__(self, run: Run, number: int, node: Node, outer: Step | None):
        self.run = run
        self.number = number
        self.node = node
        self.gradients: tuple[Any, ...] = (None,) * len(node.outputs)
        self.arrived = self.gradients
        self.sources: tuple[tuple[int | None, ...], ...] = ()
        self.hooks: tuple[str, ...] = ()
        self.changed = False
        self.rules: list[Rule] = []
        self.saved: dict[str, Any] = {}
        self.packed: tuple[str, ...] = ()
        self.results: tuple[Result, ...] = ()
        self.accumulated: tuple[Accumulated, ...] = ()
        self.remark: str | None = None
        self.outer = outer
        self.depth: int = 0 if outer is None else outer.depth + 1

    @property
    def outermost(self) -> Step:
        """The step around all that it ran within, or itself; its own node may belong to a graph made in backward."""
        step = self
        while step.outer is not None:
            step = step.outer
        return step

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name()

    @property
    def rule(self) -> dict[str, str]:
        """For each input that got a gradient how that was computed, as written in the op table.

        ``python -m numgrad ops`` prints the same.  A node that is not of the table has none.
        """
        return {result.input: result.formula for result in self.results if result.formula is not None}

    @property
    def title(self) -> str:
        """The node's name in short, and what it made or accumulates into."""
        name = self.name.removeprefix("torch::autograd::")
        slots = [(self.node.sequence, number) for number in range(len(self.gradients))]
        made = [self.run.names[slot] for slot in slots if slot in self.run.names]
        if isinstance(self.node, AccumulateGrad) and not made:
            made = [f"a leaf of shape {list(self.node.variable.shape)}"]
        return f"{name} of {', '.join(made)}" if made else name

    def __repr__(self) -> str:
        return f"<Step {self.number}: {self.title}>"

    def __str__(self) -> str:
        parts = _heading, _incoming, _remark, _saved, _outgoing, _accumulated
        lines = [line for part in parts for line in part(self)]
        return textwrap.indent("\n".join(lines), "    " * self.depth)


#: Characters to a line of a formula.
WIDTH = 96

#: Steps that are named before a list of them breaks off.
NAMED = 6


def _heading(step: Step) -> Iterator[str]:
    within = "" if step.outer is None else f", within step {step.outer.number}"
    yield f"Step {step.number} of {step.run.count}: {step.title}{within}"


def _incoming(step: Step) -> Iterator[str]:
    if all(gradient is None for gradient in (*step.gradients, *step.arrived)):
        yield "  no gradient arrived"
    for number, name in enumerate(gradient_names(step.node)):
        arrived, gradient = step.arrived[number], step.gradients[number]
        origin = _origin(step.sources[number])
        if step.changed and arrived is not None:
            yield _line("  arrived = ", arrived, origin)
            origin = "  by a hook"
        if gradient is not None or len(step.gradients) > 1:
            yield _line(f"  {name} = ", gradient, origin if gradient is not None else "")
    if step.hooks:
        yield f"  hooks: {', '.join(step.hooks)}"


def _origin(sources: tuple[int | None, ...]) -> str:
    if not sources:
        return ""
    names = ["given to backward" if number is None else f"step {number}" for number in sources]
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    return f"  <- {' + '.join(names)}"


def _remark(step: Step) -> Iterator[str]:
    if step.remark is None:
        return
    code = "\n" in step.remark
    yield textwrap.indent(step.remark if code else textwrap.fill(step.remark, WIDTH), "  ")


def _saved(step: Step) -> Iterator[str]:
    for name, value in step.saved.items():
        public = attribute(step.node, name)
        yield _line(f"  {name} = ", value, "" if public == name else f"  (saved as {public})")
    if step.packed:
        yield f"  {', '.join(step.packed)}: kept by hooks in a form of their own"


def _outgoing(step: Step) -> Iterator[str]:
    shown: str | None = None
    for result in step.results:
        formula, together = result.formula, result.rule.together
        if formula is None or formula != shown or not together:
            yield from _wrapped(f"  gradient of {together or result.input}", formula)
        if result.rule.meaning is not None and formula != shown:
            yield from _wrapped("    where ", result.rule.meaning)
        shown = formula
        start = f"    {result.input} = " if together else "    = "
        if result.before_hooks is not None:
            yield _line(start, result.before_hooks, "  changed by a hook:")
        summed = "" if result.summed is None else f"  summed from shape {list(result.summed)}"
        yield _line(start, result.gradient, f"{summed}{_target(step, result)}")
    if not step.results and step.rules and any(gradient is not None for gradient in step.gradients):
        yield "  nothing is sent on"


def _target(step: Step, result: Result) -> str:
    """Where a gradient went."""
    if result.gradient is None:
        return "  taken away by a hook"
    node = result.node
    if isinstance(node, AccumulateGrad):
        name = step.run.names.get((node.sequence, 0), "leaf")
    else:
        name = node.name().removeprefix("torch::autograd::")
    return f"  -> {name}" if result.step is None else f"  -> step {result.step} ({name})"


def _accumulated(step: Step) -> Iterator[str]:
    for entry in step.accumulated:
        name = step.run.names.get(entry.slot)
        if name is not None:
            owner = f"{name}.grad"
        elif isinstance(step.node, AccumulateGrad):
            owner = "its grad"
        else:
            owner = f"grad of a tensor of shape {list(entry.tensor.shape)}"
        yield _line(f"  {owner} before = ", entry.before)
        yield _line(f"  {owner} after = ", entry.after)


def _wrapped(start: str, text: str | None) -> list[str]:
    if text is None:
        return [start]
    colon = "" if start.endswith(" ") else ": "
    return textwrap.wrap(f"{start}{colon}{text}", WIDTH, subsequent_indent="      ", break_long_words=False)


def _line(start: str, value: object, end: str = "") -> str:
    """A value after its name, further lines of it below its first."""
    return start + value_text(value).replace("\n", "\n" + " " * len(start)) + end
