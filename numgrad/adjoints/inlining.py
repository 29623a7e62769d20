"""Functions made self-contained: calls of other compiled functions are replaced by their bodies.

Names of modules become canonical (``math.sin``, ``np.zeros``), globals that are numbers become constants, and local
names are renamed where they would collide.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import numbers
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from ..ops.table.elementwise import Pointwise
from .hoisting import Hoister
from .procedures import PREFIX, RULES
from .source import (
    MODULES,
    Names,
    Refused,
    assign,
    expression,
    indices_of,
    is_none,
    located,
    name,
    names_in,
    namespace_of,
    placing,
    python_function,
    read,
    text,
)
from .structure import JumpRemoval, flag_of

_BUILTINS = [
    "abs", "bool", "enumerate", "float", "int", "len", "max", "min", "pow", "print", "range", "round", "sum", "zip",
]


def _canonical_names() -> dict[int, str]:
    names = {id(getattr(builtins, each)): each for each in _BUILTINS}
    for module, contents in MODULES.items():
        for each, value in vars(contents).items():
            if callable(value) and not each.startswith("_"):
                names.setdefault(id(value), f"{module}.{each}")
    names[id(numba.prange)] = "range"  # the adjoint runs serially, since parallel updates of one element would be lost
    return names


CANONICAL = _canonical_names()

@dataclass
class Scope:
    """Names of one function: the new names of its locals, and the objects that its other names refer to."""

    namespace: dict[str, Any]
    local: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    #: Locals that have a value, and names that the translation has added.
    assigned: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    depth: int = -1


_LOCAL = object()


class CallInliner(Hoister):
    """Translation of a function, with the functions that it calls, into one list of statements."""

    def __init__(self, names: Names, namespace: dict[str, Any]):
        self.names = names
        #: Objects that the generated code refers to, by name.
        self.namespace = namespace
        self._scope = Scope({})
        self._calls: list[Callable[..., Any]] = []
        self._constants: dict[int, str] = {}
        self._whole: ast.expr | None = None  # the right-hand side that is rewritten

    def function(self, function: Any, arguments: list[ast.expr | None], callables: dict[str, Any]) -> tuple[
        list[ast.stmt], list[str], list[str]
    ]:
        """Return statements of a function, the names of its parameters and those of its results.

        ``arguments`` are the expressions that replace the parameters, or None for parameters that keep their names;
        ``callables`` are functions that are passed as arguments, by the names of the parameters.
        """
        python = python_function(function)
        if python in self._calls:
            raise Refused(f"{python.__name__} calls itself")
        tree = read(python)
        parameters = [each.arg for each in tree.args.args]
        scope = Scope(namespace_of(python), functions=callables)
        names = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            if argument is not None:
                scope.local[parameter] = argument
            elif parameter not in callables:
                names.append(self.names.fresh(parameter))
                scope.local[parameter] = name(names[-1])
        for local in sorted(names_in(tree.body, ast.Store)):
            if local not in scope.local:
                scope.local[local] = name(self.names.fresh(local))
        structure = self.structure(python)
        body = structure.function(tree.body)
        results = structure.results or []
        for variable in [*results, *structure.flags]:
            scope.local[variable] = name(variable)
            scope.added.add(variable)
        scope.assigned.update(parameters)
        before, self._scope = self._scope, scope
        self._calls.append(python)
        try:
            return self._block(body), names, results
        finally:
            self._scope = before
            self._calls.pop()

    def structure(self, python: Callable[..., Any]) -> JumpRemoval:
        """Return the translation of a function's control flow."""
        return JumpRemoval(self.names)

    # -- statements

    def _block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        self._scope.depth += 1
        for statement in block:
            with placing(statement):
                self._statement(statement, done)
        self._scope.depth -= 1
        return done

    def _body(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return self._block(block) or [ast.Pass()]

    def _statement(self, statement: ast.stmt, done: list[ast.stmt]) -> None:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assignment([statement.target], statement.value, statement, done)
        elif isinstance(statement, ast.Assign):
            self._assignment(statement.targets, statement.value, statement, done)
        elif isinstance(statement, ast.AugAssign):
            value = self.rewrite(statement.value, done)
            target = self._target(statement.target, done, in_place=True)
            done.append(located(ast.AugAssign(target, statement.op, value), statement))  # type: ignore[arg-type]
        elif isinstance(statement, ast.Expr):
            self._call_statement(statement, done)
        elif isinstance(statement, ast.If):
            test = self.rewrite(statement.test, done)
            if isinstance(test, ast.Constant):  # Numba drops the other branch, and does not infer types in it
                done += self._block(statement.body if test.value else statement.orelse)
                return
            done.append(located(ast.If(test, self._body(statement.body), self._block(statement.orelse)), statement))
        elif isinstance(statement, ast.While):
            self._while(statement, done)
        elif isinstance(statement, ast.For):
            self._for(statement, done)
        elif isinstance(statement, ast.Break):
            done.append(statement)
        # The remaining statements have no derivative. The function itself ran before, so its checks and messages are
        # done.
        elif not isinstance(statement, (ast.Pass, ast.Raise, ast.Assert, ast.AnnAssign, ast.Delete)):
            raise Refused(f"'{type(statement).__name__}' is not supported")

    def _target(self, target: ast.expr, done: list[ast.stmt], in_place: bool = False) -> ast.expr:
        if isinstance(target, ast.Name):
            scope = self._scope
            if scope.depth == 0 and target.id in scope.assigned - scope.added and not in_place:
                scope.local[target.id] = name(self.names.fresh(target.id))  # each value has a name of its own
            scope.assigned.add(target.id)
            new = scope.local[target.id]
            if not isinstance(new, ast.Name):
                raise Refused(f"'{target.id}' is a constant here and cannot be assigned to")
            return name(new.id, store=True)
        if not isinstance(target, ast.Subscript):
            raise Refused(f"an assignment to {text(target)} is not supported")
        new = self.rewrite(target, done)
        new.ctx = ast.Store()  # type: ignore[attr-defined]
        return new

    def _assignment(
        self, targets: list[ast.expr], value: ast.expr, at: ast.stmt, done: list[ast.stmt]
    ) -> None:
        self._whole = value
        value = self.rewrite(value, done)
        if len(targets) > 1:
            held = self.names.fresh("held")
            done.append(assign(held, value, at))
            value = name(held)
        for target in targets:
            if isinstance(target, ast.Tuple):
                self._unpacking(target, value, at, done)
            else:
                self._bind(target, value, at, done)

    def _bind(self, target: ast.expr, value: ast.expr, at: ast.stmt, done: list[ast.stmt]) -> None:
        """Add the assignment to one target."""
        done.append(assign(self._target(target, done), value, at))

    def _unpacking(self, target: ast.Tuple, value: ast.expr, at: ast.stmt, done: list[ast.stmt]) -> None:
        goals = {text(self._scope.local.get(each, name(each))) for each in names_in(target, ast.Store)}
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            parts: list[ast.expr] = [
                ast.Subscript(value, ast.Constant(number), ast.Load()) for number in range(len(target.elts))
            ]
        elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            parts = []
            swapped = goals & names_in(value)
            for part in value.elts:
                if not swapped and isinstance(part, (ast.Name, ast.Constant)):
                    parts.append(part)
                    continue
                held = self.names.fresh("held")
                done.append(assign(held, part, at))
                parts.append(name(held))
        elif isinstance(value, ast.Name) and value.id not in goals:
            parts = [ast.Subscript(value, ast.Constant(number), ast.Load()) for number in range(len(target.elts))]
        else:
            raise Refused(f"unpacking of {text(value)} is not supported")
        for each, part in zip(target.elts, parts, strict=True):
            done.append(assign(self._target(each, done), part, at))

    def _call_statement(self, statement: ast.Expr, done: list[ast.stmt]) -> None:
        value = statement.value
        if isinstance(value, ast.Constant):
            return
        if isinstance(value, ast.Call):
            if self._resolved(value.func) is print:
                return
            if isinstance(value.func, ast.Attribute) and value.func.attr == "fill" and len(value.args) == 1:
                target = self.rewrite(value.func.value, done)
                everything = ast.Subscript(target, expression("x[...]").slice, ast.Store())  # type: ignore[attr-defined]
                done.append(assign(everything, self.rewrite(value.args[0], done), statement))
                return
            function = self._resolved(value.func)
            if getattr(function, "py_func", None) in RULES:
                called = PREFIX + function.py_func.__name__
                self.namespace[called] = function
                call = ast.Call(name(called), [self.rewrite(each, done) for each in value.args], [])
                done.append(located(ast.Expr(call), statement))
                return
            if self._is_function(function):
                self._whole = value
                self.rewrite(value, done)
                return
        raise Refused(f"the statement {text(statement)} is not supported")

    def _while(self, statement: ast.While, done: list[ast.stmt]) -> None:
        before: list[ast.stmt] = []
        test = self.rewrite(statement.test, before)
        body = self._body(statement.body)
        if before:
            done += self.repeated(before, test, body, statement, flag_of(statement))
        else:
            done.append(located(ast.While(test, body, []), statement))

    def _for(self, statement: ast.For, done: list[ast.stmt]) -> None:
        iterated = statement.iter
        function = self._resolved(iterated.func) if isinstance(iterated, ast.Call) else None
        if isinstance(iterated, ast.Call) and function in (range, numba.prange):
            arguments = [self.rewrite(each, done) for each in iterated.args]
            target = self._target(statement.target, done, in_place=True)  # the loop may run zero times
            bounds = ast.Call(name("range"), arguments, [])
            done.append(located(ast.For(target, bounds, self._body(statement.body), []), statement))
            return
        # A loop over arrays becomes a loop over positions.
        position = self.names.fresh("position")
        first: list[ast.stmt] = []
        if function is enumerate:
            sequences = list(iterated.args)  # type: ignore[attr-defined]
            number, *targets = self._pair(statement.target, 2)
            first.append(assign(self._target(number, first, in_place=True), name(position), statement))
        elif function is zip:
            sequences = list(iterated.args)  # type: ignore[attr-defined]
            targets = self._pair(statement.target, len(sequences))
        else:
            sequences, targets = [iterated], [statement.target]
        lengths = []
        for target, sequence in zip(targets, sequences, strict=True):
            held = self.names.fresh("sequence")
            done.append(assign(held, self.rewrite(sequence, done), statement))
            lengths.append(f"len({held})")
            variable = self._target(target, first, in_place=True)
            first.append(assign(variable, expression(f"{held}[{position}]"), statement))
        end = lengths[0] if len(lengths) == 1 else f"min({', '.join(lengths)})"
        body = first + self._body(statement.body)
        bounds = expression(f"range({end})")  # type: ignore[assignment]
        done.append(located(ast.For(name(position, store=True), bounds, body, []), statement))

    def _pair(self, target: ast.expr, count: int) -> list[ast.expr]:
        if not isinstance(target, ast.Tuple) or len(target.elts) != count:
            raise Refused(f"the loop must have {count} variables")
        return target.elts

    # -- expressions

    def _resolved(self, node: ast.expr) -> Any:
        """Return the object that a name or an attribute of a module stands for; ``_LOCAL`` for local values."""
        if isinstance(node, ast.Name):
            scope = self._scope
            if node.id in scope.functions:
                return scope.functions[node.id]
            if node.id in scope.local:
                return _LOCAL
            if node.id in scope.namespace:
                return scope.namespace[node.id]
            if hasattr(builtins, node.id):
                return getattr(builtins, node.id)
            raise Refused(f"the name '{node.id}' is not defined")
        if isinstance(node, ast.Attribute):
            owner = self._resolved(node.value)
            if owner is not _LOCAL and isinstance(owner, types.ModuleType):
                return getattr(owner, node.attr)
        return _LOCAL

    @staticmethod
    def _is_function(value: Any) -> bool:
        return isinstance(value, CPUDispatcher) or (value is not _LOCAL and hasattr(value, "py_func"))

    def rewrite(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if isinstance(node, (ast.Name, ast.Attribute)):
            value = self._resolved(node)
            if value is not _LOCAL:
                return located(self._constant(value, node), node)
            if isinstance(node, ast.Name):
                return located(copy.copy(self._scope.local[node.id]), node)
        if isinstance(node, ast.NamedExpr):
            value = self.rewrite(node.value, before)
            if isinstance(value, ast.Tuple):
                raise Refused("':=' with a tuple is not supported")
            target = self._target(node.target, before, in_place=True)  # only a branch may evaluate it
            before.append(assign(target, value, node))
            return name(target.id)  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and self._is_function(function := self._resolved(node.func)):
            return self._inlined(function, node, before)
        if isinstance(node, ast.Call) and isinstance(getattr(function, "op", None), Pointwise):
            return self._of_scalars(function, node, before)
        return super().rewrite(node, before)

    def part(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        inner = node.value if isinstance(node, ast.Subscript) else None
        if isinstance(inner, ast.Subscript) and not isinstance(inner.value, ast.Attribute):
            outer, indices = indices_of(node), indices_of(inner)
            if not any(isinstance(each, ast.Slice) or text(each) == "..." or is_none(each) for each in indices):
                both = ast.Tuple(indices + outer, ast.Load())
                return located(ast.Subscript(inner.value, both, node.ctx), node)  # type: ignore[attr-defined]
        if isinstance(node, ast.Compare) and is_none(node.comparators[0]):
            return ast.Constant(is_none(node.left) == isinstance(node.ops[0], (ast.Is, ast.Eq)))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        if isinstance(node, ast.BoolOp) and isinstance(first := node.values[0], ast.Constant):
            decides = bool(first.value) == isinstance(node.op, ast.Or)
            rest = node.values[1:]
            return first if decides else rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        return node

    def _constant(self, value: Any, node: ast.expr) -> ast.expr:
        """Return how generated code refers to a global."""
        if isinstance(value, np.dtype):
            value = value.type
        if (canonical := CANONICAL.get(id(value))) is not None:
            return expression(canonical)
        if value is None:
            return ast.Constant(None)
        if isinstance(value, bool) or (isinstance(value, numbers.Real) and isinstance(value, (int, float))):
            special = {np.inf: "np.inf", -np.inf: "-np.inf"}.get(value, "np.nan" if value != value else None)
            number = value.item() if isinstance(value, np.generic) else value
            return expression(special or repr(number))
        if isinstance(value, (np.ndarray, np.generic, tuple)):
            if id(value) not in self._constants:
                variable = self._constants[id(value)] = self.names.fresh(text(node).split(".")[-1])
                self.namespace[variable] = value
            return name(self._constants[id(value)])
        raise Refused(f"{text(node)} cannot be used: it is {type(value).__name__}")

    def _inlined(self, function: Any, call: ast.Call, before: list[ast.stmt]) -> ast.expr:
        """Add the body of a function to ``before``; return its result."""
        python = python_function(function)
        bound = self._bound(python, call)
        assigned = names_in(read(python).body, ast.Store)
        arguments: list[ast.expr | None] = []
        callables = {}
        for parameter in bound.signature.parameters.values():
            argument = bound.arguments.get(parameter.name)
            if argument is None:
                arguments.append(self._constant(parameter.default, name(parameter.name)))
                continue
            passed = self._resolved(argument)
            if self._is_function(passed):
                callables[parameter.name] = passed
                arguments.append(None)
                continue
            value = self.rewrite(argument, before)
            if parameter.name in assigned or not isinstance(value, (ast.Name, ast.Constant)):
                value = self._held(parameter.name, value, call, before)
            arguments.append(value)
        whole = call is self._whole
        reserved = set(self.names.reserved)
        body, _, results = self.function(python, arguments, callables)
        if not whole and any(target.value.id in reserved for target in _written_elements(body)):
            raise Refused(f"{python.__name__} writes into its arguments: call it in a statement of its own", call)
        before += body
        if len(results) == 1:
            return name(results[0])
        return located(ast.Tuple([name(each) for each in results], ast.Load()), call)

    def _of_scalars(self, function: Any, call: ast.Call, before: list[ast.stmt]) -> ast.expr:
        """Return the call of a function of ``numgrad.scalar``."""
        bound = self._bound(function, call)
        bound.apply_defaults()
        arguments = [
            self.rewrite(each, before) if isinstance(each, ast.expr) else self._constant(each, call)
            for each in bound.arguments.values()
        ]
        title = next((title for title, each in self.namespace.items() if each is function), None)
        if title is None:
            title = self.names.fresh(function.__name__)
            self.namespace[title] = function
        return located(ast.Call(name(title), arguments, []), call)

    @staticmethod
    def _bound(function: Any, call: ast.Call) -> inspect.BoundArguments:
        keywords = {each.arg or "": each.value for each in call.keywords}
        try:
            return inspect.signature(function).bind(*call.args, **keywords)
        except TypeError as error:
            raise Refused(f"{function.__name__}: {error}") from None

    def _held(self, stem: str, value: ast.expr, at: ast.AST, before: list[ast.stmt]) -> ast.expr:
        """Return a new name for a value, or several for a tuple."""
        variable = self.names.fresh(stem)
        before.append(assign(variable, value, at))
        return name(variable)


def _written_elements(body: list[ast.stmt]) -> list[Any]:
    targets = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Subscript)]
    return [each for each in targets if isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name)]
