"""Random programs that read Python state that changes between calls: compiled, they compute the same.

A program is a script: pieces of state, a function that computes with them, and calls of it with changes in between.
It may be refused with a warning.  If it is not, each call has the same results, gradients and errors, bit for bit.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from fuzz.states import STATES, State
from fuzz.states_of_calls import STATES_OF_CALLS

import numgrad

__all__ = ["Script", "difference", "random_script", "shorter_scripts"]

VALUES = ("1.0", "2.0", "0.5", "3.0", "2", "-1.5")

#: Where the number of a piece and a value are put into its lines.
PLACE = re.compile(r"[#?]")

#: Expressions that read a piece of state R.
NUMBERS = (
    "h = h * R", "h = h + R", "h = torch.tanh(h) - R", "h = h + x.sum() * R", "h = h * 0.5 if R > 1 else torch.tanh(h)",
    "h = h * torch.full((4,), float(R))",
)
TENSORS = ("h = h * R", "h = h + R", "h = torch.tanh(h) * R", "h = h + (x * R).sum()")

ARGUMENTS = (
    "ramp(4)", "ramp(4)", "ramp(8)[::2]", "ramp(5)[1:]", "ramp(1).expand(4)", "ramp(4).requires_grad_()",
    "ramp(4).requires_grad_()", "ramp(8).requires_grad_()[::2]", "ramp(4).neg()",
)

HEAD = """\
import abc, array, collections, contextlib, contextvars, dataclasses, datetime, decimal, enum, fractions, functools, gc
import itertools, logging, math, operator, os, queue, random, sys, threading, types, weakref
import numpy as np
import numgrad as torch
from numgrad import nn
from numgrad.nn import functional as F

def run(compile):
    log = []

    def plain(value):
        if isinstance(value, torch.Tensor):
            bits = value.detach().contiguous().numpy().tobytes()
            return str(value.dtype), tuple(value.shape), value.requires_grad, bits, value.tolist()
        if isinstance(value, dict):
            return tuple((key, plain(item)) for key, item in value.items())
        if isinstance(value, tuple | list):
            return tuple(map(plain, value))
        return value if isinstance(value, int | float | None) else type(value).__name__

    @contextlib.contextmanager
    def noting():
        try:
            yield
        except Exception as error:
            log.append(type(error).__name__)

    def ramp(size):
        return torch.linspace(-1.0, 2.0, size)

    def call(function, x, *others):
        with noting():
            log.append(plain(function(x, *others)))
        log.append(plain(x.grad if x.is_leaf else None))
        log.append(plain((x, *others)))

    names = {"log": log, "plain": plain, "noting": noting, "ramp": ramp, "call": call, "compile": compile}
    exec(SCRIPT, {**globals(), **names, "__name__": __name__})
    return log
"""

TAIL = """
expected, found = run(lambda f: f), run(torch.compile)
for number, (one, other) in enumerate(zip(expected, found)):
    if repr(one) != repr(other):
        print(number, "expected", one, "found", other)
"""


@dataclass(frozen=True)
class Script:
    """A function that reads ``states``, numbered pieces; ``steps`` are calls and changes."""

    states: tuple[str, ...]
    body: tuple[str, ...]
    steps: tuple[str, ...]
    after: tuple[str, ...]
    is_local: bool
    parameters: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The script, whose names are globals, or variables that the function has in its closure."""
        lines = [line for state in self.states for line in state.splitlines()]
        lines += [f"def f({', '.join(('x', *self.parameters))}):", "    h = x"]
        lines += [f"    {line}" for part in self.body for line in part.splitlines()] + ["f = compile(f)"]
        for step in self.steps:
            lines += [step] if step.startswith("call(") else ["with noting():", f"    {step}"]
        for step in self.after:
            lines += ["with noting():", f"    {step}"]
        if self.is_local:
            lines = ["def main():", *[f"    {line}" for line in lines], "main()"]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f'SCRIPT = """\n{self.text}\n"""\n\n{HEAD}{TAIL}'


def random_script(seed: int, states: tuple[State, ...] | None = None) -> Script:
    """The script of a seed, of these kinds of state, or of some that are drawn."""
    choose = random.Random(seed)

    def lines(number: int, text: str) -> str:
        return PLACE.sub(lambda found: str(number) if found[0] == "#" else choose.choice(VALUES), text)

    drawn = states or [choose.choice((*STATES, *STATES_OF_CALLS)) for _ in range(choose.choice((1, 1, 2, 2, 3, 4)))]
    pieces = [*enumerate(drawn)]
    setups, body, arguments = [], [], [*ARGUMENTS]
    for number, piece in pieces:
        setups.append(lines(number, piece.setup))
        arguments += [lines(number, one) for one in piece.arguments]
        read = lines(number, choose.choice(piece.reads))
        if read.startswith("!"):
            body.append(read[1:])
        else:
            use = choose.choice(TENSORS if piece.is_tensor else NUMBERS)
            body.append(re.sub(r"\bR\b", lambda _: read, use))  # noqa: B023
    given = [(number, piece) for number, piece in pieces if piece.given]
    if choose.random() < 0.4:
        body.append("h.sum().backward() if h.requires_grad else None")
    body.append("return h")
    preferred, steps = [choose.choice(arguments) for _ in range(2)], []
    for _ in range(choose.randint(5, 9)):
        argument = choose.choice(preferred) if choose.random() < 0.8 else choose.choice(arguments)
        others = [lines(number, choose.choice(piece.given)) for number, piece in given]
        steps += [f"call(f, {', '.join((argument, *others))})"] * choose.choice((1, 2, 2))
        for _ in range(choose.choice((0, 1, 1, 2))):
            number, piece = choose.choice(pieces)
            steps.append(lines(number, choose.choice(piece.changes)))
        number, piece = choose.choice(pieces)
        if piece.after:
            steps.append(f"log.append(plain({lines(number, piece.after)}))")
    after = [lines(number, piece.restore) for number, piece in pieces if piece.restore]
    parameters = tuple(f"a{number}" for number, _ in given)
    return Script(tuple(setups), tuple(body), tuple(steps), tuple(after), choose.random() < 0.4, parameters)


def _logs(script: Script, compiled: bool) -> tuple[list, bool]:
    """Return a script's notes, and whether it was refused."""
    scope: dict[str, Any] = {"SCRIPT": compile(script.text, "<script>", "exec"), "__name__": __name__}
    exec(HEAD, scope)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        random.seed(0)
        numgrad.manual_seed(0)
        log = scope["run"](numgrad.compile if compiled else lambda f: f)
    return log, any("cannot be compiled as a whole" in str(one.message) for one in caught)


def difference(script: Script) -> tuple[str | None, bool]:
    """Return the deviation of a script whose function is compiled, if any, and whether it was refused."""
    expected, _ = _logs(script, compiled=False)
    found, is_refused = _logs(script, compiled=True)
    for number, (one, other) in enumerate(zip(expected, found, strict=False)):
        if repr(one) != repr(other):
            return f"entry {number}: expected {one}, found {other}", is_refused
    return (None if len(expected) == len(found) else "another number of entries"), is_refused


def shorter_scripts(script: Script) -> Iterator[Script]:
    """Yield scripts without a line, with the plainest argument, or with names that are globals."""
    for name in ("steps", "body", "states"):
        if name == "states" and (script.after or script.parameters):  # which need them
            continue
        lines = getattr(script, name)
        for number in range(len(lines)):
            yield replace(script, **{name: lines[:number] + lines[number + 1:]})
    plain = tuple(f"call(f, {ARGUMENTS[0]})" if step.startswith("call(") else step for step in script.steps)
    if plain != script.steps and not script.parameters:
        yield replace(script, steps=plain)
    if script.is_local:
        yield replace(script, is_local=False)
