"""Analysis of a program in normal form: values that it reads and writes, shared memory, and active values."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .aliases import Aliases
from .array_calls import INTEGERS, OPAQUE
from .inference import is_array, is_floating
from .partials import CONSTANT, base_of
from .procedures import call_of
from .source import MODULES, Refused, name, names_in, placing, text, walk
from .structure import flag_of

#: Attributes of arrays whose derivative is zero.
_CONSTANTS = {"shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides"}


def target_of(statement: ast.stmt) -> ast.expr | None:
    """Return the target of an assignment, or ``out[...]`` for the call of a procedure that writes into ``out``."""
    if isinstance(statement, ast.Assign):
        return statement.targets[0]
    if (call := call_of(statement)) is not None:
        return ast.Subscript(call.args[0], ast.Constant(...), ast.Store())
    return statement.target if isinstance(statement, ast.AugAssign) else None


class Analysis:
    """Facts about the statements ``body`` whose names have the types ``kinds``."""

    def __init__(self, body: list[ast.stmt], kinds: dict[str, Any]):
        self.body, self.kinds = body, kinds
        self.aliases = Aliases()
        self.statements = list(walk(body))
        self.counters = {
            loop.target.id for loop in self.statements
            if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name)
        }
        for statement in self.statements:
            if self.is_binding(statement):
                source = bound_array(statement.value)  # type: ignore[attr-defined]
                if source is not None:
                    self.aliases.share(statement.targets[0].id, source)  # type: ignore[attr-defined]
        self.active: set[str] = set()

    # -- memory

    def is_array(self, variable: str) -> bool:
        """Return True for names of arrays."""
        return is_array(self.kinds.get(variable))

    def is_binding(self, statement: ast.stmt) -> bool:
        """Return True for assignments that bind a name to an array."""
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        return isinstance(target, ast.Name) and self.is_array(target.id)

    def contents(self, variable: str) -> str:
        """Return the key of the elements of an array; arrays that share memory have the same key."""
        return "#" + self.aliases.root(variable)

    # -- reads and writes, as keys: names, and contents of arrays

    def reads(self, node: ast.AST | Iterable[ast.AST]) -> set[str]:
        """Return the keys of all values that an expression or statement, including nested ones, depends on."""
        if not isinstance(node, ast.AST):
            return set().union(*map(self.reads, node))
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                return set()
            return {node.id, self.contents(node.id)} if self.is_array(node.id) else {node.id}
        if isinstance(node, ast.Attribute):
            return names_in(node)
        if isinstance(node, ast.Assign) and self.is_binding(node):
            return names_in(node.value)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            return {node.targets[0].value.id} | self.reads(node.targets[0].slice) | self.reads(node.value)  # type: ignore[attr-defined]
        if isinstance(node, ast.AugAssign):
            return self.reads(node.value) | self.reads(_loaded(node.target))
        if isinstance(node, ast.Call):
            return self.reads([*node.args, *[each.value for each in node.keywords]])
        return set().union(*map(self.reads, ast.iter_child_nodes(node)))

    def writes(self, node: ast.stmt | list[ast.stmt]) -> set[str]:
        """Return the keys that statements write."""
        keys = set()
        for statement in walk(node if isinstance(node, list) else [node]):
            if isinstance(statement, ast.For):
                keys.add(statement.target.id)  # type: ignore[attr-defined]
            target = target_of(statement)
            if target is not None:
                keys.add(self.key(target))
        return keys

    def written(self, parameters: Iterable[str], same: Iterable[tuple[str, str]]) -> list[str]:
        """Return the parameters whose elements are written, under their own names or those of views.

        Names of one class may refer to different arrays: ``y = x if found else x * 2`` does not write into ``x``.
        """
        sources: dict[str, set[str]] = {}
        for statement in self.statements:
            if self.is_binding(statement):
                source = bound_array(statement.value)  # type: ignore[attr-defined]
                sources.setdefault(statement.targets[0].id, set()).add(source or "")  # type: ignore[attr-defined]
        targets = map(target_of, self.statements)
        found = {each.value.id for each in targets if isinstance(each, ast.Subscript)}  # type: ignore[attr-defined]
        while more := set().union(*[sources.get(each, set()) for each in found]) - found:
            found |= more
        for pair in same:
            found |= set(pair) if found & set(pair) else set()
        return [each for each in parameters if self.is_array(each) and each in found]

    def key(self, target: ast.expr) -> str:
        """Return the key of the value that an assignment to ``target`` writes."""
        if isinstance(target, ast.Name):
            return target.id
        assert isinstance(target, ast.Subscript)
        assert isinstance(target.value, ast.Name)
        return self.contents(target.value.id)

    # -- activity

    def sources(self, node: ast.AST) -> set[str]:
        """Return the keys of the floating-point values with respect to which an expression has derivatives."""
        if isinstance(node, ast.Name):
            if not is_floating(self.kinds.get(node.id)):
                return set()
            return {self.contents(node.id)} if self.is_array(node.id) else {node.id}
        if isinstance(node, ast.Subscript):
            return self.sources(node.value)
        if isinstance(node, ast.Attribute) and node.attr not in _CONSTANTS and text(node.value) not in MODULES:
            raise Refused(f"the derivative of {text(node)} is not known")
        if isinstance(node, (ast.Attribute, ast.Compare, ast.BoolOp, ast.Constant)):
            return set()
        if isinstance(node, ast.Call):
            if base_of(text(node.func)) in CONSTANT:
                return set()
            return set().union(*map(self.sources, node.args))
        if isinstance(node, ast.IfExp):
            return self.sources(node.body) | self.sources(node.orelse)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return set()
        return set().union(*map(self.sources, ast.iter_child_nodes(node)))

    def is_active(self, node: ast.AST) -> bool:
        """Return True if the derivative of an expression is needed."""
        return not self.active.isdisjoint(self.sources(node))

    def is_active_array(self, variable: str) -> bool:
        """Return True if an array has a shadow, its derivative."""
        return self.contents(variable) in self.active

    def activate(self, inputs: set[str], outputs: set[str] | None) -> None:
        """Find the keys that depend on ``inputs`` and, if ``outputs`` are passed, that these depend on."""
        edges = []
        for statement in self.statements:
            target = target_of(statement)
            if target is None or self.is_binding(statement):
                continue
            owner = target.id if isinstance(target, ast.Name) else target.value.id  # type: ignore[attr-defined]
            if is_floating(self.kinds.get(owner)):
                with placing(statement):
                    edges.append((self.key(target), self.sources(statement.value)))  # type: ignore[attr-defined]
        varied, useful = set(inputs), None if outputs is None else set(outputs)
        while True:
            before = len(varied), len(useful or ())
            for key, sources in edges:
                if sources & varied:
                    varied.add(key)
                if useful is not None and key in useful:
                    useful |= sources
            if before == (len(varied), len(useful or ())):
                break
        self.active = varied if useful is None else varied & useful
        self._refuse_lost_derivatives(varied)

    def _refuse_lost_derivatives(self, varied: set[str]) -> None:
        """Raise an error for loop bounds computed from differentiated values, or functions without a derivative."""
        tainted: set[str] = set()
        while True:
            before = len(tainted)
            for statement in self.statements:
                target = target_of(statement)
                if target is None or self.is_binding(statement):
                    continue
                owner = target.id if isinstance(target, ast.Name) else target.value.id  # type: ignore[attr-defined]
                if not is_floating(self.kinds.get(owner)) and self._rounds(statement.value, varied, tainted):  # type: ignore[attr-defined]
                    tainted.add(self.key(target))
            if before == len(tainted):
                break
        for statement in self.statements:
            with placing(statement):
                if isinstance(statement, ast.For) and self._rounds(statement.iter, varied, tainted):
                    raise Refused(
                        f"a differentiated value becomes a loop bound in {text(statement.iter)}: the derivative of the "
                        "number of iterations would be lost"
                    )
                value = statement.value if isinstance(statement, ast.Assign) else None
                args = value.args if isinstance(value, ast.Call) and text(value.func) in OPAQUE - INTEGERS else []
                if set().union(*map(self.sources, args)) & varied:
                    raise Refused(f"the derivative of {text(value.func)} by its arguments is not known")  # type: ignore[union-attr]

    def _rounds(self, node: ast.AST, varied: set[str], tainted: set[str]) -> bool:
        """Return True if an integer is computed from differentiated values other than by a comparison."""
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.Attribute)):
            return False
        if isinstance(node, ast.IfExp):
            return self._rounds(node.body, varied, tainted) or self._rounds(node.orelse, varied, tainted)
        if isinstance(node, ast.Name):
            key = self.contents(node.id) if self.is_array(node.id) else node.id
            return key in tainted or key in varied
        if isinstance(node, ast.Subscript):
            return self._rounds(node.value, varied, tainted)
        if isinstance(node, ast.Call):
            if base_of(text(node.func)) == "len":
                return False
            return any(self._rounds(each, varied, tainted) for each in node.args)
        return any(self._rounds(each, varied, tainted) for each in ast.iter_child_nodes(node))

    # -- values that are assigned once

    def stable(self, parameters: Iterable[str]) -> set[str]:
        """Return the names whose value never changes: those assigned once, outside of loops, or parameters."""
        counts: dict[str, int] = dict.fromkeys(parameters, 1)
        for statement in self.statements:
            for key in self.writes(statement) if not isinstance(statement, ast.If) else ():
                counts[key] = counts.get(key, 0) + (2 if isinstance(statement, (ast.For, ast.While)) else 1)
        return {variable for variable in self.kinds if counts.get(variable, 0) <= 1} - self.counters

    def live_after(self, results: Iterable[str]) -> dict[int, set[str]]:
        """Return the keys whose values may be read after each block and each statement, by their identities."""
        keys: dict[int, set[str]] = {}

        def before(block: list[ast.stmt], live: set[str]) -> set[str]:
            keys[id(block)] = keys.get(id(block), set()) | live
            for statement in reversed(block):
                keys[id(statement)] = keys.get(id(statement), set()) | live
                if isinstance(statement, ast.If):
                    live = before(statement.body, live) | before(statement.orelse, live) | self.reads(statement.test)
                elif isinstance(statement, (ast.For, ast.While)):
                    head = statement.iter if isinstance(statement, ast.For) else statement.test
                    while True:
                        again = live | self.reads(head) | before(statement.body, live)
                        if again == live:
                            break
                        live = again
                else:
                    target = target_of(statement)
                    if isinstance(target, ast.Name) and isinstance(statement, ast.Assign):
                        live = live - {target.id}
                    live = live | self.reads(statement)
            return live

        before(self.body, set(results))
        return keys


def bound_array(value: ast.expr) -> str | None:
    """Return the array that a binding shares memory with; None for a new array."""
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, (ast.Subscript, ast.Attribute)):
        return bound_array(value.value)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "reshape":
        return bound_array(value.func.value)
    return None


def shadow_of(value: ast.expr, owner: str, shadow: str) -> str:
    """Return the source of a view with the array replaced by its shadow."""

    def replaced(node: Any) -> Any:
        if isinstance(node, ast.Name):
            return name(shadow)
        if isinstance(node, ast.Subscript):
            return ast.Subscript(replaced(node.value), node.slice, ast.Load())
        if isinstance(node, ast.Attribute):
            return ast.Attribute(replaced(node.value), node.attr, ast.Load())
        return ast.Call(replaced(node.func), node.args, [])

    return text(replaced(value))


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return name(target.id)
    return ast.Subscript(target.value, target.slice, ast.Load())  # type: ignore[attr-defined]


__all__ = ["Analysis", "bound_array", "flag_of", "shadow_of", "target_of"]
