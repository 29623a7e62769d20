"""The derivative of a beta variable with respect to one of its parameters, for ``@njit`` code.

The probability that a beta variable with the parameters a and b is below x is
x^a (1 - x)^b / (a B(a, b)) / (1 + d1 / (1 + d2 / (1 + ...))), a continued fraction that converges fast for x below
(a + 1) / (a + b + 2); otherwise 1 - x is a variable with the parameters b and a (*NIST Digital Library of Mathematical
Functions*, 8.17).  The derivative of the fraction is computed in dual numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import polynomials
from .gamma import digamma_above_0
from .incomplete_gamma import MOST_ROUNDS, Dual, epsilon
from .instructions import Value, absolute, either, repeat, select


def beta_slope(a: Value, b: Value, x: Value) -> Value:
    """d logit(x) / da of a beta variable x with the parameters a and b that is a fixed quantile."""
    below = x * (a + b + 2) <= a + 1
    (slope,) = either(below, lambda: _slope_below(a, b, x), lambda: _slope_above(a, b, x))
    return select((a > 0) & (b > 0) & (x > 0) & (x < 1), slope, math.nan)


def _slope_below(a: Value, b: Value, x: Value) -> Sequence[Value]:
    fraction = _fraction(Dual(a, a.like(1)), Dual(b, a.like(0)), x)
    return (-(fraction.value * (_surprise(a, b, x) - 1 / a) + fraction.slope) / a,)


def _slope_above(a: Value, b: Value, x: Value) -> Sequence[Value]:
    fraction = _fraction(Dual(b, a.like(0)), Dual(a, a.like(1)), 1 - x)
    return ((fraction.value * _surprise(a, b, x) + fraction.slope) / b,)


def _surprise(a: Value, b: Value, x: Value) -> Value:
    """``log(x)`` minus its mean: the derivative of the logarithm of the density by a."""
    return polynomials.log(x) - (digamma_above_0(a) - digamma_above_0(a + b))


def _fraction(a: Dual, b: Dual, x: Value) -> Dual:
    """The inverse of the continued fraction, by Lentz' algorithm, two terms in each round."""

    def step(number: Value, *parts: Value) -> Any:
        c: Any
        d: Any
        result: Any
        c, d, result = [Dual(*parts[first : first + 2]) for first in (0, 2, 4)]
        even = number * (b - number) * x / ((a + (2 * number - 1)) * (a + 2 * number))
        odd = (a + number) * (a + b + number) * (-x) / ((a + 2 * number) * (a + (2 * number + 1)))
        d = 1 / (1 + even * d)
        c = 1 + even / c
        result = result * (c * d)
        d = 1 / (1 + odd * d)
        c = 1 + odd / c
        factor = c * d
        result = result * factor
        change = absolute(factor.value - 1) + absolute(factor.slope)
        again = change > epsilon(x)
        return (number + 1, c.value, c.slope, d.value, d.slope, result.value, result.slope), again

    first = 1 / (1 - (a + b) * x / (a + 1))
    start = x.like(1), x.like(1), x.like(0), first.value, first.slope, first.value, first.slope
    return Dual(*repeat(step, start, MOST_ROUNDS)[5:])
