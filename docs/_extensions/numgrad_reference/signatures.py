"""Signatures of the functions and methods that the op table makes, from ``numgrad/ops/signatures.pyi``."""

from __future__ import annotations

import ast
import inspect
import types
from pathlib import Path
from typing import Any

import numgrad

#: Types of defaults that signatures show.
SIMPLE = (bool, int, float, complex, str, types.NoneType)


class _Plain(ast.NodeTransformer):
    """Transformer of annotations in ``signatures.pyi`` to the names that users know."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "_Operand":
            return ast.parse("Tensor | number", mode="eval").body
        return ast.Name(node.id.removeprefix("_"))


def fill_defaults(given: ast.arguments, function: Any) -> None:
    """Replace the defaults of a declaration, which are dots, by those of the function."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    positional = given.args[len(given.args) - len(given.defaults) :]
    for parameters, defaults in ((positional, given.defaults), (given.kwonlyargs, given.kw_defaults)):
        for number, (parameter, default) in enumerate(zip(parameters, defaults, strict=True)):
            own = known[parameter.arg].default if parameter.arg in known else None
            if isinstance(default, ast.Constant) and default.value is ... and isinstance(own, SIMPLE):
                defaults[number] = ast.Constant(own)


def declared_signatures() -> dict[str, tuple[str, str]]:
    """Return the parameters and the result of each function and method of the op table, by its full name."""
    tree = ast.parse((Path(numgrad.__file__).parent / "ops" / "signatures.pyi").read_text(encoding="utf-8"))
    found = {}

    def visit(nodes: list[ast.stmt], prefix: str) -> None:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                visit(node.body, "numgrad.Tensor")
            elif isinstance(node, ast.FunctionDef):
                node = _Plain().visit(node)
                given = node.args
                if given.kwarg is not None and given.kwarg.arg == "keywords":
                    given.kwarg = None
                owner = numgrad.Tensor if prefix.endswith("Tensor") else numgrad
                fill_defaults(given, getattr(owner, node.name, None))
                if owner is numgrad.Tensor:
                    given.args = given.args[1:]
                result = ast.unparse(node.returns) if node.returns is not None else ""
                found[f"{prefix}.{node.name}"] = f"({ast.unparse(given)})", result

    visit(tree.body, "numgrad")
    return found
