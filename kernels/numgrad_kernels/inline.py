"""Turn the scalar functions of an op's author into the statements of a loop body.

The rule of ``softplus`` may return ``grad * sigmoid(beta * input)``.  In a kernel each name must refer to something
that Numba compiles and that the kernel's digest covers.  The text of other ops is therefore copied in, mathematical
functions become those of ``numgrad_kernels.scalar``, and each literal takes the dtype the kernel computes in (in Numba
``1 - x`` widens a float32 to float64).  The result is a few plain assignments that a person can read.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import scalar
from .syntax import syntax_tree, where


class Inliner:
    """Collector of the statements that compute scalar functions in one dtype.

    Args:
        compute: dtype of every value and literal.
        reserved: names that the statements must not assign to.
    """

    def __init__(self, compute: np.dtype, reserved: set[str]):
        self.compute = compute
        self.statements: list[str] = []
        self.imports: set[str] = set()  # names used from numgrad_kernels.scalar
        self._reserved = set(reserved)

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
        """Append the statements that compute ``function`` and return the expression of its result.

        ``arguments`` maps each parameter to the name of a variable, or to a Python number to write in its place.

        Raises:
            TypeError: the function is not a straight line of assignments and one return, or uses a name that has no
                meaning in a kernel.
        """
        bound = {
            name: ast.Name(value, ast.Load()) if isinstance(value, str) else ast.Constant(value)
            for name, value in arguments.items()
        }
        return ast.unparse(literals(self.compute, self.expand(function, bound)))

    def expand(self, function: Callable[..., Any], arguments: Mapping[str, ast.expr]) -> ast.expr:
        definition = syntax_tree(function)
        parameters = [parameter.arg for parameter in definition.args.args + definition.args.kwonlyargs]
        scope = _Scope(self, function, {name: arguments[name] for name in parameters})
        for statement in definition.body:
            match statement:
                case ast.Return(value=ast.expr() as value):
                    return scope.visit(value)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    scope.bind(name, scope.visit(value))
                case _:
                    raise _not_straight(function, statement)
        raise _not_straight(function, definition)

    def assign(self, name: str, value: ast.expr) -> ast.Name:
        """Store ``value`` in a new variable called ``name``, with a number appended if that is taken."""
        fresh = self.fresh(name)
        self.statements.append(f"{fresh} = {ast.unparse(literals(self.compute, value))}")
        return ast.Name(fresh, ast.Load())

    def fresh(self, name: str) -> str:
        """Return ``name``, with a number appended if that is taken, and reserve it."""
        fresh, number = name, 1
        while fresh in self._reserved:
            number += 1
            fresh = f"{name}{number}"
        self._reserved.add(fresh)
        return fresh

    def scalar(self, name: str, *arguments: ast.expr) -> ast.expr:
        """Return a call of a function of ``numgrad_kernels.scalar``."""
        self.imports.add(name)
        return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])

    def quotient(self, left: ast.expr, right: ast.expr) -> ast.expr:
        if self.compute.kind != "c":
            return _folded(ast.BinOp(left, ast.Div(), right))
        return self.scalar("divide", left, right)  # Numba's division raises for a zero divisor

    def power(self, base: ast.expr, exponent: ast.expr) -> ast.expr:
        """Return a power; with a small constant exponent it is a product (or a root), as in PyTorch."""
        if isinstance(exponent, ast.Constant) and self.compute.kind in "fc":
            if exponent.value in (2, 3, -1, -2) and not isinstance(base, ast.Name):
                base = self.assign("base", base)
            one = ast.Constant(1)
            simple = {
                0: lambda: one,
                1: lambda: base,
                2: lambda: _product(base, base),
                3: lambda: _product(_product(base, base), base),
                -1: lambda: self.quotient(one, base),
                -2: lambda: self.quotient(one, _product(base, base)),
                0.5: lambda: self.scalar("sqrt", base),
                -0.5: lambda: self.quotient(one, self.scalar("sqrt", base)),
            }.get(_number(exponent))
            if simple is not None:
                return simple()
        return self.scalar("pow", base, exponent)


class _Scope(ast.NodeTransformer):
    """Transformer of the expressions of one function: its parameters and variables, and the names from outside."""

    def __init__(self, inliner: Inliner, function: Callable[..., Any], variables: dict[str, ast.expr]):
        self.inliner = inliner
        self.function = function
        self.variables = variables

    def bind(self, name: str, value: ast.expr) -> None:
        simple = isinstance(value, ast.Name | ast.Constant)
        self.variables[name] = value if simple else self.inliner.assign(name, value)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and not isinstance(node, ast.BoolOp | ast.IfExp):
            raise _no_expression(self.function, node)
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self._constant(node.value, node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.variables:
            return self.variables[node.id]
        return self._constant(self._resolve(node.id), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr in ("real", "imag") and isinstance(node.value, ast.Name) and node.value.id in self.variables:
            return ast.Attribute(self.visit(node.value), node.attr, ast.Load())
        return self._constant(self._resolve_attribute(node), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Pow):
            return self.inliner.power(left, right)
        if isinstance(node.op, ast.Div):
            return self.inliner.quotient(left, right)
        return _folded(ast.BinOp(left, node.op, right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(operand, ast.Constant):
            return ast.Constant(-_number(operand))
        return ast.UnaryOp(node.op, operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return _folded(ast.Compare(self.visit(node.left), node.ops, [self.visit(other) for other in node.comparators]))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute):
            target = self._resolve_attribute(node.func)
        elif isinstance(node.func, ast.Name):
            target = self._resolve(node.func.id)
        else:
            raise _no_expression(self.function, node)
        arguments = [self.visit(argument) for argument in node.args]
        keywords = {keyword.arg or "**": self.visit(keyword.value) for keyword in node.keywords}
        inner = getattr(target, "scalar_function", None)  # another op of the table, whose text is copied in
        name = getattr(target, "__name__", "")
        if inner is None and getattr(scalar, name, None) is not target and target is not builtins.abs:
            raise TypeError(f"{where(self.function)}: '{ast.unparse(node.func)}' cannot be called in a kernel")
        try:
            bound = inspect.signature(inner or target).bind(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(f"{where(self.function)}: '{ast.unparse(node)}': {error}") from error
        return self._scalar_call(name, list(bound.args)) if inner is None else self._inline(inner, bound)

    def _inline(self, function: Callable[..., Any], bound: inspect.BoundArguments) -> ast.expr:
        arguments: dict[str, ast.expr] = {}
        for name, parameter in bound.signature.parameters.items():
            value = bound.arguments.get(name)
            if value is None:
                value = ast.Constant(parameter.default)
            elif not isinstance(value, ast.Name | ast.Constant):
                value = self.inliner.assign(name, value)  # it may be used more than once
            arguments[name] = value
        return self.inliner.expand(function, arguments)

    def _scalar_call(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        if name == "where":
            condition, chosen, other = arguments
            if isinstance(condition, ast.Constant):
                return chosen if condition.value else other
            return ast.IfExp(condition, chosen, other)
        if name == "conj" and self.inliner.compute.kind != "c":
            return arguments[0]
        if name == "pow":
            return self.inliner.power(*arguments)
        return self.inliner.scalar(name, *arguments)

    def _resolve(self, name: str) -> Any:
        function = self.function
        if function.__closure__ and name in function.__code__.co_freevars:
            return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
        for names in (function.__globals__, vars(builtins)):
            if name in names:
                return names[name]
        raise TypeError(f"{where(self.function)}: the name '{name}' is not defined")

    def _resolve_attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id not in self.variables:
            return getattr(self._resolve(node.value.id), node.attr)
        raise TypeError(f"{where(self.function)}: '{ast.unparse(node)}' has no meaning for a scalar")

    def _constant(self, value: Any, node: ast.expr) -> ast.expr:
        if isinstance(value, bool | int | float | complex):
            return ast.Constant(value)
        raise TypeError(f"{where(self.function)}: '{ast.unparse(node)}' is not a number, it is {type(value).__name__}")


class _Literals(ast.NodeTransformer):
    """Transformer that writes each literal in the computing dtype."""

    def __init__(self, compute: np.dtype):
        self.compute = compute

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, bool) or self.compute.kind == "b":
            return node
        value = _number(node)
        if isinstance(value, complex):
            return ast.Call(ast.Name(self.compute.name, ast.Load()), [ast.Constant(value)], [])
        if self.compute.kind in "fc":
            value = float(value)
        text: ast.expr = ast.Constant(value) if math.isfinite(value) else ast.Name(str(value), ast.Load())
        return ast.Call(ast.Name(self.compute.name, ast.Load()), [text], [])


def function_in(compute: np.dtype, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of Python that computes a scalar function in one dtype, for Numba to compile.

    Keyword-only parameters become positional ones, with their defaults.
    """
    text, imports = text_in(compute, function)
    scope: dict[str, Any] = {compute.name: compute.type, "inf": math.inf, "nan": math.nan}
    scope |= {name: getattr(scalar, name) for name in imports}
    exec(compile(text, f"<{function.__name__} in {compute.name}>", "exec"), scope)
    return scope["element"]


def text_in(compute: np.dtype, function: Callable[..., Any]) -> tuple[str, list[str]]:
    """Return the text of the function that ``function_in`` returns, and the functions of ``scalar`` that it calls."""
    defaults = function.__kwdefaults__ or {}
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    inliner = Inliner(compute, {*names, *defaults, *vars(scalar), compute.name, "inf", "nan"})
    value = inliner.call(function, {name: name for name in (*names, *defaults)})
    lines = [f"{name} = {compute.name}({name})" for name in (*names, *defaults)]
    lines += [*inliner.statements, f"return {value}"]
    parameters = [*names, *[f"{name}={default!r}" for name, default in defaults.items()]]
    text = f"def element({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in lines)
    return text, sorted(inliner.imports)


def literals(compute: np.dtype, node: ast.expr) -> ast.expr:
    """Return an expression with each literal in the computing dtype."""
    return _Literals(compute).visit(node)


def _folded(node: ast.BinOp | ast.Compare) -> ast.expr:
    """Return the expression, evaluated if all operands are literals, and without factors of 1."""
    operands = [node.left, *([node.right] if isinstance(node, ast.BinOp) else node.comparators)]
    if all(isinstance(operand, ast.Constant) for operand in operands):
        try:
            return ast.Constant(eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<literal>", "eval")))
        except ArithmeticError:  # such as a division by zero, which is left to the kernel
            return node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for factor, other in (operands, operands[::-1]):
            if isinstance(factor, ast.Constant) and factor.value == 1 and not isinstance(factor.value, bool):
                return other
    return node


def _number(node: ast.Constant) -> Any:
    """Return the value of a literal, which in a scalar function is a number."""
    return node.value


def _product(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, ast.Mult(), right)


def _not_straight(function: Callable[..., Any], statement: ast.stmt) -> TypeError:
    return TypeError(
        f"{where(function)}: '{ast.unparse(statement).splitlines()[0]}' cannot be part of a pointwise kernel; "
        "write assignments and one return, and where(condition, a, b) to choose"
    )


def _no_expression(function: Callable[..., Any], node: ast.expr) -> TypeError:
    return TypeError(f"{where(function)}: '{ast.unparse(node)}' cannot be part of a pointwise kernel")
