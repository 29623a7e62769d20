"""One step of backward: the gradients that arrived at a node, those computed from them, and their destinations."""

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
class BackwardRun:
    """The state shared by all steps of one backward pass.

    Attributes:
        limit: the maximum number of elements of a tensor that is copied; larger ones are summarized.
        drawing: the graph before backward, if it can be drawn.
        count: the number of steps.
        names: the names of the outputs of nodes, and of leaves, as the only outputs of their AccumulateGrads.
    """

    limit: float
    drawing: Drawing | None
    count: int = 0
    names: dict[Slot, str] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class Result:
    """The gradient of one input of a node.

    Attributes:
        source: the number of the step that computed it.
        index: the index of the node's input.
        rule: the input's name and how the gradient is computed.
        node, output: its destination: a node, and the index of the output whose gradient it is.
        gradient: the gradient that was sent on; None if a hook removed it.
        before_hooks: the gradient before a hook of the node changed it; None if no hook did.
        summed: the shape before the gradient was summed to that of a broadcast input; None if it was not.
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
        """The formula of the gradient as written in the op table; None for a node that is not in the table."""
        return self.rule.formula

    def __repr__(self) -> str:
        return f"<Result: gradient of {self.input}, to {self.node.name()}>"


@dataclass(eq=False)
class Accumulated:
    """The change of the ``grad`` of a tensor: of a leaf, or of a tensor after ``retain_grad()``.

    Attributes:
        tensor: the tensor.
        slot: the number of the node at which its gradient arrives, and that of the node's output.
        before, after: its ``grad`` at the beginning and at the end of the step, or None.
    """

    tensor: Any
    slot: Slot
    before: Any
    after: Any = None


class BackwardStep:
    """The work of backward at one node.

    Gradients and other values are kept as they were then: copies without a graph, or a ``Summary`` of large tensors.

    Attributes:
        number: its number in the order of steps, from 1.
        node: the node.
        gradients: for each output of the node the gradient passed to its rules, None where there was none.
        sources: for each output the numbers of the steps whose gradients were added up; None stands for a gradient with
            which the pass began.
        arrived: the gradients before hooks; equal to ``gradients`` if there are no hooks.
        hooks: the hooks that ran, each with the way it was registered.
        changed: True if a hook changed a gradient that arrived.
        rules: the rule for each input.
        saved: the values that the rules used besides the gradients, by the names in the rules.
        packed: the names of further values, which hooks keep in another form (see ``saved_tensors_hooks``).
        results: the gradients that were sent on.
        accumulated: the tensors whose ``grad`` was added to.
        remark: the source of a user's backward; for another node outside the op table, a description.
        outer: the enclosing step, whose rule or hook runs a backward of its own, as those of some checkpoints do;
            usually None.
        depth: the number of enclosing steps.
    """

    def __init__(self, run: BackwardRun, number: int, node: Node, outer: BackwardStep | None):
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
    def outermost(self) -> BackwardStep:
        """The outermost enclosing step, or this one; an inner step's node may belong to a graph made in backward."""
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
        """For each input with a gradient, the formula of that gradient as written in the op table.

        ``python -m numgrad ops`` prints the same formulas.  A node that is not in the table has none.
        """
        return {result.input: result.formula for result in self.results if result.formula is not None}

    @property
    def title(self) -> str:
        """The node's name in short, and the tensors that it made or accumulates into."""
        name = self.name.removeprefix("torch::autograd::")
        slots = [(self.node.sequence, number) for number in range(len(self.gradients))]
        targets = [self.run.names[slot] for slot in slots if slot in self.run.names]
        if isinstance(self.node, AccumulateGrad) and not targets:
            targets = [f"a leaf of shape {list(self.node.variable.shape)}"]
        return f"{name} of {', '.join(targets)}" if targets else name

    def __repr__(self) -> str:
        return f"<Step {self.number}: {self.title}>"

    def __str__(self) -> str:
        parts = _heading, _incoming, _remark, _saved, _outgoing, _accumulated
        lines = [line for part in parts for line in part(self)]
        return textwrap.indent("\n".join(lines), "    " * self.depth)


#: The maximum number of characters in a line of a formula.
WIDTH = 96

#: The number of steps listed before a list is cut off.
NAMED = 6


def _heading(step: BackwardStep) -> Iterator[str]:
    within = "" if step.outer is None else f", within step {step.outer.number}"
    yield f"Step {step.number} of {step.run.count}: {step.title}{within}"


def _incoming(step: BackwardStep) -> Iterator[str]:
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


def _remark(step: BackwardStep) -> Iterator[str]:
    if step.remark is None:
        return
    code = "\n" in step.remark
    yield textwrap.indent(step.remark if code else textwrap.fill(step.remark, WIDTH), "  ")


def _saved(step: BackwardStep) -> Iterator[str]:
    for name, value in step.saved.items():
        public = attribute(step.node, name)
        yield _line(f"  {name} = ", value, "" if public == name else f"  (saved as {public})")
    if step.packed:
        yield f"  {', '.join(step.packed)}: packed by hooks"


def _outgoing(step: BackwardStep) -> Iterator[str]:
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
        yield "  no gradient is passed on"


def _target(step: BackwardStep, result: Result) -> str:
    """Return the destination of a gradient as text."""
    if result.gradient is None:
        return "  removed by a hook"
    node = result.node
    if isinstance(node, AccumulateGrad):
        name = step.run.names.get((node.sequence, 0), "leaf")
    else:
        name = node.name().removeprefix("torch::autograd::")
    return f"  -> {name}" if result.step is None else f"  -> step {result.step} ({name})"


def _accumulated(step: BackwardStep) -> Iterator[str]:
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
    """Return a value after its name, with further lines aligned below the first."""
    return start + value_text(value).replace("\n", "\n" + " " * len(start)) + end
