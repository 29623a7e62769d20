"""Outcomes of runs of a program, and their comparison."""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from fuzz.modes import Facts, Mode
from fuzz.programs import Program

__all__ = ["Disagreement", "Outcome", "difference", "outcome"]

#: Tolerance of results, relative to the largest element, for doubles and if single precision is involved:
#: rounding errors of some steps (PyTorch has constants of single precision in some functions of doubles).
ROUNDING = (1e-7, 3e-4)


@dataclass(frozen=True)
class Outcome:
    """Facts that a run has shown, or the error that ended it."""

    facts: Facts
    error: Exception | None = None


@dataclass(frozen=True)
class Disagreement:
    """Difference of two outcomes; ``kind`` stays the same while a program is shortened."""

    kind: str
    text: str
    #: The reason to ignore it: PyTorch fails where numgrad does not, or its own results jump.
    excuse: str | None = None


def outcome(module: ModuleType, mode: Mode, program: Program, seed: int) -> Outcome:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Outcome(mode(module, program, random.Random(seed)))
        except Exception as error:  # which is compared
            return Outcome([], error)


# -- agreement --------------------------------------------------------------------------------------------------


def difference(
    expected: Outcome, found: Outcome, slack: dict[str, float] | None = None, single: bool = False
) -> Disagreement | None:
    """Return the difference of two outcomes, None if they agree; ``slack`` allows each fact to deviate further."""
    if expected.error is not None and found.error is not None:
        if isinstance(found.error, type(expected.error)):
            return None
        kind = f"{type(found.error).__name__} for {type(expected.error).__name__}"
        return Disagreement(kind, f"{found.error!r}, expected {expected.error!r}")
    if found.error is not None:
        return Disagreement(f"raises {type(found.error).__name__}", f"{found.error!r}")
    if expected.error is not None:
        return Disagreement(f"does not raise {type(expected.error).__name__}", f"expected {expected.error!r}")
    names, wanted_names = [name for name, _ in found.facts], [name for name, _ in expected.facts]
    if names != wanted_names:
        return Disagreement("facts", f"{names}, expected {wanted_names}")
    for (name, value), (_, wanted) in zip(found.facts, expected.facts, strict=True):
        kind = _unlike(value, wanted, (slack or {}).get(name, 0.0), ROUNDING[single])
        if kind is not None:
            return Disagreement(f"{re.sub('[^a-z_]', '', name)}: {kind}", f"{name} = {value}\nexpected {wanted}")
    return None


def _unlike(value: Any, wanted: Any, slack: float, relative: float) -> str | None:
    """The respect in which two facts differ."""
    if not isinstance(value, np.ndarray) or not isinstance(wanted, np.ndarray):
        if value is None or wanted is None:
            return None if value is wanted else "None" if value is None else "zeros" if not value.any() else "not None"
        return None if value == wanted else "flag"
    if value.dtype != wanted.dtype:
        return "dtype"
    if value.shape != wanted.shape:
        return "shape"
    if value.dtype.kind not in "fc":
        return None if np.array_equal(value, wanted) else "elements"
    return None if _near(value, wanted, slack, relative) else "value"


def _near(value: np.ndarray, wanted: np.ndarray, slack: float, relative: float) -> bool:
    finite = np.isfinite(wanted)
    if not np.array_equal(finite, np.isfinite(value)):
        return False
    if not np.array_equal(value[~finite], wanted[~finite], equal_nan=True):
        return False
    size = max(1.0, abs(wanted[finite]).max(initial=0.0))
    return bool((abs(value[finite] - wanted[finite]) <= relative * size + slack).all())
