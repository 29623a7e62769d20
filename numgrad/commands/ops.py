"""``python -m numgrad ops``: the op table as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numgrad.ops import ops, public_functions
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.formulas import formula, rule_formula
from numgrad.ops.table.op import OVERLOAD_SUFFIXES, Op, composites
from numgrad.viz.inspection.examples import function_named

#: Beginning of the docstring paragraph on differences.
_DIFFERENCE = "Unlike PyTorch"


def print_ops(names: list[str]) -> bool:
    """Print the entries called ``names``, or all entries; return True if all names were found.

    A name may include the module.  A public function that no entry is named after is printed with the entries that
    compute it.
    """
    by_name: dict[str, list[Op]] = {}
    for op in ops.values():
        by_name.setdefault(entry_name(op), []).append(op)  # a name may have an entry and its "_op"
    missing = []
    for name in names or sorted({*by_name, *composites}):
        if name in by_name:
            entries = by_name[name]
        else:
            try:
                function = composites.get(name) or function_named(name)
            except ValueError as error:
                print(f"{name}: the table has no such operation{str(error).partition(chr(39) + name + chr(39))[2]}")
                missing.append(name)
                continue
            entries = _entries_of(function, by_name) if names else []
            print(f"{_signature(name, function)}\n    {(inspect.getdoc(function) or '').partition(chr(10))[0]}")
            if name in composites:
                print("    made of other operations")
        for op in entries:
            print("\n".join(entry(op)))
    if not names:
        print(f"{len(ops)} operations, {len(composites)} made of them")
    return not missing


def _entries_of(function: Any, ops: Mapping[str, list[Op]]) -> list[Op]:
    """Return the entries that compute a function: its overloads, its form that is not in place, or those it calls."""
    name = function.__name__
    overloads = [op for suffix in OVERLOAD_SUFFIXES for op in ops.get(f"{name}_{suffix}", ())]
    return overloads or ops.get(name) or ops.get(name.removesuffix("_")) or [*_called(inspect.unwrap(function), {})]


def _called(function: Any, seen: dict[Any, None]) -> dict[Op, None]:
    """Return the entries that a function and its helpers in the same module call."""
    result: dict[Op, None] = {}
    seen[function] = None
    for name in getattr(getattr(function, "__code__", None), "co_names", ()):
        value = inspect.unwrap(function.__globals__.get(name))
        op = value if isinstance(value, Op) else getattr(value, "op", None)
        if isinstance(op, Op):
            result[op] = None
        elif callable(value) and value not in seen and getattr(value, "__globals__", None) is function.__globals__:
            result |= _called(value, seen)
    return result


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
