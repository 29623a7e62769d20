"""Calls of operations on tensors and numbers, written for their number of operands.

A call finds its entry by the layouts of its tensors and the classes of its numbers, launches, and records: see Note [A
call is a lookup] in ``dispatch``.  Most calls of a program run here, so the text of a call has no loops over operands.
It is compiled once for all operations of one form.  In a special mode, the operation's own ``run`` takes over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...autograd.locations import UNRECORDED
from ...autograd.node import edge_of
from ...autograd.views import check_writable
from ...devices import NUMBERS
from ...tensors.tensor import Tensor, tensor_of
from .dispatch import change
from .operands import check_overlap
from .recording import record

#: Types of the operands that an expression may combine with a tensor.
OPERANDS = (Tensor, bool, int, float, complex, np.ndarray, np.generic)

_NAMES = {
    "GRAD": GRAD, "NUMBERS": NUMBERS, "OPERANDS": OPERANDS, "ORDINARY": ORDINARY, "Tensor": Tensor,
    "UNRECORDED": UNRECORDED, "change": change, "check_overlap": check_overlap, "check_writable": check_writable,
    "edge_of": edge_of, "record": record, "state": state, "tensor_of": tensor_of,
}


class Calls:
    """Calls of an operation that users do not see, compiled on first use."""

    @functools.cached_property
    def short(self) -> Callable[..., Any]:
        """The call that takes the operands alone."""
        return call_of(self)

    @functools.cached_property
    def configured(self) -> Callable[..., Any]:
        """The call that takes the operands, followed by all the numbers that configure the operation."""
        return call_of(self, configured=True)

    @functools.cached_property
    def configured_in_place(self) -> Callable[..., Any]:
        """The call that takes the same as ``configured``, and overwrites the first operand."""
        return call_of(self, configured=True, in_place=True)


def call_of(
    op: Any, *, configured: bool = False, in_place: bool = False, operator: bool = False, keywords: str = "",
    special: Any = None,
) -> Callable[..., Any]:
    """Return a call of an operation that takes operands by position.

    Args:
        op: the operation.
        configured: if True, all the numbers that configure the operation follow the operands.
        in_place: if True, the first operand is overwritten.
        operator: if True, the call returns NotImplemented for a second operand of an unknown type.
        keywords: further parameters: ``out=None``, ``**numbers``, or both.
        special: the function that handles calls with ``keywords``, as ``special(operands, numbers, out)``; without
            ``out`` if the call has no such parameter.
    """
    count, numbers = len(op.inputs), len(op.attributes) if configured else 0
    names = ("input", "other")[:count] if count <= 2 else ("input", *[f"operand{n}" for n in range(1, count)])
    recorded = op.has_gradient and not in_place  # by this call; the others need no text of their own
    graded = tuple([not recorded or position in op.edge_positions for position in range(count)])
    return _maker(names, graded, numbers, in_place, operator, keywords)(op, special)


@functools.cache
def _maker(
    names: tuple[str, ...], graded: tuple[bool, ...], count: int, in_place: bool, operator: bool, keywords: str
) -> Callable[..., Callable[..., Any]]:
    """Return ``make(op, special)``, which returns the call with operands of these names and ``count`` numbers."""
    numbers = [f"number{n}" for n in range(count)]
    tensors = names[:1] if in_place or len(names) <= 2 else ()  # no entry is cached for numbers instead of these
    if_tensor = {name: "" if name in tensors else f"{name}.__class__ not in NUMBERS and " for name in names}
    key = [
        f"{name}._layout" if name in tensors else
        f"{name}._layout if {name}.__class__ is Tensor or {name}.__class__ not in NUMBERS else {name}.__class__"
        for name in names
    ]
    key += [f"({name}.__class__, {name}) if {name} in baked else {name}.__class__" for name in numbers]
    operands = f"({', '.join(names)},)"
    passed = [operands, f"op.completed(zip(attributes, ({', '.join(numbers)},)))" if numbers else "attributes"]
    if in_place:
        key.append("input._layout")
        passed.append("input")
    lines = [
        "try:",
        f"    entry = recent[{', '.join(key)}]",
        "except (KeyError, AttributeError):",
        *["    if not isinstance(other, OPERANDS):", "        return NotImplemented"] * operator,
        f"    return run({', '.join(passed)})",
        "mode = state.mode",
        "if mode > ORDINARY:",
        f"    return run({', '.join(passed)})",
    ]
    if keywords:
        with_numbers, with_out = "numbers" in keywords, "out" in keywords
        arguments = [operands, "numbers" if with_numbers else "attributes", *["out"] * with_out]
        condition = " or ".join(["numbers"] * with_numbers + ["out is not None"] * with_out)
        lines[:0] = [f"if {condition}:", f"    return special({', '.join(arguments)})"]
    if numbers:
        lines += [
            f"values = ({', '.join([*names, *numbers])},)",
            "if entry.details.positions is not None:",
            "    values = [values[position] for position in entry.details.positions]",
        ]
    values = ("values", "*values") if numbers else (operands, ", ".join(names))
    lines += _change(if_tensor, *values) if in_place else _new(if_tensor, graded, *values)
    text = [
        "def make(op, special):",
        "    recent, run, attributes, baked = op.entries.recent, op.run, op.attributes, op.baked_numbers",
        f"    def call({', '.join([*names, *numbers, *[keywords] * bool(keywords)])}):",
        *[f"        {line}" for line in lines],
        "    return call",
    ]
    namespace: dict[str, Any] = {"__name__": __name__, **_NAMES}
    exec(compile("\n".join(text), f"{__file__}: call", "exec"), namespace)  # locations leave out this package's files
    return namespace["make"]


def _new(if_tensor: Mapping[str, str], graded: Sequence[bool], values: str, launched: str) -> list[str]:
    """Return the lines that compute and record a new tensor.

    ``if_tensor`` maps the names of the operands to the conditions under which they are tensors.
    """
    lines = [
        f"out = tensor_of(entry.layout, entry.launch({launched}))",
        "if not mode & GRAD:",
        "    out._origin = UNRECORDED",
        "elif entry.recorded:",
        "    needed = 0",
    ]
    for number, (name, condition) in enumerate(if_tensor.items()):
        lines.append(f"    edge{number} = None")
        if graded[number]:
            lines += [
                f"    if {condition}{name}._requires_grad:",
                f"        edge{number} = {name}._edge",
                f"        if edge{number} is None or {name}._view is not None:",
                f"            edge{number} = edge_of({name})",
                f"        if edge{number} is not None:",
                f"            needed += {1 << number}",
            ]
    edges = "".join([f"edge{number}, " for number in range(len(graded))])
    return [
        *lines,
        "    if needed:",
        f"        record(entry.backward_plans.get(needed) or entry.backward_plan(needed), out, ({edges}), {values})",
        "return out",
    ]


def _change(if_tensor: Mapping[str, str], values: str, launched: str) -> list[str]:
    """Return the lines that overwrite the first operand."""
    others = [(name, condition) for name, condition in if_tensor.items() if name != "input"]
    lines: list[str] = []
    for name, condition in others:
        lines += [f"if {condition}{name}._storage is input._storage:", f"    check_overlap(input, {name})"]
    tracked = ["input._requires_grad or input._view is not None or input._counter.__class__ is not list"]
    tracked += [f"{condition}{name}._requires_grad" for name, condition in others]
    operands = ", ".join(if_tensor)
    return [
        *lines,
        f"if {' or '.join(tracked)}:",
        f"    check_writable(*[value for value in ({operands},) if value.__class__ not in NUMBERS])",
        f"    return change(entry, {values}, input)",
        f"entry.launch({launched}, input)",
        "input._counter[0] += 1",
        "return input",
    ]
