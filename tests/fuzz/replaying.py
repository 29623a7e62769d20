"""One program in one mode, compiled: calls with other numbers give the same bits as the uncompiled program."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from fuzz.comparing import Disagreement, Outcome, outcome
from fuzz.modes import MODES, Facts, Mode, seen, twice, wanted
from fuzz.programs import Program

import numgrad

__all__ = ["chance", "replayed"]


@dataclass(frozen=True, eq=False)
class CompiledProgram(Program):
    """A program whose function was compiled before, for other numbers."""

    call: Any = None

    def function(self, module: Any) -> Callable[..., tuple]:
        return self.call


def replayed(mode_name: str, program: Program, seed: int) -> Disagreement | None:
    """Return the deviation of a compiled program: its function in this mode, or all derivatives within the program.

    Leaves are not results: their gradients from within the program are added up before those from outside are.
    """
    leaves = program.tensors(numgrad)
    run = outcome(numgrad, lambda *_: [("output", program.function(numgrad)(*leaves))], program, seed)
    if run.error is None:
        results = zip(program.outputs, run.facts[0][1], strict=True)
        made = tuple(number for number, one in results if not any(one is leaf for leaf in leaves))
        program = replace(program, outputs=made or program.outputs[:1])
    return _replayed(MODES[mode_name], program, seed) or _replayed(_within, program, seed)


def _replayed(mode: Mode, program: Program, seed: int) -> Disagreement | None:
    function = program.function(numgrad)
    compiled = numgrad.compile(_with_derivatives(function) if mode is _within else function)
    for number in (0, 1, 2, 0, 2):
        moved = program.moved(number, 0.5) if number else program
        numgrad.manual_seed(seed)
        expected = outcome(numgrad, mode, moved, seed)
        numgrad.manual_seed(seed)
        found = outcome(numgrad, mode, CompiledProgram(moved.leaves, moved.steps, moved.outputs, compiled), seed)
        unlike = _difference(expected, found)
        if unlike is not None:
            return unlike
    return None


def _with_derivatives(function: Callable[..., tuple]) -> Callable[..., Any]:
    def program(*tensors: Any) -> Any:
        outputs = function(*tensors)
        return outputs, twice(numgrad, outputs, wanted(tensors))

    return program


def _within(module: Any, program: Program, choose: random.Random) -> Facts:
    tensors = program.tensors(module)
    function = program.function(module)
    if not isinstance(program, CompiledProgram):
        function = _with_derivatives(function)
    outputs, gradients = function(*tensors)
    return seen("output", outputs) + seen("gradient", gradients)


def _difference(expected: Outcome, found: Outcome) -> Disagreement | None:
    if expected.error is not None or found.error is not None:
        if type(expected.error) is type(found.error):
            return None
        return Disagreement(f"raises {type(found.error).__name__}", f"{found.error!r}, expected {expected.error!r}")
    for (name, value), (_, own) in zip(found.facts, expected.facts, strict=True):
        if not isinstance(value, np.ndarray) or not isinstance(own, np.ndarray):
            same = type(value) is type(own) and value == own
        else:
            same = (value.dtype, value.shape, value.tobytes()) == (own.dtype, own.shape, own.tobytes())
        if not same:
            return Disagreement(f"{name.partition('[')[0]}: bits", f"{name} = {value}\nexpected {own}")
    return None


def chance(draw: Any) -> str:
    """Random numbers, which are the same for the same seed."""
    x = draw.value("float")
    return draw.pick((
        f"F.dropout({x}, 0.4)", f"{x} + torch.rand({tuple(x.shape)}).to({x}.dtype)", f"torch.rand_like({x})",
        f"{x} * torch.bernoulli(torch.full({tuple(x.shape)}, 0.5)).to({x}.dtype)", f"F.rrelu({x}, training=True)",
    ))
