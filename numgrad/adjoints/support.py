"""Functions that generated code calls."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit
def same_length(first: int, second: int) -> None:
    """Check that no axis is broadcast."""
    if first != second:
        raise ValueError("numgrad.differentiable: arrays of different lengths are not broadcast in derivatives")


SUPPORT = {"math": math, "np": np, "same_length": same_length}
