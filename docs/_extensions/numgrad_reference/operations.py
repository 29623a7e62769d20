"""Pages of the families of operations: docstrings, and the entries of the op table."""

from __future__ import annotations

import inspect
from collections import defaultdict
from typing import Any

from numgrad.ops import ops, public_functions
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.formulas import formula, rule_formula
from numgrad.ops.table.op import Op, composites, public_name

from .dtypes import dtypes_text
from .markup import Lines, heading, indented, literal, summary, table

#: Titles of the folders of ``numgrad/ops``.
FOLDERS = {
    "pointwise": "Pointwise operations", "reductions": "Reductions, scans and sorting", "shapes": "Shapes and views",
    "indexing": "Indexing", "matrices": "Matrices", "decompositions": "Linear algebra", "network": "Network operations",
    "spectral": "Fourier transforms", "creation": "Creation and random numbers", "memory": "Copies and conversions",
}


def entries_of(name: str, *others: str) -> list[Op]:
    """Return the entries of the op table that compute a public function of the first of these names that has some."""
    found = [op for key, op in ops.items() if public_name(key) == name or key.removesuffix("_op") == name]
    return found or (entries_of(*others) if others else [])


def facts(op: Op) -> Lines:
    """Yield the list of what the table says about an entry: node, formula, gradients, dtypes, devices."""
    if op.has_gradient:
        yield f"* Node: ``{op.node_class.__name__}``"
    if isinstance(op, Pointwise):
        yield f"* Value: {literal(formula(op.function))}"
    rules = defaultdict(list)
    for name in op.inputs:
        rules[rule_formula(op.rules[name]) if name in op.rules else ""].append(literal(name))
    for text, names in rules.items():
        if text:
            yield f"* Gradient of {', '.join(names)}: {literal(text)}"
        elif op.has_gradient:
            yield f"* No gradient: {', '.join(names)}"
    if op.has_gradient:
        yield "* Derivatives: of every order, in reverse and forward mode"
    else:
        yield "* Derivatives: none"
    dtypes = dtypes_text(op)
    if dtypes:
        yield f"* {dtypes}"
    yield f"* Devices: CPU, CUDA{f' (computed on the host by {op.host.library})' if op.host is not None else ''}"


def function_entry(full_name: str, name: str, function: Any) -> Lines:
    """Yield the description of a function, with its entries in the op table."""
    yield from (f".. autofunction:: {full_name}", "")
    entries = entries_of(name, function.__name__)
    for op in entries:
        if len(entries) > 1:
            yield from indented((f"**{op.name}**", ""))
        yield from indented(facts(op))
        yield ""
    if "undifferentiated" in getattr(getattr(inspect.unwrap(function), "__code__", None), "co_names", ()):
        yield from indented(("As in PyTorch, backward through the result raises an error.", ""))
    if name in composites:
        yield from indented(("Composed of other operations, and differentiated as they are.", ""))


def family(function: Any) -> str:
    """Return the module of ``numgrad.ops`` that declares a public function, or an empty string."""
    name = function.__name__
    origin = next((op.function.__module__ for op in entries_of(name)), None)
    origin = origin or getattr(inspect.unwrap(function), "__globals__", {"__name__": ""})["__name__"]
    found = origin.removeprefix("numgrad.ops.") if origin.startswith("numgrad.ops.") else ""
    return found if found.partition(".")[0] in FOLDERS else ""


def families() -> dict[str, dict[str, list[str]]]:
    """Return the names of public functions by family, and these by folder."""
    result: dict[str, dict[str, list[str]]] = {folder: defaultdict(list) for folder in FOLDERS}
    for name, function in public_functions.items():
        folder, _, module = (family(function) if inspect.isfunction(function) else "").partition(".")
        if folder:
            result[folder][module].append(name)
    return result


def family_page(title: str, names: list[str], internal: list[Op]) -> Lines:
    """Yield the page of a family of operations."""
    yield from heading(title)
    yield from table(
        ("Function", ""), ((f":py:func:`~numgrad.{name}`", summary(public_functions[name])) for name in sorted(names))
    )
    for name in sorted(names):
        yield from function_entry(f"numgrad.{name}", name, public_functions[name])
    if internal:
        yield from heading("Entries without a function of their own", "-")
        yield from ("Functions, modules and rules of other operations call these entries of the op table.", "")
        for op in internal:
            yield from (f"**{op.name}**: {summary(op.function)}", "")
            yield from facts(op)
            yield ""
