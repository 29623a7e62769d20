"""Functions that generated code calls."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


class DifferentLengths(ValueError):  # noqa: N818 - Numba's own message comes first, from the function itself
    """Exception for arrays that are broadcast, in derivatives that were generated for arrays of equal shapes."""


@njit
def same_length(first: int, second: int) -> None:
    """Check that no axis is broadcast."""
    if first != second:
        raise DifferentLengths("arrays of different lengths")


SUPPORT = {"math": math, "np": np, "same_length": same_length}
