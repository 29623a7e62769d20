"""``python -m numgrad ops``: the op table as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from numgrad.ops import ops, public_functions
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.formulas import formula, rule_formula
from numgrad.ops.table.op import OVERLOAD_SUFFIXES, Op, composites

#: Beginning of the docstring paragraph on differences.
_DIFFERENCE = "Unlike PyTorch"


def print_ops(names: list[str]) -> bool:
    """Print the entries called ``names``, or all entries; return True if all names were found.

    A public function without an entry of its own name is printed with the entries that implement it for various forms
    of arguments.
    """
    known: dict[str, list[Op]] = {}
    for op in ops.values():
        known.setdefault(entry_name(op), []).append(op)  # a name may have an entry and its "_op"
    for name in names or sorted({*known, *composites}):
        for op in known.get(name, ()):
            print("\n".join(entry(op)))
        function = composites.get(name) or public_functions.get(name)
        if name not in known and function is not None:
            print(f"{_signature(name, function)}\n    {(inspect.getdoc(function) or '').partition(chr(10))[0]}")
            if name in composites:
                print("    made of other operations")
            for op in [op for suffix in OVERLOAD_SUFFIXES for op in known.get(f"{name}_{suffix}", ())]:
                print("\n".join(entry(op)))
        elif name not in known:
            print(f"{name}: the table has no such operation")
    if not names:
        print(f"{len(ops)} operations, {len(composites)} made of them")
    return {*known, *public_functions, *composites} >= set(names)


def entry_name(op: Op) -> str:
    """Return the entry's name, without the suffix that distinguishes it from a function."""
    return op.name.removesuffix("_op")


def entry(op: Op) -> Iterator[str]:
    """Yield the lines about an operation: signature, node and formula; the gradient of each input; differences."""
    yield f"{_signature(entry_name(op), op.function)}  {op.node_class.__name__}"
    if isinstance(op, Pointwise):
        yield f"    = {formula(op.function)}"
    if op.host is not None:
        yield f"    on the host: {op.host.library}"
    for name in op.inputs:
        rule = op.rules.get(name)
        yield f"    gradient of {name}: {'none' if rule is None else rule_formula(rule)}"
    for text in {inspect.getdoc(op.function), inspect.getdoc(public_functions.get(entry_name(op)))}:
        for paragraph in (text or "").split("\n\n"):
            if paragraph.startswith(_DIFFERENCE):
                yield f"    {' '.join(paragraph.split())}"


def _signature(name: str, function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters.values()
    return f"{name}({', '.join(str(parameter.replace(annotation=parameter.empty)) for parameter in parameters)})"
