"""A step of backward as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ...autograd.node import AccumulateGrad
from .rules import attribute, gradient_names
from .step import Result, Step, tensor_name
from .values import value_text

#: Characters to a line of a formula.
WIDTH = 96

#: Steps that are named before a list of them breaks off.
NAMED = 6


def step_text(step: Step) -> str:
    """The step as a block of lines."""
    lines = [heading(step), *_incoming(step), *_remark(step), *_saved(step), *_outgoing(step), *_accumulated(step)]
    return textwrap.indent("\n".join(lines), "    " * step.depth)


def heading(step: Step) -> str:
    """The first line: number and node."""
    within = "" if step.outer is None else f", within step {step.outer.number}"
    return f"Step {step.number} of {step.run.count}: {step.title}{within}"


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
    told: str | None = None
    for result in step.results:
        formula, together = result.formula, result.rule.together
        if formula is None or formula != told or not together:
            yield from _wrapped(f"  gradient of {together or result.input}", formula)
        if result.rule.meaning is not None and formula != told:
            yield from _wrapped("    where ", result.rule.meaning)
        told = formula
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
        name = step.run.names.get(id(node.variable), "leaf")
    else:
        name = node.name().removeprefix("torch::autograd::")
    return f"  -> {name}" if result.step is None else f"  -> step {result.step} ({name})"


def _accumulated(step: Step) -> Iterator[str]:
    for entry in step.accumulated:
        name = step.run.names.get(id(entry.tensor))
        if name is None and isinstance(step.node, AccumulateGrad):
            owner = "its grad"
        else:
            owner = f"grad of {tensor_name(step.run, entry.tensor)}" if name is None else f"{name}.grad"
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
