"""One program in one mode, with PyTorch and with numgrad."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np
from fuzz.comparing import Disagreement, Outcome, difference, outcome
from fuzz.identities import itself
from fuzz.known import NUMGRAD_IS_RIGHT, excuse_for
from fuzz.modes import MODES, Mode
from fuzz.programs import Program

import numgrad

__all__ = ["deviation"]

TRANSFORMS = ("forward", "vmap", "nested")
#: Relative changes of the leaves that show how well results are determined, and the factor by which results may differ.
MOVE, SLACK = (1e-10, 1e-5), 30.0
#: Results that move by more than this are not determined: a mask, an index or a side of a kink has changed.
JUMP = 1e-2


def deviation(torch: ModuleType, mode_name: str, program: Program, seed: int) -> Disagreement | None:
    """Return numgrad's deviation from PyTorch, with an excuse if the fault is not numgrad's."""
    mode = MODES[mode_name]
    expected, found = outcome(torch, mode, program, seed), outcome(numgrad, mode, program, seed)
    unlike = difference(expected, found, single=program.single)
    if unlike is None:
        return None
    plain = outcome(torch, MODES["backward"], program, seed)
    excuse = excuse_for(mode_name, program, unlike, expected, found, plain)
    if excuse is None and expected.error and not found.error and not plain.error and mode_name in TRANSFORMS:
        excuse = NUMGRAD_IS_RIGHT if _right(mode_name, program, seed) else None  # PyTorch fails within the transform
    if excuse is None and expected.error is None:
        slack = _sensitivity(torch, mode, program, seed, expected)
        unlike = difference(expected, found, slack, program.single)
        if slack is None:
            excuse = "PyTorch's results jump"
        elif unlike is not None and _of_derivative(unlike) and _right(mode_name, program, seed):
            excuse = NUMGRAD_IS_RIGHT
    return unlike and replace(unlike, excuse=excuse)


def _of_derivative(unlike: Disagreement) -> bool:
    return not unlike.kind.startswith("output") and unlike.kind.endswith(("value", "not None"))


def _right(mode_name: str, program: Program, seed: int) -> bool:
    """Return True if finite differences, which need doubles and a whole graph, agree with numgrad."""
    return program.connected and itself(mode_name, program.widened(), seed) is None


def _sensitivity(
    module: ModuleType, mode: Mode, program: Program, seed: int, expected: Outcome
) -> dict[str, float] | None:
    """Return how far each fact moves if the leaves move a little; None if the kind of outcome changes."""
    relative = MOVE[program.single]
    moves: dict[str, float] = {}
    for number in range(4):
        moved = outcome(module, mode, program.moved(number, relative), seed)
        if type(moved.error) is not type(expected.error) or len(moved.facts) != len(expected.facts):
            return None
        for (name, value), (_, wanted) in zip(moved.facts, expected.facts, strict=True):
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
                continue
            if value.shape != wanted.shape or not np.array_equal(np.isfinite(value), np.isfinite(wanted)):
                return None
            finite = np.isfinite(wanted)
            moves[name] = max(moves.get(name, 0.0), abs(value[finite] - wanted[finite]).max(initial=0.0))
    return {name: SLACK * move for name, move in moves.items()} if max(moves.values(), default=0) < JUMP else None
