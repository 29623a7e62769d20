"""Hoisting: rewriting an expression so that preceding statements compute parts of it."""

from __future__ import annotations

import ast
import copy

from .source import Names, assign, expression, located, name, text


class Hoister:
    """Rewriter of expressions whose parts may need preceding statements.

    If a part is evaluated only under a condition, its statements go into an ``if`` with that condition.
    """

    names: Names

    def part(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Rewrite a node whose children have been rewritten."""
        return node

    def rewrite(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Return the expression rewritten; the statements it needs are added to ``before``."""
        if isinstance(node, ast.IfExp):
            return self._conditional(node, before)
        if isinstance(node, ast.BoolOp):
            return self._junction(node, before)
        new = copy.copy(node)
        for key, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(new, key, self.rewrite(value, before))
            elif isinstance(value, list):
                setattr(new, key, [self.rewrite(v, before) if isinstance(v, ast.expr) else v for v in value])
        return self.part(new, before)

    def _conditional(self, node: ast.IfExp, before: list[ast.stmt]) -> ast.expr:
        test = self.rewrite(node.test, before)
        if isinstance(test, ast.Constant):
            return self.rewrite(node.body if test.value else node.orelse, before)
        for_body: list[ast.stmt] = []
        for_orelse: list[ast.stmt] = []
        body, orelse = self.rewrite(node.body, for_body), self.rewrite(node.orelse, for_orelse)
        new = located(ast.IfExp(test, body, orelse), node)
        if not for_body and not for_orelse:
            return self.part(new, before)
        chosen = self.names.fresh("chosen")
        for_body.append(assign(chosen, body, node))
        for_orelse.append(assign(chosen, orelse, node))
        before.append(located(ast.If(test, for_body, for_orelse), node))
        return name(chosen)

    def _junction(self, node: ast.BoolOp, before: list[ast.stmt]) -> ast.expr:
        parts = []
        for value in node.values:
            statements_of: list[ast.stmt] = []
            parts.append((statements_of, self.rewrite(value, statements_of)))
        before += parts[0][0]
        if not any(statements_of for statements_of, _ in parts[1:]):
            return self.part(located(ast.BoolOp(node.op, [value for _, value in parts]), node), before)
        holds = self.names.fresh("holds")
        before.append(assign(holds, expression(f"bool({text(parts[0][1])})"), node))
        for statements_of, value in parts[1:]:
            test = name(holds) if isinstance(node.op, ast.And) else ast.UnaryOp(ast.Not(), name(holds))
            statements_of = [*statements_of, assign(holds, expression(f"bool({text(value)})"), node)]
            before.append(located(ast.If(test, statements_of, []), node))
        return name(holds)

    def repeated(
        self, before: list[ast.stmt], test: ast.expr, body: list[ast.stmt], at: ast.stmt, flag: str | None
    ) -> list[ast.stmt]:
        """Return a ``while`` whose test needs statements, placed before the loop and at the end of its body."""
        holds = self.names.fresh("holds")
        before = [*before, assign(holds, expression(f"bool({text(test)})"), at)]
        again = copy.deepcopy(before)
        unless_left = [ast.If(expression(f"{flag} < 2"), again, []), body[-1]]
        body = [*body[:-1], *unless_left] if flag else [*body, *again]
        return [*before, located(ast.While(name(holds), body, []), at)]
