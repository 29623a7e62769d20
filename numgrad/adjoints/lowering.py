"""Array expressions as loops over elements.

Each lowered statement assigns a scalar or an element, or binds a name to an array, a view or a new array.
"""

from __future__ import annotations

import ast
import copy

from .array_calls import ArrayCalls
from .elements import stored
from .source import Refused, expression, index_text, located, name, placing, text
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
            if self.rank(target):
                goal = target if isinstance(target, ast.Subscript) else expression(f"{text(target)}[...]")
                self._elements(goal, whole, done)  # type: ignore[arg-type]
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
            if self.rank(target):
                self._elements(target, value, done)
            else:
                value = self.rewrite(value, done)
                done.append(ast.Assign([target], value))
            return
        assert isinstance(target, ast.Name)
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

    def _simple_target(self, target: ast.Subscript, done: list[ast.stmt]) -> ast.Subscript:
        """Return the target with a name as its array and an index that needs no further statements."""
        array = name(self._named(self.rewrite(target.value, done), done))
        index = self.rewrite(target.slice, done)
        for each in [index] if not isinstance(index, ast.Tuple) else index.elts:
            if not isinstance(each, ast.Slice) and self.rank(each):
                raise Refused(f"an assignment to the elements {text(each)} at once is not supported: use a loop")
        return located(ast.Subscript(array, index, ast.Store()), target)

    def _elements(self, target: ast.Subscript, value: ast.expr, done: list[ast.stmt]) -> None:
        """Assign to the elements of a view."""
        value = self.rewrite(value, done)
        array = target.value
        assert isinstance(array, ast.Name)
        if index_text(target) in (":", "..."):
            view, source = array.id, array.id
        else:
            source = f"{array.id}[{index_text(target)}]"
            view = self._new("part", self.rank(target), str(self.kinds[array.id].dtype))
            done.append(ast.Assign([name(view, store=True)], expression(source)))
            self.aliases.share(view, array.id)
            self._views[view] = source
        arrays = {each.id for each in ast.walk(value) if isinstance(each, ast.Name) and self.rank(each)}
        overlapping = [
            each for each in arrays
            if self.aliases.root(each) == self.aliases.root(view) and self._views.get(each, each) != source
        ]
        if overlapping:
            value = name(self._computed(value, done))
        elif not self.rank(value) and not isinstance(value, (ast.Name, ast.Constant)):
            held = self.names.fresh("held")
            done.append(ast.Assign([name(held, store=True)], value))
            value = name(held)
        self._loops(view, value, done)
