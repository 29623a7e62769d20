"""Control flow in normal form: without ``return``, and with flags instead of ``break`` and ``continue``.

A block then always runs from its first statement to its last, so it can be reversed.  A loop that may be left early
ends with ``if flag >= 2: break``, the only ``break`` that remains.
"""

from __future__ import annotations

import ast
import copy

from .source import Names, Refused, assign, expression, located, names_in, statements

_CODES = {ast.Continue: 1, ast.Break: 2, ast.Return: 3}
_JUMPS = tuple(_CODES)


def may_jump(statement: ast.stmt) -> bool:
    """Return True if control may leave the block of the statement."""
    if isinstance(statement, ast.If):
        return any(map(may_jump, statement.body + statement.orelse))
    if isinstance(statement, (ast.For, ast.While)):
        return _returns(statement)
    return isinstance(statement, _JUMPS)


def _always_jumps(block: list[ast.stmt]) -> bool:
    last = block[-1] if block else None
    return isinstance(last, _JUMPS) or (
        isinstance(last, ast.If) and _always_jumps(last.body) and _always_jumps(last.orelse)
    )


def _returns(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))


def flag_of(loop: ast.stmt) -> str | None:
    """Return the flag of a loop that may be left early."""
    last = loop.body[-1] if isinstance(loop, (ast.For, ast.While)) and loop.body else None
    if isinstance(last, ast.If) and len(last.body) == 1 and isinstance(last.body[0], ast.Break):
        return last.test.left.id  # type: ignore[attr-defined]
    return None


class JumpRemoval:
    """Translation of the body of one function."""

    def __init__(self, names: Names):
        self.names = names
        #: Names of the values that the function returns; None before a ``return`` has been seen.
        self.results: list[str] | None = None
        self.flags: set[str] = set()

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Translate a body, and set ``results`` to the names of its results."""
        flag = self._flag("finished")
        done = self._block(body, flag)
        return _without_idle_flags(done if flag not in names_in(done) else [*statements(f"{flag} = 0"), *done], self)

    def _flag(self, stem: str) -> str:
        flag = self.names.fresh(stem)
        self.flags.add(flag)
        return flag

    def _block(self, block: list[ast.stmt], flag: str) -> list[ast.stmt]:
        """Translate a block; in the generated code ``flag`` records how the block was left."""
        done: list[ast.stmt] = []
        for position, statement in enumerate(block):
            following = block[position + 1 :]
            if isinstance(statement, _JUMPS):
                if isinstance(statement, ast.Return):
                    done += self._returned(statement)
                return [*done, *statements(f"{flag} = {_CODES[type(statement)]}", statement)]
            if isinstance(statement, ast.If):
                body, orelse = statement.body, statement.orelse
                if not may_jump(statement):
                    done.append(self._if(statement, body, orelse, flag))
                    continue
                if _always_jumps(body) or not following:
                    return [*done, self._if(statement, body, orelse + following, flag)]
                if _always_jumps(orelse):
                    return [*done, self._if(statement, body + following, orelse, flag)]
                return [*done, self._if(statement, body, orelse, flag), *self._unless_left(following, flag, statement)]
            if isinstance(statement, (ast.For, ast.While)):
                loop, loop_flag = self._loop(statement)
                done += loop
                if _returns(statement):
                    done += statements(f"if {loop_flag} == 3:\n    {flag} = 3", statement)
                    return done + self._unless_left(following, flag, statement)
                continue
            done.append(statement)
        return done

    def _unless_left(self, following: list[ast.stmt], flag: str, at: ast.stmt) -> list[ast.stmt]:
        return [located(ast.If(expression(f"{flag} == 0"), self._block(following, flag), []), at)] if following else []

    def _if(self, statement: ast.If, body: list[ast.stmt], orelse: list[ast.stmt], flag: str) -> ast.If:
        return located(ast.If(statement.test, self._block(body, flag), self._block(orelse, flag)), statement)

    def _loop(self, loop: ast.For | ast.While) -> tuple[list[ast.stmt], str]:
        if loop.orelse:
            raise Refused("'else' of a loop is not supported", loop)
        flag = self._flag("left")
        jumps = any(map(may_jump, loop.body))
        translated = copy.copy(loop)
        translated.body = self._block(loop.body, flag)
        if jumps:
            translated.body = [*statements(f"{flag} = 0", loop), *translated.body]
            if any(map(_breaks, loop.body)):
                leaving = ast.If(expression(f"{flag} >= 2"), [ast.Break()], [])
                translated.body.append(located(leaving, loop))
            return [*statements(f"{flag} = 0", loop), translated], flag
        return [translated], flag

    def _returned(self, statement: ast.Return) -> list[ast.stmt]:
        value = statement.value
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            values = []
        else:
            values = value.elts if isinstance(value, ast.Tuple) else [value]
        if self.results is None:
            self.results = [self.names.fresh(f"result{number or ''}") for number in range(len(values))]
        if len(self.results) != len(values):
            raise Refused("all 'return's of a function must have the same number of values", statement)
        return [assign(result, value, statement) for result, value in zip(self.results, values, strict=True)]


class Returns(JumpRemoval):
    """Translation of ``return`` alone, for forward mode, which runs loops from their beginning to their end."""

    def _loop(self, loop: ast.For | ast.While) -> tuple[list[ast.stmt], str]:
        if loop.orelse:
            raise Refused("'else' of a loop is not supported", loop)
        flag = self._flag("left")
        translated = copy.copy(loop)
        translated.body = self._within(loop.body, flag)
        return [*(statements(f"{flag} = 0", loop) if _returns(loop) else []), translated], flag

    def _within(self, block: list[ast.stmt], flag: str) -> list[ast.stmt]:
        """Translate a block of a loop: a ``return`` sets the flag and leaves the loop."""
        done: list[ast.stmt] = []
        for statement in block:
            if isinstance(statement, ast.Return):
                return [*done, *self._returned(statement), *statements(f"{flag} = 3\nbreak", statement)]
            if isinstance(statement, (ast.Break, ast.Continue)):
                return [*done, statement]
            if isinstance(statement, ast.If):
                body, orelse = self._within(statement.body, flag), self._within(statement.orelse, flag)
                done.append(located(ast.If(statement.test, body, orelse), statement))
            elif isinstance(statement, (ast.For, ast.While)):
                loop, loop_flag = self._loop(statement)
                done += loop
                if _returns(statement):
                    done += statements(f"if {loop_flag} == 3:\n    {flag} = 3\n    break", statement)
            else:
                done.append(statement)
        return done


class Structured(JumpRemoval):
    """Translation of a body that is in normal form but for the ``return`` at its end."""

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [*body[:-1], *self._returned(body[-1])]  # type: ignore[arg-type]


def _breaks(statement: ast.stmt) -> bool:
    """Return True if the statement may end the innermost loop around it."""
    if isinstance(statement, ast.If):
        return any(map(_breaks, statement.body + statement.orelse))
    return isinstance(statement, (ast.Break, ast.Return)) or _returns(statement)


def _without_idle_flags(block: list[ast.stmt], structure: JumpRemoval) -> list[ast.stmt]:
    """Remove the assignments to flags that are never read."""
    idle = structure.flags - {read for statement in block for read in names_in(statement)}

    def kept(block: list[ast.stmt]) -> list[ast.stmt]:
        left = []
        for statement in block:
            if isinstance(statement, ast.Assign) and names_in(statement.targets, ast.Store) & idle:
                continue
            for field in ("body", "orelse"):
                if getattr(statement, field, None):
                    setattr(statement, field, kept(getattr(statement, field)) or [ast.Pass()])
            left.append(statement)
        return left

    return kept(block)

