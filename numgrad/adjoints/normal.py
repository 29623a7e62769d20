"""Normal form: the form of a function from which derivatives are generated.

In it, only the loop assigns its counter, only the loop's body reads it, and the bounds do not change in the body.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba.core import types
from numba.core.types.containers import BaseTuple

from .analysis import Analysis
from .buffers import Buffers
from .cotangents import atom
from .inference import infer, is_array
from .inlining import CallInliner
from .lowering import Lowering
from .partials import Derivatives
from .source import (
    Names,
    Refused,
    assign,
    compiled,
    definition,
    indices_of,
    is_none,
    located,
    name,
    names_in,
    placing,
    python_function,
    text,
    walk,
)
from .support import SUPPORT


@dataclass
class NormalForm:
    """Function in normal form."""

    name: str
    parameters: list[str]
    results: list[str]
    body: list[ast.stmt]
    kinds: dict[str, Any]
    names: Names
    namespace: dict[str, Any]
    derivatives: Derivatives

    def copy(self) -> NormalForm:
        """Return a copy, which a generator may add names to."""
        names, namespace = Names(), dict(self.namespace)
        names.reserved = set(self.names.reserved)
        derivatives = Derivatives(names, namespace, self.derivatives.derivative)
        body, kinds = copy.deepcopy(self.body), dict(self.kinds)
        return replace(self, body=body, kinds=kinds, names=names, namespace=namespace, derivatives=derivatives)

    def tree(self) -> ast.FunctionDef:
        """Return the definition of the function."""
        return function_of(self.name, self.parameters, self.results, self.body)


def function_of(title: str, parameters: Sequence[str], results: Sequence[str], body: Sequence[ast.stmt]) -> Any:
    """Return the definition of a function."""
    tree = definition(f"def {title}({', '.join(parameters)}):\n    return {', '.join(results)}\n")
    tree.body = [*body, *tree.body] if results else [*body] or [ast.Pass()]
    return tree


def written(title: str, parameters: Sequence[str], results: Sequence[str], body: Sequence[ast.stmt]) -> str:
    """Return the source of a function."""
    return text(function_of(title, parameters, results, body)) + "\n"


def normal_form(
    function: Any, argument_types: list[types.Type], callables: dict[str, Any], broadcasts: bool = False,
    derivative: Callable[[Any, int], Any] | None = None,
) -> NormalForm:
    """Return the normal form of a Python function for arguments of these types.

    ``callables`` are the arguments that are functions, by the names of their parameters; ``broadcasts`` is True if
    axes of length one may be broadcast; ``derivative`` differentiates functions of numbers.
    """
    title = python_function(function).__name__
    names, namespace = Names(), dict(SUPPORT)
    inliner = CallInliner(names, namespace)
    names.reserved.add(title)
    count = python_function(function).__code__.co_argcount
    body, parameters, results = inliner.function(function, [None] * count, callables)

    def typed(body: list[ast.stmt]) -> dict[str, Any]:
        source = written(title, parameters, results, body)
        try:
            kinds = infer(compiled(source, title, namespace), argument_types)
        except Refused as refusal:
            lines = [each.lineno for each in walk(definition(source).body)]
            for statement, line in zip(walk(body), lines, strict=False):
                if line == refusal.line:
                    refusal.locate(statement)
            raise
        kinds.update({each: types.Array(types.float64, value.ndim, "C") for each, value in namespace.items()
                      if isinstance(value, np.ndarray) and value.dtype.kind == "f"})
        return kinds

    kinds = typed(body)
    _check(body, kinds)
    lowering = Lowering(inliner, kinds, broadcasts or _has_new_axes(body))
    body = lowering.block(body)
    if len(results) == 1:
        results = lowering.tuples.get(results[0], results)
    constants = {each: value for each, value in namespace.items() if isinstance(value, np.ndarray)}
    kinds = typed(body)
    _compare(lowering.kinds, kinds, title)
    buffers = Buffers(body, kinds, names, parameters, results, constants)
    body = _LoopNormalizer(names, parameters, buffers.kinds).translated(buffers.translated())
    if buffers.changes_layouts:
        kinds = typed(body)
    else:  # only integers have been added, and inference takes time
        kinds = dict.fromkeys(names_in(body, ast.Store), types.int64) | buffers.kinds
    derivatives = Derivatives(names, namespace, derivative)
    return NormalForm(title, parameters, results, body, kinds, names, namespace, derivatives)


def _check(body: list[ast.stmt], kinds: dict[str, Any]) -> None:
    """Raise an error for values that are neither real numbers nor arrays of them."""
    for statement in walk(body):
        for variable in names_in(getattr(statement, "targets", []), ast.Store):
            kind = kinds.get(variable, types.boolean)  # Numba drops statements that cannot run
            parts = kind if isinstance(kind, BaseTuple) else [kind]
            numbers = [each.dtype if is_array(each) else each for each in parts]
            if not all(isinstance(number, (types.Float, types.Integer, types.Boolean)) for number in numbers):
                with placing(statement):
                    raise Refused(f"'{variable}' is {kind}: only numbers and arrays of real numbers are supported")


def _compare(expected: dict[str, Any], found: dict[str, Any], title: str) -> None:
    """Raise an error if an array has another dtype or number of dimensions than the lowering has assumed."""
    for variable in expected.keys() & found.keys():
        one, other = expected[variable], found[variable]
        if is_array(one) and is_array(other) and (one.dtype, one.ndim) != (other.dtype, other.ndim):
            raise Refused(f"{title}: an array is {other}where the translation expected {one}")


def _has_new_axes(body: list[ast.stmt]) -> bool:
    """Return True if the length of an axis is one, so that it is broadcast, because an index makes it."""
    views = [each for part in body for each in ast.walk(part) if isinstance(each, ast.Subscript)]
    return any(is_none(index) for view in views for index in indices_of(view))


class _LoopNormalizer:
    """Translation of loops: each gets a counter of its own, and bounds that do not change."""

    def __init__(self, names: Names, parameters: list[str], kinds: dict[str, Any]):
        self.names, self.kinds = names, dict(kinds)
        self.parameters = parameters

    def translated(self, body: list[ast.stmt]) -> list[ast.stmt]:
        counters = self._counters(body)
        for each in counters:
            self.kinds.setdefault(each, types.int64)
        for each in names_in(body, ast.Store):
            self.kinds.setdefault(each, types.float64)
        facts = Analysis(body, self.kinds)
        return self._block(body, facts.stable(self.parameters), counters)

    def _counters(self, body: list[ast.stmt]) -> set[str]:
        """Return the loop variables that can be counters: they are read only in their loops, and not assigned there."""
        loops = [each for each in walk(body) if isinstance(each, ast.For)]
        counters = {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)} - set(self.parameters)

        def visit(block: list[ast.stmt], within: set[str]) -> None:
            for statement in block:
                if isinstance(statement, ast.For):
                    counters.difference_update(names_in(statement.iter) - within)
                    target = statement.target.id  # type: ignore[attr-defined]
                    if target in within:
                        counters.discard(target)
                    visit(statement.body, within | {target})
                elif isinstance(statement, (ast.If, ast.While)):
                    counters.difference_update(names_in(statement.test) - within)
                    visit(statement.body, within)
                    visit(statement.orelse, within)
                else:
                    counters.difference_update(names_in(statement) - within, names_in(statement, ast.Store))

        visit(body, set())
        return counters

    def _block(self, block: list[ast.stmt], kept: set[str], counters: set[str]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for statement in block:
            if isinstance(statement, ast.For):
                done += self._loop(statement, kept, counters)
                continue
            if isinstance(statement, (ast.If, ast.While)):
                statement.body = self._block(statement.body, kept, counters)
                statement.orelse = self._block(statement.orelse, kept, counters)
            done.append(statement)
        return done

    def _loop(self, loop: ast.For, kept: set[str], counters: set[str]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        bounds = loop.iter.args  # type: ignore[attr-defined]
        arguments = []
        for bound, stem in zip(bounds, ("stop",) if len(bounds) == 1 else ("start", "stop", "step"), strict=False):
            if self._is_kept(bound, kept):
                arguments.append(bound)
            else:
                variable = self.names.fresh(stem)
                done.append(assign(variable, bound, loop))
                arguments.append(name(variable))
        target: ast.Name = loop.target  # type: ignore[assignment]
        body = loop.body
        if target.id not in counters:
            counter = self.names.fresh("counter")
            body = [assign(target.id, name(counter), loop), *body]
            target = name(counter, store=True)
        body = self._block(body, kept | {target.id}, counters)
        new = ast.For(target, ast.Call(name("range"), arguments, []), body, [])
        return [*done, located(new, loop)]

    def _is_kept(self, bound: ast.expr, kept: set[str]) -> bool:
        elements = [
            each for each in ast.walk(bound)
            if isinstance(each, ast.Subscript) and not isinstance(each.value, ast.Attribute)
        ]
        return not elements and names_in(bound) <= kept | {"len", "min", "max", "np", "math", "abs"}


def bounds_of(loop: ast.For) -> tuple[str, str, str]:
    """Return the source of start, stop and step of a loop."""
    arguments = [atom(each) for each in loop.iter.args]  # type: ignore[attr-defined]
    if len(arguments) == 1:
        return "0", arguments[0], "1"
    return arguments[0], arguments[1], arguments[2] if len(arguments) == 3 else "1"
