"""Reverse mode with bounded memory: outer loops save their state at intervals, and the reverse pass runs them again.

The forward sweep runs such a loop without storing the values that the reverse pass needs.  The reverse sweep goes
through the saved states from the last to the first: starting from each, it runs the iterations up to the next saved
state, now storing these values, and then reverses the iterations.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal, TypeAlias

from numba.core import types

from .analysis import target_of
from .cotangents import indented
from .normal import NormalForm, bounds_of
from .procedures import PREFIX
from .reverse import Reverse
from .source import Refused, blocks, text, walk

#: Number of iterations between saved states, or "sqrt" for the square root of their number; None saves no states.
Checkpoint: TypeAlias = Literal["sqrt"] | int | None


def check_interval(checkpoint: Checkpoint) -> None:
    """Check the argument ``checkpoint`` of ``differentiable``.

    Raises:
        ValueError: it is neither "sqrt" nor a positive integer.
    """
    if checkpoint not in (None, "sqrt") and (not isinstance(checkpoint, int) or checkpoint < 1):
        raise ValueError(f"checkpoint must be 'sqrt' or a positive integer, not {checkpoint!r}")


class Checkpointed(Reverse):
    """Generator of an adjoint that saves the state of the outer loops every ``interval`` iterations."""

    def __init__(self, normal: NormalForm, by: list[str], same: list[tuple[str, str]], interval: Literal["sqrt"] | int):
        self.interval = interval
        self._every: dict[int, str] = {}
        super().__init__(normal, by, same)

    def _repeated_loops(self, block: list[ast.stmt]) -> list[ast.For | ast.While]:
        loops: list[ast.For | ast.While] = []
        for statement in block:
            if isinstance(statement, (ast.For, ast.While)):
                loops.append(statement)
            else:
                loops += [loop for inner in blocks(statement) for loop in self._repeated_loops(inner)]
        return loops

    def _names_of(self, loop: ast.For | ast.While) -> tuple[str, str]:
        """Return the names of the variables for the interval and for the number of iterations."""
        if id(loop) not in self._times:
            every, times = self.names.fresh("every"), self.names.fresh("times")
            self._times[id(loop)], self._every[id(loop)] = times, every
            self._counts += [every, times]
        return self._every[id(loop)], self._times[id(loop)]

    def _interval(self, loop: ast.For | ast.While) -> str:
        if isinstance(self.interval, int):
            return str(self.interval)
        if isinstance(loop, ast.While):
            raise Refused(
                "checkpoint='sqrt' needs the number of iterations, which 'while' does not provide: pass an integer",
                loop,
            )
        return f"max(1, int(math.sqrt(len({text(loop.iter)}))))"

    # -- the state of a loop

    def _state(self, loop: ast.For | ast.While) -> list[str]:
        """Return the numbers and arrays whose values an iteration may change and a later one may need."""
        facts, storing = self.facts, self.storing
        needed, read = storing.live[id(loop.body)] | storing.before[id(loop)], facts.reads(loop)
        bound = {text(target_of(each)): each for each in walk(loop.body) if facts.is_binding(each)}  # type: ignore[arg-type]
        for local, statement in bound.items():
            if local in needed:
                raise Refused(
                    f"checkpoint: '{local}' is another array after each iteration: write into the elements of one "
                    "array, or leave out 'checkpoint'", statement
                )
        # Elements that only later statements read are not needed: their adjoints run before those of the loop.
        used = read.union(storing.before[id(loop)], *[storing.uses.get(id(each), set()) for each in walk(loop.body)])
        changed = facts.writes(loop.body) - facts.counters
        kept = changed & used
        arrays = {local for local in read - bound.keys() if facts.is_array(local) and facts.contents(local) in kept}
        self._bound_first |= arrays - {*self.normal.parameters}
        return sorted(arrays | {local for local in changed & needed if not local.startswith("#")})

    def _over_elements(self, local: str, line: Callable[[str, types.Type], list[str]], backwards: bool) -> list[str]:
        """Return the lines that ``line`` returns for a number, or loops with those for each element of an array."""
        kind = self.kinds[local]
        if not self.facts.is_array(local):
            return line(local, kind)
        places = [self.names.fresh("ijklmn"[axis]) for axis in range(kind.ndim)]
        lines = line(f"{local}[{', '.join(places)}]", kind.dtype)
        for axis in range(kind.ndim - 1, -1, -1):
            length = f"{local}.shape[{axis}]"
            bounds = f"{length} - 1, -1, -1" if backwards else length
            lines = [f"for {places[axis]} in range({bounds}):", *indented(lines)]
        return lines

    # -- the sweeps

    def _forward_loop(self, loop: ast.For | ast.While) -> list[str]:
        if id(loop) not in self._every:
            return super()._forward_loop(loop)
        every, times = self._names_of(loop)
        keeping = [
            each for local in self._state(loop)
            for each in self._over_elements(local, self._push, backwards=False)
        ]
        body = self._without_recording(self._block_of_loop(loop))
        lines = [f"if {times} % {every} == 0:", *indented(keeping or ["pass"]), *body, f"{times} += 1"]
        return [f"{every} = {self._interval(loop)}", *self._whole_loop(loop, lines)]

    def _without_recording(self, block: list[ast.stmt]) -> list[str]:
        self._recording = False
        lines = self._forward(block)
        self._recording = True
        return lines

    def _backward_loop(self, loop: ast.For | ast.While) -> list[str]:
        block = self._block_of_loop(loop)
        body, again = self._backward(block), self._forward(block)
        marks = ".append(", f"{PREFIX}push(", *[f"{tape}.size:" for tape in (self.tape, self.integers, self.branches)]
        stores = any(mark in line for line in again for mark in marks)
        if not stores or not any(loop is each for each in self.repeated):
            return super()._backward_loop(loop)
        self._reversed.add(id(loop))
        every, times = self._names_of(loop)
        segment, first, last, back = map(self.names.fresh, ("segment", "first", "last", "back"))
        restored = [
            line for local in reversed(self._state(loop))
            for line in self._over_elements(local, self._pop, backwards=True)
        ]
        counter = []
        if isinstance(loop, ast.For):
            start, _, step = bounds_of(loop)
            counter = [f"{text(loop.target)} = {start} + {back} * ({step})"]
        lines = [
            f"{first} = {segment} * {every}", f"{last} = min({times}, {first} + {every})", *restored,
            f"for {back} in range({first}, {last}):", *indented([*counter, *again]),
            *[f"{use} = max({use}, {count})" for use, count in self._used.items()],
            f"if not ({self._fits}):", f"    {self._return}",
            f"for {back} in range({last} - 1, {first} - 1, -1):", *indented([*counter, *body]),
        ]
        return [f"for {segment} in range(({times} - 1) // {every}, -1, -1):", *indented(lines)]
