"""The rules of the op table as text that a student can read.

The code of a rule is shown as mathematics: products of tensors as ``a * b``, operations by their public names.  If the
code is a program (a kernel for the common case, or cases by dtype), its docstring begins with the formula.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from .op import public_name

#: Operations that have an operator.
_OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "times": ast.Mult, "div": ast.Div, "mm": ast.MatMult,
    "bmm": ast.MatMult, "mv": ast.MatMult, "pow": ast.Pow,
}
_COMPARISONS: dict[str, type[ast.cmpop]] = {"eq": ast.Eq, "ne": ast.NotEq}

#: Functions that only change the memory layout or dtype of their first argument, or dimensions that broadcast anyway.
_TRANSPARENT = ("contiguous", "convert", "restored")


@functools.cache
def formula(function: Callable[..., Any], real: bool = False) -> str:
    """Return the value that a function returns as text, preceded by the other statements.

    Args:
        function: a function of scalars or tensors.
        real: if True, leave out conjugates, which do nothing for real numbers.
    """
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    return _text(definition.body[ast.get_docstring(definition) is not None :], function, real)


@functools.cache
def rule_formula(rule: Callable[..., Any], real: bool = False) -> str:
    """Return the formula of a rule of the table.

    It is the text in double backquotes at the start of the rule's docstring, if there is one.  Otherwise, it is the
    formula of the rule's code.  The arguments are those of :func:`formula`.
    """
    before, mark, following = " ".join((inspect.getdoc(rule) or "").split()).partition("``")
    if before or not mark:
        return formula(rule, real)
    return _text(ast.parse(following.partition("``")[0]).body, rule, real)


def _text(statements: list[ast.stmt], function: Callable[..., Any], real: bool) -> str:
    readable = _Readable(function.__globals__, real)
    texts = [" ".join(ast.unparse(readable.visit(statement)).split()) for statement in statements]
    return "; ".join([*texts[:-1], texts[-1].removeprefix("return ")])


def _as_called(name: str) -> str:
    """Return the name by which users call the function that rules call ``name``."""
    return "where" if name == "choose" else public_name(name)


class _Readable(ast.NodeTransformer):
    """Transformer of code to blackboard notation."""

    def __init__(self, names: dict[str, Any], real: bool):
        self.names = names  # the globals of the function
        self.real = real

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.names.get(node.id) if node.id.startswith("_") else None
        if isinstance(value, int | float):
            return ast.Constant(float(f"{value:.6g}"))
        return ast.Name(_as_called(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        owner = self.visit(node.value)
        if isinstance(owner, ast.Name) and owner.id in ("scalar", "math"):
            return ast.Name(node.attr)
        return ast.Attribute(owner, node.attr.removeprefix("_"))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = self.visit(node.func)
        name = function.id if isinstance(function, ast.Name) else ""
        if name == "grad_view":  # an operation with its arguments
            return self.visit_Call(ast.Call(node.args[0], node.args[1:], []))
        arguments = [self.visit(argument) for argument in node.args]
        keywords = [ast.keyword(keyword.arg, self.visit(keyword.value)) for keyword in node.keywords]
        if name in _TRANSPARENT or (name == "conj" and self.real):
            return arguments[0]
        operands = [*arguments, *[keyword.value for keyword in keywords]]
        if len(operands) == 2:
            left, right = operands
            if name in _OPERATORS:
                return ast.BinOp(left, _OPERATORS[name](), right)
            if name in _COMPARISONS:
                return ast.Compare(left, [_COMPARISONS[name]()], [right])
        if name == "neg":
            return ast.UnaryOp(ast.USub(), *operands)
        return ast.Call(function, arguments, keywords)
