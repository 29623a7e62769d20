"""One step of backward: what arrived at a node, what it made of that, and where it went."""

from __future__ import annotations

from typing import Any

from ...autograd.node import AccumulateGrad, Node
from ..drawing import Drawing
from .rules import Rule


class Run:
    """What all steps of one backward have in common.

    Attributes:
        count: how many there are.
        limit: elements up to which a tensor is copied; larger ones are summarized.
        drawing: the graph before backward, if it can be drawn.
        names: by the identity of a tensor that a step accumulates into, what it is called.
        outputs: by a node's number and that of its output, what that is called.
    """

    def __init__(self, limit: float, drawing: Drawing | None):
        self.count = 0
        self.limit = limit
        self.drawing = drawing
        self.names: dict[int, str] = {}
        self.outputs: dict[tuple[int, int], str] = {}


def tensor_name(run: Run, tensor: Any) -> str:
    """What a tensor is called in texts."""
    return run.names.get(id(tensor)) or f"a tensor of shape {list(tensor.shape)}"


class Result:
    """The gradient of one input of a node.

    Attributes:
        source: the number of the step that made it.
        place: which of the node's inputs it is of.
        rule: the input's name and how the gradient is computed.
        gradient: what was sent on; None if a hook has taken it away.
        before_hooks: what was to be sent, before a hook of the node changed it; None if none has.
        summed: the shape in which the rule gave it, if it was summed to that of the input, which was broadcast.
        node, output: where it was sent: the gradient of which output of which node.
        step: the number of the step at which it arrived; None if there was none.
    """

    def __init__(self, source: int, place: int, rule: Rule, node: Node, output: int):
        self.source = source
        self.place = place
        self.rule = rule
        self.node = node
        self.output = output
        self.gradient: Any = None
        self.before_hooks: Any = None
        self.summed: tuple[int, ...] | None = None
        self.step: int | None = None

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


class Accumulated:
    """What became of the ``grad`` of a tensor: of a leaf, or of one that ``retain_grad()`` was called on.

    Attributes:
        tensor: the tensor.
        before, after: its ``grad`` at the beginning and at the end of the step, or None.
    """

    def __init__(self, tensor: Any, before: Any):
        self.tensor = tensor
        self.before = before
        self.after: Any = None


class Step:
    """What backward did at one node.

    Gradients and other values are as they were then: copies without a graph, or, of large tensors, a ``Summary``.

    Attributes:
        number: its place in the order of steps, from 1.
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
        self.gradients: tuple[Any, ...] = (None,) * (1 + len(node.more_outputs or ()))
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
        self._arrived: tuple[Any, ...] | None = None

    @property
    def arrived(self) -> tuple[Any, ...]:
        """The gradients before hooks saw them."""
        return self.gradients if self._arrived is None else self._arrived

    @arrived.setter
    def arrived(self, values: tuple[Any, ...]) -> None:
        self._arrived = values

    @property
    def outermost(self) -> Step:
        """The step that it ran within, however deep: its own node may belong to a graph that was made in backward."""
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
        if isinstance(self.node, AccumulateGrad):
            leaf = self.node.variable
            return f"{name} of {self.run.names.get(id(leaf)) or f'a leaf of shape {list(leaf.shape)}'}"
        known = [self.run.outputs.get((self.node.sequence, number)) for number in range(len(self.gradients))]
        made = [output for output in known if output is not None]
        return f"{name} of {', '.join(made)}" if made else name

    def __repr__(self) -> str:
        return f"<Step {self.number}: {self.title}>"

    def __str__(self) -> str:
        from .text import step_text

        return step_text(self)
