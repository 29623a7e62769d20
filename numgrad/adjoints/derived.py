"""Derivatives of formulas, which are formulas and can be differentiated again.

A formula of several variables is differentiated in forward mode, in all needed directions at once: one pass over its
statements computes the partial derivatives of each value.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numba.core import types

from ..devices import Formula
from ..ops.table.op import parameters
from .cotangents import indented
from .forward import Forward
from .hoisting import Hoister
from .normal import function_of, written
from .scalars import ScalarInliner
from .source import SCOPE, Names, assign, compiled, located, name, names_in, text, walk

_TYPES = {"b": types.boolean, "i": types.int64, "f": types.float64}


class Partials:
    """Partial derivatives of the results of a formula, in several directions.

    Each of the ``directions`` maps parameters to the source of their tangents; ``ends`` are the suffixes of the
    names of its tangents.  ``lines`` are the statements that compute the results and, by direction, the names
    ``tangents`` of the tangents of the results: None for zero.
    """

    def __init__(self, formula: Formula, names: Names, directions: Sequence[Mapping[str, str]], ends: Sequence[str]):
        formula = replace(formula, body=tuple(_Flattened(formula, names).block(formula.body)))
        kinds = {variable: _TYPES[kind] for variable, kind in formula.kinds("f").items()}
        tree = function_of("formula", formula.parameters, formula.results, formula.body)
        self._modes = [
            _Direction(end, tree, kinds, list(direction), names, [], formula.functions)
            for direction, end in zip(directions, ends, strict=True)
        ]
        self.lines: list[str] = []
        for mode, direction in zip(self._modes, directions, strict=True):
            self.lines += mode.beginning(direction)
        self.lines += self._block(list(formula.body))
        self.rules = {variable: rule for mode in self._modes for variable, rule in mode.rules.items()}
        self.tangents = [[mode.of_result(each) for each in formula.results] for mode in self._modes]

    def _block(self, block: Sequence[ast.stmt]) -> list[str]:
        lines: list[str] = []
        for statement in block:
            if isinstance(statement, (ast.If, ast.For, ast.While)):
                head, _, _ = text(statement).partition("\n")
                body = self._block(statement.body)
                if isinstance(statement, ast.For):
                    body = [*[line for mode in self._modes for line in mode.of_counter(statement)], *body]
                lines += [head, *indented(body)]
                if statement.orelse:
                    lines += ["else:", *indented(self._block(statement.orelse))]
                continue
            has_rule = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and (
                not names_in(statement.targets, ast.Store) & names_in(statement.value)
            )
            if has_rule:  # rules may need the result
                lines.append(text(statement))
            for mode in self._modes:
                if has_rule:
                    mode.results[id(statement.value)] = text(statement.targets[0])  # type: ignore[attr-defined]
                lines += mode._statement(statement)[:-1]
            if not has_rule:
                lines.append(text(statement))
        return lines


class _Flattened(Hoister):
    """Rewriter of a formula that assigns names to values that its derivatives use: factors and arguments of functions.

    Otherwise the text of each would be repeated in the derivative, and repeatedly for nested expressions.
    """

    def __init__(self, formula: Formula, names: Names):
        self.formula, self.names = formula, names

    def block(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a block."""
        done: list[ast.stmt] = []
        for statement in block:
            if isinstance(statement, (ast.If, ast.For, ast.While)):
                statement = copy.copy(statement)
                statement.body, statement.orelse = self.block(statement.body), self.block(statement.orelse)
            elif isinstance(statement, ast.Assign):
                count = len(done)
                value = self.rewrite(statement.value, done)
                if len(done) > count and isinstance(value, ast.Name) and isinstance(last := done[-1], ast.Assign):
                    value = done.pop().value if text(last.targets[0]) == value.id else value  # type: ignore[attr-defined]
                statement = located(ast.Assign(statement.targets, value), statement)
            done.append(statement)
        return done

    def part(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Sub)):
            return ast.BinOp(self._named(node.left, before), node.op, self._named(node.right, before))
        if isinstance(node, ast.Call) and text(node.func) in self.formula.functions:
            arguments = [self._named(each, before) for each in node.args]
            node = ast.Call(node.func, arguments, node.keywords)
            op: Any = self.formula.functions[text(node.func)]
            if any("out" in parameters(rule) for rule in op.rules.values()):
                return self._held(node, before)
        return node

    def _named(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        parts = [each for each in ast.walk(node) if isinstance(each, (ast.BinOp, ast.Call, ast.IfExp))]
        plain = len(parts) < 2 and not any(isinstance(each, (ast.Call, ast.IfExp)) for each in parts)
        return node if plain else self._held(node, before)

    def _held(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        variable = self.names.fresh("value")
        before.append(assign(variable, node, node))
        return name(variable)


class _Direction(Forward):
    """Forward mode of a formula, in one direction."""

    def __init__(self, end: str, *arguments: Any):
        self.end = end
        super().__init__(*arguments)

    def tangent_name(self, variable: str) -> str:
        if variable not in self._tangents:
            self._tangents[variable] = self.names.fresh(f"{variable}_{self.end}")
        return self._tangents[variable]

    def beginning(self, direction: Mapping[str, str]) -> list[str]:
        """Return the statements that set the tangents of the parameters, and those of other names to zero."""
        assigned = names_in(self.tree.body, ast.Store)
        lines = []
        for variable in self.parameters:
            if variable in direction:
                if variable not in assigned:
                    self._tangents[variable] = direction[variable]
                else:
                    lines.append(f"{self.tangent_name(variable)} = {direction[variable]}")
        defined = names_in([each for each in self.tree.body if isinstance(each, ast.Assign)], ast.Store)
        others = sorted(self.facts.active - {*self.parameters, *defined})
        parameters = [each for each in self.parameters if each in self.facts.active and each not in direction]
        return [*lines, *[f"{self.tangent_name(variable)} = 0.0" for variable in [*parameters, *others]]]

    def of_result(self, variable: str) -> str | None:
        return self.tangent_name(variable) if self._has_tangent(variable) else None


def gradient(formula: Formula, title: str, by: Sequence[str], present: Sequence[bool]) -> Formula:
    """Return the formula of the gradients of the parameters ``by``.

    Its first parameters are the gradients of the results for which ``present`` is True, its others those parameters of
    the formula that it needs.
    """
    names = _names(formula)
    grads = [names.fresh("grad" if len(present) == 1 else f"grad_{n}") if has else "" for n, has in enumerate(present)]
    partials = Partials(formula, names, [{each: "1.0"} for each in by], by)
    lines, results = list(partials.lines), []
    for each, tangents in zip(by, partials.tangents, strict=True):
        terms = [f"{grad} * {tangent}" for grad, tangent in zip(grads, tangents, strict=True) if grad and tangent]
        results.append(names.fresh(f"grad_{each}"))
        lines.append(f"{results[-1]} = {' + '.join(terms) or '0.0'}")
    return _formula(formula, f"{title}_gradient", [grad for grad in grads if grad], [], lines, results, partials.rules)


def tangent(formula: Formula, title: str, by: Sequence[str]) -> Formula:
    """Return the formula of the results' tangents; its first parameters are the tangents of those ``by``."""
    names = _names(formula)
    tangents = {each: names.fresh(f"{each}_t") for each in by}
    partials = Partials(formula, names, [tangents], ["t"])
    return _formula(
        formula, f"{title}_tangent", list(tangents.values()), [], partials.lines,
        [each or "0.0" for each in partials.tangents[0]], partials.rules,
    )


def partial_derivatives(formula: Formula, title: str, by: Sequence[str]) -> Formula:
    """Return the formula of the derivatives of the results by each of ``by``, with the same parameters."""
    partials = Partials(formula, _names(formula), [{each: "1.0"} for each in by], by)
    results = [each or "0.0" for tangents in partials.tangents for each in tangents]
    parameters, title = list(formula.parameters), f"{title}_derivative"
    return _formula(formula, title, [], parameters, partials.lines, results, partials.rules)


def _names(formula: Formula) -> Names:
    names = Names()
    names.reserved |= names_in(formula.body, None) | {*formula.parameters, *formula.functions}
    return names


def _formula(
    formula: Formula, title: str, first: Sequence[str], kept: Sequence[str], lines: Sequence[str],
    results: Sequence[str], rules: Mapping[str, Callable[..., Any]],
) -> Formula:
    """Return a formula from its statements, without unneeded ones."""
    parameters = [*first, *formula.parameters]
    source = "\n".join([
        f"def {title}({', '.join(parameters)}):", *indented([*lines, f"return {', '.join(results)}"])
    ])
    python = compiled(source + "\n", title, {**SCOPE, **formula.functions, **rules})
    inlined = ScalarInliner([*rules.values()], python).formula(python)
    body, needed = _needed(list(inlined.body), {*inlined.results})
    results = list(inlined.results)
    while body and isinstance(last := body[-1], ast.Assign) and isinstance(last.value, ast.Name):
        results = [last.value.id if each == last.targets[0].id else each for each in results]  # type: ignore[attr-defined]
        del body[-1]
    takes = [each for each in inlined.parameters if each in first or each in kept or each in needed]
    return Formula(tuple(takes), tuple(body), tuple(results), inlined.functions, inlined.truths)


def _needed(
    block: list[ast.stmt], live: set[str], left: set[str] = frozenset()  # type: ignore[assignment]
) -> tuple[list[ast.stmt], set[str]]:
    """Return the statements of a block that the names ``live`` after it depend on, and the names live before it.

    The names ``left`` are live where control leaves an iteration of a loop.
    """
    kept: list[ast.stmt] = []
    for statement in reversed(block):
        if isinstance(statement, ast.Assign):
            variable = statement.targets[0].id  # type: ignore[attr-defined]
            if variable not in live:
                continue
            live = (live - {variable}) | names_in(statement.value)
        elif isinstance(statement, ast.If):
            body, live_body = _needed(statement.body, live, left)
            orelse, live_orelse = _needed(statement.orelse, live, left)
            if not body and not orelse:
                continue
            statement = ast.If(statement.test, body or [ast.Pass()], orelse)
            live = live_body | live_orelse | names_in(statement.test)
        elif isinstance(statement, (ast.For, ast.While)):
            head = statement.iter if isinstance(statement, ast.For) else statement.test
            after = live
            while True:
                body, before = _needed(statement.body, after, after)
                again = after | before | names_in(head)
                if again == after:
                    break
                after = again
            counter = {statement.target.id} if isinstance(statement, ast.For) else set()  # type: ignore[attr-defined]
            if not counter & live and not any(isinstance(each, (ast.Assign, ast.For)) for each in walk(body)):
                continue
            if isinstance(statement, ast.For):
                statement = ast.For(statement.target, statement.iter, body or [ast.Pass()], [])
            else:
                statement = ast.While(statement.test, body or [ast.Pass()], [])
            live = after
        elif isinstance(statement, (ast.Break, ast.Continue)):
            live = left
        elif isinstance(statement, ast.Pass):
            continue
        kept.insert(0, statement)
    return kept, live


def source_of(formula: Formula, title: str, defaults: Mapping[str, Any]) -> str:
    """Return a formula as Python; parameters with ``defaults`` are keyword-only."""
    operands = [each for each in formula.parameters if each not in defaults]
    numbers = [f"{each}={defaults[each]!r}" for each in formula.parameters if each in defaults]
    return written(title, [*operands, *["*"] * bool(numbers), *numbers], list(formula.results), list(formula.body))
