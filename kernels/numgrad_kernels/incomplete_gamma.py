"""The incomplete gamma functions and the derivative of a gamma variable with respect to its shape, for ``@njit`` code.

P(a, x) and Q(a, x) are the probabilities that a standard gamma variable of shape a is below or above x.  There are
three methods (Gil, Segura and Temme, "Efficient and accurate algorithms for the computation and inversion of the
incomplete gamma function ratios", *SIAM Journal on Scientific Computing* 34, 2012; *NIST Digital Library of
Mathematical Functions*, 8.7, 8.9 and 8.12): the power series for x up to a, the continued fraction for larger x, and
Temme's uniform expansion if a is large and x near a.

Their derivatives with respect to a are those of the same sums: the sums are computed in dual numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import gamma, libm, polynomials, polynomials32
from .instructions import Value, absolute, copysign, either, instruction, repeat, select

_sqrt, _trunc = instruction("llvm.sqrt"), instruction("llvm.trunc")
_erfc = libm.by_size(polynomials32.erfc, "erfc")

#: Temme's expansion is used for a above ``_LARGE`` and |x - a| below ``_NEAR`` * a.
_LARGE, _NEAR = 20, 0.4

#: Elsewhere the power series has fewer terms than this.
MOST_ROUNDS = 5000

#: eta / (lambda - 1) = c0 + c1 eta + ... for eta^2 / 2 = lambda - 1 - ln lambda; computed from the series of lambda,
#: which satisfies (lambda - 1) lambda' = eta lambda.
_TEMME = (
    *(1.0, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073),
    *(0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06),
    *(-1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09),
    *(1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11),
    *(-5.830772132550426e-11, 2.4361948020667415e-11, -5.0276692801141755e-12, 1.1004392031956135e-13),
    *(3.371763262400985e-13, -1.392388722418162e-13, 2.8534893807447045e-14, -5.139111834242572e-16),
)


class Dual:
    """A value and its derivative."""

    def __init__(self, value: Any, slope: Any = 0.0):
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Dual:
        other = _dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Any) -> Dual:
        other = _dual(other)
        return Dual(self.value - other.value, self.slope - other.slope)

    def __rsub__(self, other: Any) -> Dual:
        return _dual(other) - self

    def __mul__(self, other: Any) -> Dual:
        other = _dual(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __truediv__(self, other: Any) -> Dual:
        other = _dual(other)
        quotient = self.value / other.value
        return Dual(quotient, (self.slope - quotient * other.slope) / other.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return _dual(other) / self

    __radd__, __rmul__ = __add__, __mul__


def _dual(x: Any) -> Dual:
    return x if isinstance(x, Dual) else Dual(x)


def gammainc(a: Value, x: Value) -> Value:
    """P(a, x)."""
    below, _ = _probabilities(a, x)
    result = select(x == 0, 0, select(a == 0, 1, below))
    return _at_the_edges(a, x, select(a == math.inf, 0, select(x == math.inf, 1, result)))


def gammaincc(a: Value, x: Value) -> Value:
    """Q(a, x) = 1 - P(a, x)."""
    _, above = _probabilities(a, x)
    result = select(x == 0, 1, select(a == 0, 0, above))
    return _at_the_edges(a, x, select(a == math.inf, 1, select(x == math.inf, 0, result)))


def gamma_slope(a: Value, x: Value) -> Value:
    """dx/da of a standard gamma variable x of shape a that is a fixed quantile: -(dP/da) / (dP/dx)."""
    (slope,) = _by_method(a, x, _slope_near, _slope_by_series, _slope_by_fraction)
    return select((a > 0) & (x > 0) & (x < math.inf), slope, select((a > 0) & (x == 0), x, math.nan))


def _at_the_edges(a: Value, x: Value, result: Value) -> Value:
    undefined = ((a == 0) & (x == 0)) | ((a == math.inf) & (x == math.inf))
    return select((a >= 0) & (x >= 0) & (undefined == 0), result, math.nan)


def _probabilities(a: Value, x: Value) -> Sequence[Value]:
    return _by_method(a, x, _probabilities_near, _probabilities_by_series, _probabilities_by_fraction)


_Method = Callable[[Value, Value], Sequence[Value]]


def _by_method(a: Value, x: Value, near: _Method, series: _Method, fraction: _Method) -> Sequence[Value]:
    is_near = (a > _LARGE) & (absolute(x - a) < _NEAR * a)
    below = (x <= 1) | (x <= a)
    return either(is_near, lambda: near(a, x), lambda: either(below, lambda: series(a, x), lambda: fraction(a, x)))


# -- power series: P = x^a e^-x / Gamma(a + 1) * sum of x^n / ((a + 1) ... (a + n))


def _probabilities_by_series(a: Value, x: Value) -> Sequence[Value]:
    below = _density(a, x) * _series(a, x)
    # For small a and x, P = x^a / Gamma(a + 1) (1 + a sum of (-x)^n / (n! (a + n))), which may be near 1.
    exponent = a * polynomials.log(x) - _lgamma_next(a)
    alternating = polynomials.exp(exponent) * a * _alternating_series(a, x)
    above = select((x <= 1) & (a <= 1), -polynomials.expm1(exponent) - alternating, 1 - below)
    return below, above


def _alternating_series(a: Value, x: Value) -> Value:
    def step(number: Value, power: Value, total: Value) -> Any:
        power = power * -x / number
        term = power / (a + number)
        return (number + 1, power, total + term), absolute(term) > epsilon(x) * absolute(total)

    return repeat(step, (x.like(1), x.like(1), x.like(0)), 40)[2]


def _slope_by_series(a: Value, x: Value) -> Sequence[Value]:
    total = _series(Dual(a, a.like(1)), x)
    return ((-x / a) * (total.value * (polynomials.log(x) - gamma.digamma_above_0(a + 1)) + total.slope),)


def _series(a: Any, x: Value) -> Any:
    def step(number: Value, *parts: Value) -> Any:
        term, total = _packed(parts[: len(parts) // 2]), _packed(parts[len(parts) // 2 :])
        term = term * x / (a + number)
        total = term + total
        again = absolute(_size(term)) > epsilon(x) * absolute(_size(total))
        return (number + 1, *_unpacked(term), *_unpacked(total)), again

    one = _unpacked(a * 0.0 + 1)
    values = repeat(step, (x.like(1), *one, *one), MOST_ROUNDS)
    return _packed(values[len(one) + 1 :])


# -- continued fraction: Q = x^a e^-x / Gamma(a) / (x + 1 - a + 1 (a - 1) / (x + 3 - a + 2 (a - 2) / ...))


def _probabilities_by_fraction(a: Value, x: Value) -> Sequence[Value]:
    above = _density(a, x) * a * _fraction(a, x)
    return 1 - above, above


def _slope_by_fraction(a: Value, x: Value) -> Sequence[Value]:
    inverse = _fraction(Dual(a, a.like(1)), x)
    return (x * (inverse.value * (polynomials.log(x) - gamma.digamma_above_0(a)) + inverse.slope),)


def _fraction(a: Any, x: Value) -> Any:
    """The inverse of the continued fraction, from its innermost part on, of as many parts as matter for x >= 1."""

    def step(number: Value, *divisor: Value) -> Any:
        divisor = number * (a - number) / _packed(divisor) + (2 * number - 1) + x - a
        return (number - 1, *_unpacked(divisor)), number > 1.5

    count = _trunc(22 / x + 14 if x.size == 32 else 90 / x + 25)
    _, *divisor = repeat(step, (count, *_unpacked((2 * count + 1) + (x - a))), MOST_ROUNDS)
    return 1 / _packed(divisor)


# -- uniform expansion: Q = erfc(eta sqrt(a / 2)) / 2 + e^(-a eta^2 / 2) / sqrt(2 pi a) * sum of c_n eta^n


def _probabilities_near(a: Value, x: Value) -> Sequence[Value]:
    eta, exponent = _eta(a, x)
    rest = polynomials.exp(-a * exponent) / _sqrt(2 * math.pi * a) * _uniform_sum(a, eta)[0]
    bound = eta * _sqrt(0.5 * a)
    return 0.5 * _erfc(-bound) - rest, 0.5 * _erfc(bound) + rest


def _slope_near(a: Value, x: Value) -> Sequence[Value]:
    eta, _ = _eta(a, x)
    distance = (x - a) / a
    ratio = select(eta == 0, 1, distance / eta)
    total, factor = _uniform_sum(Dual(a, a.like(1)), Dual(eta, -ratio / a))
    log = polynomials.log1p(distance)
    line = ratio - 0.5 * eta + (log - 0.5 / a) * total.value + total.slope
    return (x / a * factor.value * line,)


def _eta(a: Value, x: Value) -> tuple[Value, Value]:
    """The number with the sign of x - a and eta^2 / 2 = x / a - 1 - ln(x / a), and that half square."""
    exponent = _half_square(a, x)
    return copysign(_sqrt(2 * exponent), x - a), exponent


def _uniform_sum(a: Any, eta: Any) -> tuple[Any, Any]:
    """The sum of c_n eta^n, and the quotient of Gamma(a) and its approximation by Stirling's formula."""
    inverse = 1 / a
    upper: Any = _TEMME[-1] + 0.0 * inverse
    current: Any = _TEMME[-2] + 0.0 * inverse
    total = current + upper * eta
    for number in range(len(_TEMME) - 3, 0, -1):
        current, upper = _TEMME[number] + (number + 1) * upper * inverse, current
        total = current + total * eta
    factor = 1 + upper * inverse
    return total / factor, factor


# -- parts


def _density(a: Value, x: Value) -> Value:
    """x^a e^-x / Gamma(a + 1)."""
    exponent = -a * _half_square(a, x) - gamma.stirling_rest(a)
    large = polynomials.exp(exponent) / _sqrt(2 * math.pi * a)
    small = polynomials.exp(a * polynomials.log(x) - x - _lgamma_next(a))
    return select(a > 10, large, small)


def _lgamma_next(a: Value) -> Value:
    """ln Gamma(a + 1) for a > 0."""
    return select(a < 1, gamma.lgamma1p(a), gamma.lgamma(a + 1))


def _half_square(a: Value, x: Value) -> Value:
    """x / a - 1 - ln(x / a), accurate for x near a."""
    distance, quotient = (x - a) / a, x / a
    is_near = absolute(distance) < 0.25
    return select(is_near, polynomials.log1p_rest(distance), (quotient - 1) - polynomials.log(quotient))


def epsilon(x: Value) -> float:
    return 2.0**-26 if x.size == 32 else 2.0**-56


def _size(x: Any) -> Value:
    return x.value if isinstance(x, Dual) else x


def _unpacked(x: Any) -> Sequence[Value]:
    """The parts of a value or dual number, which are the values that a loop replaces."""
    return (x.value, x.slope) if isinstance(x, Dual) else (x,)


def _packed(parts: Sequence[Value]) -> Any:
    return Dual(*parts) if len(parts) == 2 else parts[0]
