"""erf, erfc and pow of float32 as inline arithmetic without branches, like exp and log in ``polynomials``.

The coefficients were fitted for this file by Remez' exchange in 200-bit arithmetic, minimising the relative error of
the function, and then rounded; comments state the remaining error. Rounding included, the error of erf stays below 2
units in the last place, that of pow below 3 and that of erfc below 4.
"""

import numpy as np

from .instructions import (
    Value,
    absolute,
    bits,
    copysign,
    fma,
    from_bits,
    horner,
    instruction,
    product_rest,
    quotient,
    reciprocal,
    select,
)
from .polynomials import exp, reduced, significand

_trunc = instruction("llvm.trunc")

# erf x = x + x (c0 + c1 z + ...) for z = x^2, |x| <= 7/8; error 8.5e-9
_ERF = (0.12837915, -0.3761255, 0.11282455, -0.026791464, 0.0050321836, -0.00062032634)

# -ln erfc x = c0 + c1 x + ... for 7/8 <= x <= 4; error 7.0e-9 of erf x
_MINUS_LOG_ERFC = (
    *(0.0001442112, 1.1278894, 0.6368207, 0.1042502),
    *(-0.02238103, 0.003081996, -0.00019990138),
)

# erfc x = e^(-x^2) t (c0 + c1 t + ...) for t = 1 / (1 + 0.4 x), 0 <= x <= 10.1; error 8.1e-9
_ERFC = (
    *(0.22570622, 0.22496533, 0.21480857, 0.13019507, 0.27057618),
    *(-0.2815925, 0.5441021, -0.49631354, 0.19695158, -0.029398972),
)

# log2((1 + s) / (1 - s)) = s (2 / ln 2 + c0 z + c1 z^2 + ...) for z = s^2, |s| <= 0.1716; error 4.8e-12
_LOG2 = (0.9617967, 0.5770829, 0.411706, 0.34022504)
_TWO_LOG2_E = (2.88539, 3.851926e-8)  # 2 / ln 2, as a sum

# 2^r = 1 + r (c0 + c1 r + ...) for |r| <= 1/2; error 2.3e-10 of 2^r - 1
_EXP2 = (0.6931472, 0.2402265, 0.055504106, 0.009618057, 0.001333367, 0.0001546133, 1.5252695e-5)


def erf(x: Value) -> Value:
    """The error function: a polynomial near 0, 1 - e^-p with another polynomial p elsewhere."""
    size = absolute(x)
    near = fma(x, horner(x * x, _ERF), x)
    n, r_part = reduced(-horner(select(size > 4, 4, size), _MINUS_LOG_ERFC), 127, precise=False)
    power = from_bits(n << 23)
    return select(size < 0.875, near, copysign(fma(power, r_part, power - 1), x))


def erfc(x: Value) -> Value:
    """1 - erf x, which is 2 - erfc(-x) for negative x."""
    result = _erfc_of_size(x)
    return select(x < 0, 2 - result, result)


def _erfc_of_size(x: Value) -> Value:
    """erfc |x|."""
    # In this form LLVM merges the power with the one in the derivative.
    minus_x = -x
    exponent = x * minus_x
    error = product_rest(x, minus_x, exponent)
    d = fma(absolute(x), 0.4, x.like(1))
    t = quotient(d.like(1), d)
    power = exp(exponent)
    result = power * (t * horner(t, _ERFC))
    # 1 / (t d) - 1, including the rounding error of d; the result is about proportional to the square of t.
    product = t * d
    t_rest = (1 - product) - product_rest(t, d, product) - t * fma(absolute(x), 0.4, 1 - d)
    better = fma(fma(t_rest, 2, error), result, result)
    return select(exponent > -128, better, power)  # beyond, both are 0 or NaN, but on a GPU t may be NaN for infinity


def pow(x: Value, y: Value) -> Value:
    """x^y = 2^(y log2 x), as C's ``pow`` in all special cases."""
    size = absolute(x)
    high, low = _log2(size)
    exponent = y * high
    low_part = fma(y, low, product_rest(y, high, exponent))
    beyond = absolute(exponent) >= 200  # where the power is 0 or infinite
    exponent = select(beyond, copysign(exponent.like(200), exponent), exponent)
    low_part = select(beyond, 0, low_part)
    bias, mantissa = 127, 23
    rounder = 1.5 * 2.0**mantissa + 2 * bias  # so large that a sum with it has no bits for a fraction
    rounded = exponent + rounder
    r = (exponent - (rounded - rounder)) + low_part
    # 2^n may be subnormal or exceed the largest float, so n is split between two factors.
    n = bits(rounded)
    first = n >> 1
    power = fma(r, horner(r, _EXP2), r.like(1)) * from_bits(first << mantissa) * from_bits((n - first) << mantissa)

    half = 0.5 * y
    odd = (_trunc(y) == y) & (_trunc(half) != half)
    power = select(odd, copysign(power, x), power)
    power = select((x < 0) & (_trunc(y) != y) & (size < np.inf), np.nan, power)
    is_one = (x == 1) | (y == 0) | ((x == -1) & (absolute(y) == np.inf))
    return select(is_one, 1, power)


def _log2(x: Value) -> tuple[Value, Value]:
    """log2 x of a positive x as a sum that is 8 bits more precise than a float."""
    f, k = significand(x)
    # s = f / (2 + f), also as a sum
    denominator = 2 + f
    lost = f - (denominator - 2)
    inverse = reciprocal(denominator)
    s = f * inverse
    product = s * denominator
    s_low = ((f - product) - product_rest(s, denominator, product) - s * lost) * inverse
    factor, factor_low = _TWO_LOG2_E
    line = factor * s
    line_low = product_rest(s, factor, line) + fma(s_low, factor, s * factor_low)
    z = s * s
    curve = s * z * horner(z, _LOG2)
    first = k + line
    high = first + curve
    low = (line - (first - k)) + (curve - (high - first)) + line_low
    return select(x == 0, -np.inf, select(x < np.inf, high, x)), low
