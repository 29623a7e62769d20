"""Functions that generated code calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit


@njit
def push(tape: Any, place: int, value: Any) -> int:
    """Store a value on a tape, if there is room; return the next place, which counts on without room."""
    if place < tape.size:
        tape[place] = value
    return place + 1


@njit
def same_length(first: int, second: int) -> None:
    """Check that no axis is broadcast."""
    if first != second:
        raise ValueError("numgrad.differentiable: arrays of different lengths are not broadcast in derivatives")


SUPPORT = {"math": math, "np": np, "push": push, "same_length": same_length}
