"""Orthogonal polynomials by their recurrences, for ``@njit`` code.

See *NIST Digital Library of Mathematical Functions*, 18.9.  The degree is a number, which is truncated; polynomials of
negative degree are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .instructions import Value, instruction, repeat, select

_trunc = instruction("llvm.trunc")

#: From this degree on, up to which float32 counts, polynomials are NaN.
MOST = 2**24


def _polynomial(
    linear: Callable[[Value], Value], following: Callable[[Value, Value, Value, Value], Value]
) -> Callable[[Value, Value], Value]:
    """Return the function of a number and a degree.

    Args:
        linear: the polynomial of degree 1.
        following: returns the polynomial of degree ``k + 1`` at ``x``, given ``x``, ``k``, and those of degrees ``k``
            and ``k - 1``.
    """

    def function(x: Value, n: Value) -> Value:
        degree = _trunc(n)

        def step(k: Value, before: Value, current: Value) -> tuple[list[Value], Value]:
            return [k + 1, current, following(x, k, current, before)], (k + 1 < degree) & (degree < MOST)

        first = linear(x)
        _, _, result = repeat(step, [x.like(1), x.like(1), first], MOST)
        result = select(degree < 2, select(degree < 1, 1, first), result)
        return select(degree < 0, 0, select(degree < MOST, result, math.nan))

    return function


def _shifted(function: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    return lambda x, n: function(2 * x - 1, n)


def _chebyshev_step(x: Value, k: Value, current: Value, before: Value) -> Value:
    return 2 * x * current - before


chebyshev_t = _polynomial(lambda x: x, _chebyshev_step)
chebyshev_u = _polynomial(lambda x: 2 * x, _chebyshev_step)
chebyshev_v = _polynomial(lambda x: 2 * x - 1, _chebyshev_step)
chebyshev_w = _polynomial(lambda x: 2 * x + 1, _chebyshev_step)
shifted_chebyshev_t, shifted_chebyshev_u = _shifted(chebyshev_t), _shifted(chebyshev_u)
shifted_chebyshev_v, shifted_chebyshev_w = _shifted(chebyshev_v), _shifted(chebyshev_w)
hermite_h = _polynomial(lambda x: 2 * x, lambda x, k, current, before: 2 * (x * current - k * before))
hermite_he = _polynomial(lambda x: x, lambda x, k, current, before: x * current - k * before)
laguerre_l = _polynomial(
    lambda x: 1 - x, lambda x, k, current, before: ((2 * k + 1 - x) * current - k * before) / (k + 1)
)
legendre_p = _polynomial(
    lambda x: x, lambda x, k, current, before: ((2 * k + 1) * x * current - k * before) / (k + 1)
)
