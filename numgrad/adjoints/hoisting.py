"""Hoisting: rewriting an expression so that preceding statements compute parts of it."""

from __future__ import annotations

import ast
import copy

from .source import Names, Refused, assign, expression, located, name, text


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
        are_tuples = isinstance(body, ast.Tuple) and isinstance(orelse, ast.Tuple)
        if not for_body and not for_orelse and not are_tuples:
            return self.part(new, before)
        pairs = [(body, orelse)]
        if are_tuples:
            if len(body.elts) != len(orelse.elts):  # type: ignore[attr-defined]
                raise Refused(f"{text(node)} chooses between tuples of different lengths")
            pairs = [*zip(body.elts, orelse.elts, strict=True)]  # type: ignore[attr-defined]
        chosen = [self.names.fresh("chosen") for _ in pairs]
        for variable, (first, second) in zip(chosen, pairs, strict=True):
            for_body.append(assign(variable, first, node))
            for_orelse.append(assign(variable, second, node))
        before.append(located(ast.If(test, for_body, for_orelse), node))
        return ast.Tuple([name(each) for each in chosen], ast.Load()) if are_tuples else name(chosen[0])

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


#: Largest number of elements of a tuple from which an index selects at run time.
MOST = 64


def chosen_element(values: list[ast.expr], index: ast.expr) -> ast.expr:
    """Return the element of a tuple at an index: a conditional expression unless the index is a constant."""
    if isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
        index = ast.Constant(ast.literal_eval(index))
    if isinstance(index, ast.Constant):
        try:
            return values[index.value]  # type: ignore[index]
        except (IndexError, TypeError):
            raise Refused(f"a tuple of {len(values)} elements has none at {index.value!r}") from None
    if len(values) > MOST or not values:
        raise Refused(f"an index chooses among at most {MOST} elements of a tuple, not {len(values)}")
    chosen = values[-1]
    for number in range(len(values) - 2, -1, -1):
        chosen = ast.IfExp(ast.Compare(index, [ast.Eq()], [ast.Constant(number)]), values[number], chosen)
    return chosen
