"""Array expressions as loops over elements.

Each lowered statement assigns a scalar or an element, or binds a name to an array, a view or a new array.
"""

from __future__ import annotations

import ast
import copy

from numba.core.types.containers import BaseTuple

from .array_calls import ArrayCalls
from .elements import stored
from .source import Refused, expression, indices_of, located, name, names_in, placing, text
from .structure import flag_of


class Lowering(ArrayCalls):
    """Translation of statements whose names have the types ``kinds``."""

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """Translate a block."""
        done: list[ast.stmt] = []
        for statement in block:
            with placing(statement):
                start = len(done)
                self._statement(statement, done)
                for each in done[start:]:
                    located(each, statement)
        return done

    def _body(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return self.block(block) or [ast.Pass()]

    def _statement(self, statement: ast.stmt, done: list[ast.stmt]) -> None:
        if isinstance(statement, ast.Assign):
            self._assignment(statement.targets[0], statement.value, done, statement)
        elif isinstance(statement, ast.AugAssign):
            target = copy.copy(statement.target)
            target.ctx = ast.Load()
            if isinstance(target, ast.Subscript):
                target = self._simple_target(target, done)
                target.ctx = ast.Load()
            whole = located(ast.BinOp(target, statement.op, statement.value), statement)
            if self.rank(target) or self._picks(target):
                goal = target if isinstance(target, ast.Subscript) else expression(f"{text(target)}[...]")
                self._assignment(goal, whole, done, statement)
            elif isinstance(target, ast.Subscript) and isinstance(statement.op, (ast.Add, ast.Sub)):
                value = self.rewrite(statement.value, done)
                done.append(ast.AugAssign(stored(target), statement.op, value))  # type: ignore[arg-type]
            else:
                done.append(ast.Assign([stored(target)], self.rewrite(whole, done)))
        elif isinstance(statement, ast.If):
            test = self.rewrite(statement.test, done)
            done.append(ast.If(test, self._body(statement.body), self.block(statement.orelse)))
        elif isinstance(statement, ast.For):
            bounds = self.rewrite(statement.iter, done)
            done.append(ast.For(statement.target, bounds, self._body(statement.body), []))
        elif isinstance(statement, ast.While):
            before: list[ast.stmt] = []
            test = self.rewrite(statement.test, before)
            if before:
                done += self.repeated(before, test, self._body(statement.body), statement, flag_of(statement))
            else:
                done.append(ast.While(test, self._body(statement.body), []))
        else:
            done.append(statement)

    def _assignment(self, target: ast.expr, value: ast.expr, done: list[ast.stmt], at: ast.stmt) -> None:
        if isinstance(target, ast.Subscript):
            target = self._simple_target(target, done)
            value = self.rewrite(value, done)
            if picked := self.picked(target, done):
                self.scattered(*picked, value, done)
            elif self.rank(target):
                self._elements(target, value, done)
            else:
                done.append(ast.Assign([target], value))
            return
        assert isinstance(target, ast.Name)
        if isinstance(kind := self.kinds.get(target.id), BaseTuple):
            self._bind_tuple(target.id, kind, self.rewrite(value, done), done, at)
            return
        start = len(done)
        value = self.rewrite(value, done)
        rank = self.rank(value)
        if not rank:
            done.append(ast.Assign([target], value))
        elif not isinstance(value, ast.Name):
            self._bind(target.id, self._computed(value, done), done)
        else:
            last = done[-1] if len(done) > start else None
            created = isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) and last.targets[0].id
            if created and created == value.id and isinstance(last, ast.Assign):  # bind the name itself
                last.targets = [target]
                if self.aliases.root(created) != created:
                    self.aliases.share(target.id, created)
            else:
                self._bind(target.id, value.id, done)

    def _bind_tuple(
        self, variable: str, kind: BaseTuple, value: ast.expr, done: list[ast.stmt], at: ast.stmt
    ) -> None:
        """Bind a name for each element of a tuple."""
        parts = self.elements_of(value)
        if parts is None:
            raise Refused(f"the tuple {text(value)} is not supported")
        if variable not in self.tuples:
            self.tuples[variable] = [self.names.fresh(f"{variable}_{number}") for number in range(len(parts))]
            self.kinds.update(zip(self.tuples[variable], kind, strict=True))
        names = self.tuples[variable]
        if {*names} & names_in(value):  # its elements are exchanged
            held = [self.names.fresh("held") for _ in parts]
            self.kinds.update(zip(held, kind, strict=True))
            for own, part in zip(held, parts, strict=True):
                self._assignment(name(own, store=True), part, done, at)
            parts = list(map(name, held))
        for own, part in zip(names, parts, strict=True):
            self._assignment(name(own, store=True), part, done, at)

    def _simple_target(self, target: ast.Subscript, done: list[ast.stmt]) -> ast.Subscript:
        """Return the target with a name as its array and an index that needs no further statements."""
        array = name(self._named(self.rewrite(target.value, done), done))
        indices = indices_of(ast.Subscript(array, self.rewrite(target.slice, done)))
        indices = [
            name(self._named(each, done)) if not isinstance(each, ast.Slice) and self.rank(each) else each
            for each in indices
        ]
        index = indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())
        return located(ast.Subscript(array, index, ast.Store()), target)

    def _picks(self, target: ast.expr) -> bool:
        """Return True if an array is among the indices of the target of an assignment."""
        indices = indices_of(target) if isinstance(target, ast.Subscript) else []
        return any(not isinstance(each, ast.Slice) and self.rank(each) for each in indices)
