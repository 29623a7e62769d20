"""Evaluation of polynomials whose coefficients are tables, for ``@njit`` code.

The tables of special functions were computed for this package in 34 digits, by interpolation at Chebyshev's points, and
then rounded.  Their errors are below a quarter of a unit in the last place.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .instructions import Value, fma, horner


class Coefficients(NamedTuple):
    """Coefficients c0, c1, ... of powers, for each floating-point format."""

    float32: tuple[float, ...]
    float64: tuple[float, ...]


def polynomial(x: Value, coefficients: Coefficients) -> Value:
    """c0 + c1 x + c2 x^2 + ..."""
    return horner(x, coefficients.float32 if x.size == 32 else coefficients.float64)


def chebyshev(t: Value, coefficients: Sequence[float]) -> Value:
    """c0 + c1 T1(t) + c2 T2(t) + ..., by Clenshaw's recurrence, without the last terms that float32 does not need."""
    largest = max(map(abs, coefficients))
    needed = [n for n, c in enumerate(coefficients) if t.size == 64 or abs(c) > 2.0**-29 * largest]
    doubled, current, before = 2 * t, t.like(0), t.like(0)
    for coefficient in coefficients[needed[-1] : 0 : -1]:
        current, before = fma(doubled, current, coefficient - before), current
    return fma(t, current, coefficients[0] - before)
