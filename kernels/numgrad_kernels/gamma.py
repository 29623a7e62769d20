"""The logarithm of the gamma function, its derivative, and the zeta function, for ``@njit`` code.

Numbers above a limit have asymptotic series; others are moved there, or to the interval from 1 to 2, by recurrences in
which nothing cancels; negative numbers are reflected (*NIST Digital Library of Mathematical Functions*, 5.5, 5.11 and
25.11).  There are no branches, but for the loop of the zeta function, so loops over numbers vectorise.
"""

from __future__ import annotations

import math

from . import angles, libm, polynomials, polynomials32
from .instructions import Value, absolute, copysign, fma, instruction, repeat, select
from .series import Coefficients, polynomial

_trunc, _round = instruction("llvm.trunc"), instruction("llvm.nearbyint")
_pow = libm.by_size(polynomials32.pow, "pow")

#: ln Gamma(1 + d) = d (d - 1) (c0 + c1 t + ...) for t = 2 d - 1, 0 <= d <= 1.
_LGAMMA = Coefficients(
    float32=(
        0.48312896, -0.07297995, 0.015727762, -0.0039135, 0.0010505135, -0.00029488717, 8.320685e-05,
        -2.4347177e-05, 9.563504e-06, -2.979404e-06,
    ),
    float64=(
        0.4831289505409809, -0.07297994795715297, 0.015727850268641094, -0.003913560937631769,
        0.0010498186644547402, -0.00029455070139898493, 8.510090373499432e-05, -2.5094329864078195e-05,
        7.511391855641883e-06, -2.2742409034140543e-06, 6.948428064186312e-07, -2.1388452890262906e-07,
        6.623878077265301e-08, -2.057734525447198e-08, 6.430260727636965e-09, -2.0735267758524892e-09,
        6.566403819263112e-10, -1.6381596734648426e-10, 5.025822209560936e-11, -3.53647433811882e-11,
        1.1586115295157275e-11,
    ),
)

#: ln Gamma(x) = (x - 1/2) ln x - x + ln(2 pi) / 2 + z (c0 + c1 z^2 + ...) for z = 1 / x, x >= 4 or 10.
_STIRLING = Coefficients(
    (1 / 12, -1 / 360, 1 / 1260, -1 / 1680),
    (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156),
)

#: psi(x) = ln x - z / 2 - z^2 (c0 + c1 z^2 + ...) for z = 1 / x, x >= 6 or 10.
_DIGAMMA = Coefficients(
    (1 / 12, -1 / 120, 1 / 252),
    (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12),
)

#: Quotients of successive terms of the formula of Euler and Maclaurin for the zeta function.
_ZETA = (1 / 12, 1 / 60, 1 / 42, 1 / 40, 1 / 39.6, 691 / 27300)


def lgamma(x: Value) -> Value:
    """ln |Gamma(x)|: for |x| from 1 to the limit that of the fraction plus the logarithm of a product."""
    size, limit = absolute(x), 4 if x.size == 32 else 10
    is_large, is_small = size >= limit, size < 1
    within = select(is_large, 1, size)
    near = lgamma1p(within - _trunc(within))
    product = size.like(1)
    for number in range(1, limit - 1):
        product = product * select(within >= number + 1, within - number, 1)
    log = polynomials.log(select(is_large | is_small, size, product))
    large = fma(size - 0.5, log - 1, 0.5 * math.log(2 * math.pi) - 0.5 + stirling_rest(size))
    result = select(is_large, large, select(is_small, near - log, near + log))
    # Gamma(x) Gamma(1 - x) = pi / sin(pi x), where Gamma(1 + |x|) = |x| Gamma(|x|)
    fraction = x - _round(x)
    sine, cosine, is_far = _of_half_turns(fraction)
    sine = select(is_far, cosine, sine) / math.pi
    reflected = -polynomials.log(select(is_small, sine, sine * size)) - select(is_small, near, result)
    reflected = select((fraction == 0) | (size == math.inf), math.inf, reflected)
    return select(x < 0, reflected, result)


def lgamma1p(d: Value) -> Value:
    """ln Gamma(1 + d) for d from 0 to 1, accurate near both."""
    return d * (d - 1) * polynomial(2 * d - 1, _LGAMMA)


def stirling_rest(x: Value) -> Value:
    """The difference of ln Gamma(x) and Stirling's formula, for large x."""
    z = 1 / x
    return z * polynomial(z * z, _STIRLING)


def digamma(x: Value) -> Value:
    """The derivative of ln |Gamma(x)|."""
    result = digamma_above_0(select(x < 0, 1 - x, x))
    fraction = x - _round(x)
    sine, cosine, is_far = _of_half_turns(fraction)
    cotangent = select(is_far, sine / cosine, cosine / sine)
    reflected = select(fraction == 0, math.nan, result - copysign(math.pi * cotangent, fraction))
    return select(x < 0, reflected, result)


def digamma_above_0(x: Value) -> Value:
    """The derivative of ln Gamma(x) for positive x, moved beyond the limit by psi(x) = psi(x + 1) - 1 / x."""
    limit = 6 if x.size == 32 else 10
    total = x.like(0)
    for number in range(limit - 2, -1, -2):  # 1 / (x + number) + 1 / (x + number + 1)
        first = x + number if number else x  # -0, unlike -0 + 0
        total = total + (2 * x + (2 * number + 1)) / (first * (x + (number + 1)))
    is_small = x < limit
    large = select(is_small, x + limit, x)
    z = 1 / large
    series = z * fma(z, polynomial(z * z, _DIGAMMA), z.like(0.5))
    return polynomials.log(large) - series - select(is_small, total, 0)


def zeta(s: Value, q: Value) -> Value:
    """The sum of (q + k)^-s, with the formula of Euler and Maclaurin for q + k above a limit; NaN for q < -2^24."""
    limit = 6 if s.size == 32 else 10

    def add(position: Value, total: Value) -> tuple[list[Value], Value]:
        return [position + 1, total + _pow(position, -s)], position + 1 < limit

    is_pole, is_beyond = (q <= 0) & (_trunc(q) == q), q < -(2.0**24)
    large, total = repeat(add, [select(is_pole | is_beyond, 1, q), q.like(0)], 2**25)
    z = 1 / (large * large)
    series = z.like(1)
    for number in range(5, 0, -1):
        step = s + 2 * number
        series = 1 - (step - 1) * step * z * _ZETA[number] * series
    power = _pow(large, -s)
    rest = power * (large / (s - 1) + 0.5 + s * _ZETA[0] / large * series)
    result = total + select(power > 1e-20 * total, rest, 0)
    result = select(q == math.inf, 0, result)
    result = select(is_beyond | ((q <= 0) & (_trunc(s) != s)), math.nan, result)
    result = select(is_pole, math.inf, result)
    result = select(s == 1, math.inf, select(s > 1, result, math.nan))
    return select(q == q, result, q)


def _of_half_turns(fraction: Value) -> tuple[Value, Value, Value]:
    """Sine and cosine of pi times a number of at most 1/4, and True if that is 1/2 minus the size of ``fraction``."""
    size = absolute(fraction)
    is_far = size > 0.25
    return *angles.near(select(is_far, 0.5 - size, size) * math.pi), is_far
