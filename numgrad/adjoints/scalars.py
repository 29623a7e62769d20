"""Functions of scalars in normal form, from which kernels and derivatives are made.

They call only pointwise operations of the table.  Functions of ``math`` and NumPy are replaced by operations, which
have text for kernels on any device, and rules for derivatives.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..devices import Formula, FormulaError
from ..ops.table.elementwise import Pointwise
from ..ops.table.op import ops
from .hoisting import MOST, chosen_element
from .inlining import CANONICAL, CallInliner
from .partials import base_of
from .source import Names, Refused, assign, expression, located, name, python_function, text
from .structure import JumpRemoval, Returns, Structured

#: Names of operations in the table, for functions that have other names.
_OPERATIONS = {
    "where": "choose", "fabs": "abs", "rint": "round_op", "clip": "clamp_op", "mod": "remainder_op", "negative": "neg",
    "multiply": "mul", "divide": "div", "true_divide": "div", "subtract": "sub", "pow": "pow_tensor",
    "degrees": "rad2deg", "radians": "deg2rad", "floor_divide": "floor_quotient", "greater": "gt", "less": "lt",
    "greater_equal": "ge", "less_equal": "le", "equal": "eq", "not_equal": "ne", "conj": "conj_physical",
}

#: Functions with the name of an operation, but with another meaning or other defaults.
_OTHERS = {"math.remainder", "nan_to_num", "threshold"}

#: Operations for which there is an operator.
_OPERATORS: dict[str, Any] = {
    "add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "div": ast.Div(), "neg": ast.USub(), "eq": ast.Eq(),
    "ne": ast.NotEq(), "lt": ast.Lt(), "le": ast.LtE(), "gt": ast.Gt(), "ge": ast.GtE(),
}

#: Built-in functions with a meaning in formulas.
_BUILTINS = {"abs", "min", "max", "int", "float", "bool", "round"}

_CONVERSIONS = {
    **dict.fromkeys([f"{sign}int{size}" for sign in ("u", "") for size in (8, 16, 32, 64)], "int"), "intp": "int",
    "float32": "float32", "float64": "float", "bool_": "bool", "bool": "bool",
}

def square(x: Any) -> Any:
    return x * x


_INLINED = {"square": square}


def operation_of(value: Any) -> Pointwise | None:
    """Return the operation that computes a function of numgrad, ``math`` or NumPy for scalars."""
    op = value if isinstance(value, Pointwise) else getattr(value, "op", None)
    if isinstance(op, Pointwise):
        return op
    canonical = CANONICAL.get(id(value))
    module = getattr(value, "__module__", None) or ""
    if canonical is None and module.partition(".")[0] not in ("numgrad", "numgrad_kernels"):
        return None
    base = base_of(canonical or value.__name__)
    if canonical in _OTHERS or base in _OTHERS or (canonical or "").count(".") > 1:
        return None
    operation = ops.get(_OPERATIONS.get(base, base)) or ops.get(f"{base}_op")
    return operation if isinstance(operation, Pointwise) and "f" in operation.dtypes else None


class ScalarInliner(CallInliner):
    """Translation of a function of scalars, with the functions that it calls, into statements.

    The function ``generated`` is a derivative, which may call the ``rules``.
    """

    def __init__(self, rules: Sequence[Callable[..., Any]] = (), generated: Callable[..., Any] | None = None):
        self._generated = generated
        super().__init__(Names(), {})
        self.names.reserved = {*_BUILTINS, "float32", "range", "np", "math"}
        self.rules = set(rules)
        self._elements: dict[str, list[str]] = {}  # the names of the elements of tuples

    def formula(self, function: Any) -> Formula:
        """Return the formula of a Python function."""
        python = python_function(function)
        code = python.__code__
        body, parameters, results = self.function(
            python, [None] * (code.co_argcount + code.co_kwonlyargcount), {}
        )
        if not results:
            raise Refused(f"{python.__name__}: it must return a number")
        truths = frozenset([variable for variable, op in self.namespace.items() if op.result == "bool"])
        formula = Formula(tuple(parameters), tuple(body), tuple(results), dict(self.namespace), truths)
        try:
            formula.kinds("f")
        except FormulaError as error:
            raise Refused(str(error), error.node) from None
        return formula

    def function(self, function: Any, arguments: list[ast.expr | None], callables: dict[str, Any]) -> Any:
        body, parameters, results = super().function(function, arguments, callables)
        return body, parameters, [variable for each in results for variable in self._elements.pop(each, [each])]

    def structure(self, python: Callable[..., Any]) -> JumpRemoval:
        return Structured(self.names) if python is self._generated else Returns(self.names)

    # -- statements

    def _statement(self, statement: ast.stmt, done: list[ast.stmt]) -> None:
        if isinstance(statement, (ast.Raise, ast.Assert)):
            raise Refused(f"'{type(statement).__name__.lower()}' is not supported: a kernel cannot raise an error")
        if isinstance(statement, ast.Delete):
            raise Refused("'del' is not supported")
        if isinstance(statement, ast.Continue):
            done.append(statement)
            return
        if isinstance(statement, ast.AugAssign):
            target = expression(text(statement.target))
            whole = located(ast.BinOp(target, statement.op, statement.value), statement)
            self._assignment([statement.target], whole, statement, done)
        else:
            super()._statement(statement, done)

    def _call_statement(self, statement: ast.Expr, done: list[ast.stmt]) -> None:
        if not isinstance(statement.value, ast.Constant):
            raise Refused(f"the statement {text(statement)} has no effect in a kernel")

    def _target(self, target: ast.expr, done: list[ast.stmt], in_place: bool = False) -> ast.expr:
        if not isinstance(target, ast.Name):
            raise Refused(f"an assignment to {text(target)} is not supported")
        return super()._target(target, done, in_place)

    def _bind(self, target: ast.expr, value: ast.expr, at: ast.stmt, done: list[ast.stmt]) -> None:
        if not isinstance(value, ast.Tuple):
            if isinstance(target, ast.Name) and isinstance(self._scope.local.get(target.id), ast.Tuple):
                raise Refused(f"'{target.id}' is a tuple and a number")
            super()._bind(target, value, at, done)
            return
        assert isinstance(target, ast.Name)
        scope, variable = self._scope, target.id
        bound = scope.local[variable]
        if isinstance(bound, ast.Name):
            if variable in scope.assigned:
                raise Refused(f"'{variable}' is a tuple and a number")
            scope.local[variable] = bound = self._held(variable, value, at, done)
            scope.assigned.add(variable)
            self._elements[variable] = [each.id for each in bound.elts]  # type: ignore[attr-defined]
            return
        held = self._held(variable, value, at, done)
        if len(bound.elts) != len(value.elts):  # type: ignore[attr-defined]
            raise Refused(f"'{variable}' is bound to tuples of different lengths")
        for goal, each in zip(bound.elts, held.elts, strict=True):  # type: ignore[attr-defined]
            done.append(assign(goal.id, each, at))

    def _unpacking(self, target: ast.Tuple, value: ast.expr, at: ast.stmt, done: list[ast.stmt]) -> None:
        if not isinstance(value, ast.Tuple):
            raise Refused(f"unpacking of {text(value)} is not supported: it is a number")
        super()._unpacking(target, value, at, done)

    def _held(self, stem: str, value: ast.expr, at: ast.AST, before: list[ast.stmt]) -> ast.expr:
        if not isinstance(value, ast.Tuple):
            return super()._held(stem, value, at, before)
        if any(isinstance(each, ast.Tuple) for each in value.elts):
            raise Refused("a tuple of tuples is not supported")
        return ast.Tuple([
            super(ScalarInliner, self)._held(f"{stem}_{number}", each, at, before)
            for number, each in enumerate(value.elts)
        ], ast.Load())

    def _while(self, statement: ast.While, done: list[ast.stmt]) -> None:
        before: list[ast.stmt] = []
        test = self.rewrite(statement.test, before)
        body = self._body(statement.body)
        if before:
            leave = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
            test, body = ast.Constant(True), [*before, located(leave, statement), *body]
        done.append(located(ast.While(test, body, []), statement))

    def _for(self, statement: ast.For, done: list[ast.stmt]) -> None:
        sequence = statement.iter
        if not isinstance(sequence, ast.Call):
            values = self.rewrite(sequence, done)
            if not isinstance(values, ast.Tuple):
                raise Refused(f"iteration over {text(sequence)} is not supported")
            if not all(isinstance(each, ast.Constant) for each in values.elts):  # the loop may change what they read
                values = self._held("each", values, statement, done)
                assert isinstance(values, ast.Tuple)
            position = self.names.fresh("position")
            target = self._target(statement.target, done, in_place=True)
            first = assign(target, chosen_element(values.elts, name(position)), statement)
            bounds = expression(f"range({len(values.elts)})")
            body = [first, *self._body(statement.body)]
            done.append(located(ast.For(name(position, store=True), bounds, body, []), statement))
            return
        super()._for(statement, done)

    # -- expressions

    def rewrite(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if isinstance(node, ast.Call):
            value = self._resolved(node.func)
            if not self._is_function(value) and value not in self.rules:
                return self._call(value, node, before)
            if value in self.rules:
                return self._inlined(value, node, before)
        new = super().rewrite(node, before)
        if isinstance(new, ast.Constant) and isinstance(new.value, int) and not -(2**63) <= new.value < 2**63:
            return ast.Constant(float(new.value))
        return new

    def part(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if isinstance(node, ast.Subscript):
            if not isinstance(node.value, ast.Tuple):
                raise Refused(f"{text(node)} is not supported: scalars have no elements")
            return chosen_element(node.value.elts, node.slice)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and _are_integers(node.left, node.right):
            return located(ast.Constant(node.left.value ** node.right.value), node)  # type: ignore[attr-defined]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and self.rules:
            return self._product(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not isinstance(node.right, ast.Constant):
            negative = isinstance(node.right, ast.UnaryOp) and isinstance(node.right.operand, ast.Constant)
            if negative and isinstance(node.right.op, ast.USub):  # type: ignore[attr-defined]
                exponent = ast.Constant(-node.right.operand.value)  # type: ignore[attr-defined]
                return located(ast.BinOp(node.left, node.op, exponent), node)
            return self._operation(ops["pow_tensor"], [node.left, node.right], [], node)  # type: ignore[arg-type]
        return node

    @staticmethod
    def _product(node: ast.BinOp) -> ast.expr:
        """Return a product in a derivative, without factors of 1 and -1."""
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(factor, ast.Constant) and factor.value == 1:
                return other
            if isinstance(factor, ast.UnaryOp) and text(factor) in ("-1", "-1.0"):
                return ast.UnaryOp(ast.USub(), other)
        return node

    def _inlined(self, function: Any, call: ast.Call, before: list[ast.stmt]) -> ast.expr:
        value = super()._inlined(function, call, before)
        last = before[-1] if before else None
        if isinstance(value, ast.Name) and isinstance(last, ast.Assign) and text(last.targets[0]) == value.id:
            del before[-1]
            return last.value
        return value

    def _call(self, value: Any, node: ast.Call, before: list[ast.stmt]) -> ast.expr:
        called = CANONICAL.get(id(value), "")
        arguments = [self.rewrite(each, before) for each in node.args]
        keywords = [ast.keyword(each.arg, self.rewrite(each.value, before)) for each in node.keywords]
        if value is builtins.len and isinstance(arguments[0], ast.Tuple):
            return ast.Constant(len(arguments[0].elts))
        if called in ("math.floor", "math.ceil", "math.trunc"):  # integers, unlike those of NumPy
            rounded = self._operation(ops[base_of(called)], arguments, keywords, node)  # type: ignore[arg-type]
            return located(ast.Call(name("int"), [rounded], []), node)
        if called == "pow" and len(arguments) == 2:
            return self.part(located(ast.BinOp(arguments[0], ast.Pow(), arguments[1]), node), before)
        builtin = called if called in _BUILTINS else _CONVERSIONS.get(base_of(called)) if called[:3] == "np." else None
        if builtin is not None and not keywords:
            counts = range(1, 17) if builtin in ("min", "max") else range(1, 2)
            if len(arguments) not in counts:
                raise Refused(f"{text(node)} is not supported")
            return located(ast.Call(name(builtin), arguments, []), node)
        if base_of(called) in _INLINED:
            return self._inlined(_INLINED[base_of(called)], node, before)
        op = operation_of(value)
        if op is None:
            raise Refused(f"'{text(node.func)}' cannot be called in a kernel")
        if op.name == "choose":
            if len(arguments) != 3:
                raise Refused(f"{text(node)} must have three arguments")
            return located(ast.IfExp(*arguments), node)
        if getattr(op, "derived", False):  # a user's formula
            return self._inlined(op.function, node, before)
        if value.__module__ == "numgrad.scalar":  # whose numbers are positional, too
            numbers = zip(op.attributes, arguments[len(op.inputs) :], strict=False)
            keywords = [*[ast.keyword(variable, each) for variable, each in numbers], *keywords]
            arguments = arguments[: len(op.inputs)]
        return self._operation(op, arguments, keywords, node)

    def _operation(self, op: Pointwise, arguments: list[ast.expr], keywords: list[ast.keyword], node: ast.expr) -> Any:
        """Return a call of an operation of the table."""
        unknown = [each.arg for each in keywords if each.arg not in op.attributes]
        if len(arguments) != len(op.inputs) or unknown:
            raise Refused(
                f"{text(node)}: the arguments must be {', '.join([*op.inputs, *[f'{n}=' for n in op.attributes]])}"
            )
        if op.name == "abs":
            return located(ast.Call(name("abs"), arguments, []), node)
        if op.name == "conj_physical" and self.rules:
            return arguments[0]  # derivatives are those of real numbers
        if op.name in _OPERATORS and not keywords:
            operator = _OPERATORS[op.name]
            if isinstance(operator, ast.USub):
                return located(ast.UnaryOp(operator, *arguments), node)
            if isinstance(operator, ast.cmpop):
                return located(ast.Compare(arguments[0], [operator], arguments[1:]), node)
            return located(ast.BinOp(arguments[0], operator, arguments[1]), node)
        variable = next((variable for variable, each in self.namespace.items() if each is op), None)
        if variable is None:
            variable = self.names.fresh("power" if op.name == "pow_tensor" else op.name.removesuffix("_op"))
            self.namespace[variable] = op
        return located(ast.Call(name(variable), arguments, keywords), node)

    def _constant(self, value: Any, node: ast.expr) -> ast.expr:
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = tuple(value.tolist())
        if isinstance(value, tuple) and all(isinstance(each, (int, float, np.number)) for each in value):
            return ast.Tuple([self._constant(each, node) for each in value], ast.Load())
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, (bool, int, float, complex)) or id(value) in CANONICAL:
            if isinstance(value, complex):
                return ast.Constant(value)
            return super()._constant(value, node)
        raise Refused(f"{text(node)} cannot be used in a kernel: it is {type(value).__name__}")


def _are_integers(base: ast.expr, exponent: ast.expr) -> bool:
    """Return True for the operands of a power that Python computes: as an integer, it could be too large."""
    values = [each.value if isinstance(each, ast.Constant) else None for each in (base, exponent)]
    return all(type(each) is int for each in values) and 0 <= values[1] <= MOST  # type: ignore[operator]


__all__ = ["ScalarInliner", "operation_of"]
