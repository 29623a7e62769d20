"""Turn a hand-written kernel into the text of one module for the kernel store, with everything it calls pasted in.

Numba compiles each of several functions separately, with wrappers, and then again as part of its callers, which takes
50 to 100 ms per function.  All of them are therefore merged into one function.

The text computes what Python would, although calls are evaluated first: the statements of a call are inserted before
the statement that contains it.  So a call in one branch of a conditional expression, which may not run, must be of a
function that is a single expression.  And a statement must not read an array that one of its calls writes.  Both cases
raise an error.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from . import blocks, cache, local, scalar
from .syntax import syntax_tree

#: Modules whose functions the text imports instead of containing them.
_IMPORTED = (*[f"{__package__}.{name}" for name in cache.IMPORTED], f"{__package__}.cuda.language")


def module_text(
    function: Callable[..., Any], compute: np.dtype, parts: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """Return a module that defines ``kernel``, the given function, with ``T`` standing for the ``compute`` dtype.

    Functions that it calls from its own package are pasted in, so that the digest of the text covers them.  Such
    functions may also be passed to pasted functions as arguments.  Functions named in ``parts`` are replaced by those
    given there.

    Raises:
        TypeError: the function uses a name that a kernel cannot have, or calls a function that cannot be pasted.
    """
    module = _Module(compute, parts)
    kernel = syntax_tree(function)
    kernel.name, kernel.decorator_list = "kernel", []
    for parameter in kernel.args.args:
        parameter.annotation = None
    variables: dict[str, ast.expr] = {p.arg: ast.Name(p.arg, ast.Load()) for p in kernel.args.args}
    module.reserved.update(variables)
    kernel.body = _Body(module, function, variables).block(kernel.body)
    lines = [f'"""{function.__name__}, computed in {compute}."""', ""]
    lines += [*sorted(module.imports), ""]
    lines += [f"{name} = {value!r}" for name, value in sorted(module.constants.items())]
    return "\n".join([*lines, "", "", ast.unparse(kernel)]) + "\n"


class _Module:
    """The parts of the text outside its function: imports, constants, and the reserved names."""

    def __init__(self, compute: np.dtype, parts: Mapping[str, Any]):
        self.compute = compute
        self.parts = parts
        self.imports: set[str] = set()
        self.constants: dict[str, int | float] = {}
        self.reserved = {"kernel", "prange", "T", *vars(builtins), *vars(scalar), *vars(local), *vars(blocks)}

    def fresh(self, name: str) -> ast.Name:
        """Return a variable called ``name``, with a number appended if that is taken."""
        free, number = name, 1
        while free in self.reserved:
            number += 1
            free = f"{name}{number}"
        self.reserved.add(free)
        return ast.Name(free, ast.Load())

    def add(self, name: str, value: Any, function: Callable[..., Any]) -> None:
        """Define ``name`` in the text as it is defined for ``function``."""
        if name == "T":
            element = "bool_" if self.compute.kind == "b" else self.compute.name
            self.imports.add(f"from numpy import {element} as T")
        elif isinstance(value, ModuleType):
            self.imports.add(f"import {value.__name__} as {name}")
        elif getattr(value, "__module__", None) in _IMPORTED:
            self.imports.add(f"from {value.__module__} import {name}")
        elif name == "prange":
            self.imports.add("from numba import prange")
        elif not isinstance(value, int | float) or self.constants.setdefault(name, value) != value:
            raise TypeError(f"{function.__qualname__}: a kernel cannot use '{name}', which is a {type(value).__name__}")


class _Body(ast.NodeTransformer):
    """Transformer of one function's statements: variables get names of their own, and calls become statements."""

    def __init__(self, module: _Module, function: Callable[..., Any], variables: dict[str, ast.expr]):
        self.module = module
        self.function = function
        self.variables = variables
        self.locals = frozenset(function.__code__.co_varnames)
        self.before: list[ast.stmt] = []  # the statements for the calls in the current statement
        self.always = True  # True if the current expression is computed exactly once whenever its statement runs
        self.call_arguments: list[ast.expr] = []  # arguments of the calls in the current statement

    def block(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Return the rewritten statements."""
        result: list[ast.stmt] = []
        for statement in statements:
            before: list[ast.stmt] = []
            self.before, self.call_arguments = before, []
            if hasattr(statement, "body"):
                rewritten = self._compound(statement)
            else:
                rewritten = self.visit(statement)
                self._check_order(before, [*self.call_arguments, rewritten])
            result += before
            if not (isinstance(rewritten, ast.Expr) and isinstance(rewritten.value, ast.Name)):  # a call without value
                result.append(rewritten)
        return result

    def _check_order(self, before: Sequence[ast.stmt], read: Sequence[ast.AST]) -> None:
        """Raise TypeError if a statement reads an array that the statements inserted before it write."""
        both = _elements(before, ast.Store) & _elements(read, ast.Load) if before else None
        if both:
            raise TypeError(
                f"{self.function.__qualname__}: a statement reads {', '.join(sorted(both))}, which a call in it "
                "writes"
            )

    def _compound(self, statement: Any) -> ast.stmt:
        before = self.before
        if isinstance(statement, ast.For):
            statement.iter = head = self.visit(statement.iter)
            statement.target = self.visit(statement.target)
        else:
            self.always = isinstance(statement, ast.If)
            statement.test = head = self.visit(statement.test)
            self.always = True
        self._check_order(before, [*self.call_arguments, head])
        statement.body = self.block(statement.body)
        statement.orelse = self.block(statement.orelse)
        return statement

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name in self.locals and name not in self.variables:
            self.variables[name] = self.module.fresh(name)
        if name in self.variables:
            value = self.variables[name]
            return value if value.__class__ is ast.Name else copy.copy(value)
        if name in self.function.__globals__:
            self.module.add(name, self._global(name), self.function)
        return node

    def _global(self, name: str) -> Any:
        return self.module.parts.get(name, self.function.__globals__.get(name))

    def visit_Return(self, node: ast.Return) -> ast.AST:
        raise TypeError(f"{self.function.__qualname__}: a return in a kernel or inside a loop cannot be pasted")

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return self._choice(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._choice(node)

    def _choice(self, node: ast.expr) -> ast.expr:
        always, self.always = self.always, False
        self.generic_visit(node)
        self.always = always
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = self._function(node.func)
        if called is None:
            return self.generic_visit(node)
        functions = map(self._function, node.args)
        pairs = zip(functions, node.args, strict=True)
        arguments = [ast.Constant(constant) if constant else self.visit(node) for constant, node in pairs]
        self.call_arguments += arguments
        return self._paste(called, arguments)

    def _function(self, node: ast.expr) -> Any:
        """Return the function that a name refers to if it is to be pasted, else None."""
        name = node.id if isinstance(node, ast.Name) else ""
        bound = self.variables.get(name)
        pasted = bound.value if isinstance(bound, ast.Constant) else None if name in self.locals else self._global(name)
        return pasted if isinstance(pasted, FunctionType) and pasted.__module__ not in _IMPORTED else None

    def _paste(self, called: FunctionType, arguments: Sequence[ast.expr]) -> ast.expr:
        """Add the statements of a call before the current statement and return the expression of its value."""
        text = syntax_tree(called)
        expression = isinstance(text.body[0], ast.Return)
        if not (expression or self.always):
            raise TypeError(f"{self.function.__qualname__}: the call of '{called.__name__}' may be skipped")
        names = [node for statement in text.body for node in ast.walk(statement) if isinstance(node, ast.Name)]
        variables: dict[str, ast.expr] = {}
        for parameter, argument in zip(text.args.args, arguments, strict=True):
            uses = [node for node in names if node.id == parameter.arg]
            changed = any(isinstance(node.ctx, ast.Store) for node in uses)
            repeated = not isinstance(argument, ast.Name | ast.Constant) and (len(uses) > 1 or not expression)
            if changed or (repeated and self.always):
                variables[parameter.arg] = self.module.fresh(parameter.arg)
                self.before.append(_assignment(variables[parameter.arg], argument))
            else:
                variables[parameter.arg] = argument
        inner = _Body(self.module, called, variables)
        if expression:
            inner.before, inner.always = self.before, self.always
            return inner.visit(text.body[0].value)  # type: ignore[attr-defined]
        result = inner.variables[_RESULT] = self.module.fresh(called.__name__.lstrip("_"))
        self.before += inner.block(_returning(text.body))
        return result


def _assignment(target: ast.expr, value: ast.expr) -> ast.Assign:
    return ast.Assign([target], value, lineno=0)  # required by unparse


def _elements(nodes: Iterable[ast.AST], context: type[ast.expr_context]) -> set[str]:
    """Return the names of the arrays whose elements are read (Load) or written (Store); ``x[i] += y`` does both."""
    inner = [each for node in nodes for each in ast.walk(node)]
    subscripts = [each for each in inner if isinstance(each, ast.Subscript) and isinstance(each.ctx, context)]
    changed = [each.target for each in inner if isinstance(each, ast.AugAssign)]
    subscripts += [each for each in changed if isinstance(each, ast.Subscript)]
    return {each.value.id for each in subscripts if isinstance(each.value, ast.Name)}


#: Name of a function's result in its statements; a keyword, so it cannot clash with a variable.
_RESULT = "return"


def _returning(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a function with the returns at their end replaced by assignments."""
    for number, statement in enumerate(statements):
        before, after = statements[:number], statements[number + 1 :]
        match statement:
            case ast.Return(value=ast.expr() as value):
                return [*before, _assignment(ast.Name(_RESULT, ast.Store()), value)]
            case ast.If(test, [*_, ast.Return()] as body, orelse):
                return [*before, ast.If(test, _returning(body), _returning([*orelse, *after]))]
    return statements
