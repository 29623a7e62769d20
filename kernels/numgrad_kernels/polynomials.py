"""exp, log and their relatives as inline arithmetic without branches, in float32 and float64.

These are the hottest functions, and inline arithmetic is faster than any library call: LLVM puts them into the loop
that calls them and vectorises the whole. Every multiply-add to be fused is written as ``fma``, so that the scalar and
the vector form of a loop agree bit for bit.

The methods are the classical ones of argument reduction (Cody and Waite, *Software Manual for the Elementary
Functions*, 1980; Muller, *Elementary Functions*). The coefficients were fitted for this file by Remez' exchange in
300-bit arithmetic, minimising the relative error of the function, and then rounded; comments state the remaining error.
Rounding included, all errors stay below 2 units in the last place on a processor that multiplies and adds in one
instruction, below 3 elsewhere.
"""

from typing import NamedTuple

import numpy as np

from .instructions import Value, absolute, bits, copysign, fma, from_bits, horner, quotient, reciprocal, select


class ExponentialFormat(NamedTuple):
    """A floating-point format, and the constants that approximate the functions in it."""

    mantissa: int  # bits stored
    bias: int  # of the exponent
    sqrt_half: int  # the bits of sqrt(1/2)
    ln2: tuple[float, float]  # a sum whose first part is so short that its product with n is exact
    exp_range: tuple[float, float]  # e^x is 0 below and infinite above
    tanh_highest: float  # tanh x is 1 above
    expm1: tuple[float, ...]  # e^r = 1 + r + r^2 (c0 + c1 r + ...) for |r| <= ln(2) / 2
    log: tuple[float, ...]  # ln((1 + s) / (1 - s)) = 2 s + s z (c0 + c1 z + ...) for z = s^2, |s| <= 0.172


_FLOAT32 = ExponentialFormat(
    mantissa=23,
    bias=127,
    sqrt_half=0x3F3504F3,
    ln2=(0.693359375, -2.1219444e-4),
    exp_range=(-105.0, 89.0),
    tanh_highest=10.0,
    expm1=(0.49999997, 0.16666542, 0.041667204, 0.008366647, 0.00138825),  # error 1.7e-8 of e^r - 1
    log=(0.66666776, 0.39977482, 0.29873627),  # error 9.3e-10
)

_FLOAT64 = ExponentialFormat(
    mantissa=52,
    bias=1023,
    sqrt_half=0x3FE6A09E667F3BCD,
    ln2=(0.6931471803691238, 1.9082149292705877e-10),
    exp_range=(-746.0, 710.0),
    tanh_highest=20.0,
    expm1=(  # error 2.9e-17 of e^r - 1
        0.5000000000000006,
        0.16666666666666588,
        0.04166666666657538,
        0.008333333333390413,
        0.0013888888932051804,
        0.00019841269717604386,
        2.480150465036297e-05,
        2.755740821939119e-06,
        2.7626298782680966e-07,
        2.505377979283069e-08,
    ),
    log=(  # error 1.3e-18
        0.6666666666666735,
        0.39999999999409197,
        0.28571428743766725,
        0.22222198416280797,
        0.1818357323659427,
        0.15313804177183804,
        0.14798590906277911,
    ),
)


def _format(x: Value) -> ExponentialFormat:
    return _FLOAT32 if x.size == 32 else _FLOAT64


def exp(x: Value) -> Value:
    """e^x = 2^n e^r."""
    c = _format(x)
    lowest, highest = c.exp_range
    x = select(x > highest, highest, x)  # NaN passes
    x = select(x < lowest, lowest, x)
    # 2^n may be subnormal or exceed the largest float, so n is split between two factors.
    n, r_part = reduced(x, 2 * c.bias)
    first = n >> 1
    return (1 + r_part) * from_bits(first << c.mantissa) * from_bits((n - first) << c.mantissa)


def expm1(x: Value) -> Value:
    """e^x - 1 = 2^n (e^r - 1) + (2^n - 1), where the last difference is exact or does not matter."""
    c = _format(x)
    highest, lowest = c.exp_range[1], -2.0 * c.mantissa  # below the lowest it is -1
    within = select(x > highest, highest, x)
    within = select(within < lowest, lowest, within)
    n, r_part = reduced(within, c.bias - 1)  # half the power, since 2^n may be too large
    half = from_bits(n << c.mantissa)
    return copysign(2 * fma(half, r_part, half - 0.5), x)


def log(x: Value) -> Value:
    """ln x = k ln 2 + ln(1 + f)."""
    f, k = significand(x)
    result = select(x == np.inf, x, _log_of_parts(f, k))
    return select(x > 0, result, select(x == 0, x.like(-np.inf), np.nan))


def log1p(x: Value) -> Value:
    """ln(1 + x) = k ln 2 + ln(1 + f), as in ``log``, but with an f that has all the bits of x."""
    c = _format(x)
    f, k = significand(1 + x)
    # 1 + f = (1 + x) / 2^k. For large k the 1 does not matter.
    power = from_bits(bits(2.0**c.mantissa + c.bias - k) << c.mantissa)
    f = select(x < 2.0**c.mantissa, fma(x, power, power - 1), f)
    result = select(x == np.inf, x, copysign(_log_of_parts(f, k), x))
    return select(x > -1, result, select(x == -1, x.like(-np.inf), np.nan))


def log1p_rest(x: Value) -> Value:
    """x - ln(1 + x) for |x| <= 1/4, accurate near 0: f^2/2 - s (f^2/2 + ...)."""
    s = quotient(x, 2 + x)
    z = s * s
    half_square = 0.5 * x * x
    return half_square - s * fma(z, horner(z, _format(x).log), half_square)


def _log_of_parts(f: Value, k: Value) -> Value:
    """k ln 2 + ln(1 + f), where ln(1 + f) = f - f^2/2 + s (f^2/2 + ...) with s = f / (2 + f)."""
    c = _format(f)
    s = quotient(f, 2 + f)
    z = s * s
    half_square = 0.5 * f * f
    ln2_high, ln2_low = c.ln2
    low_part = fma(k, ln2_low, s * fma(z, horner(z, c.log), half_square))
    return fma(k, ln2_high, f - (half_square - low_part))


def tanh(x: Value) -> Value:
    """tanh |x| = (1 - w) / (1 + w) with w = e^-2|x| = 2^n e^r, whose numerator is accurate however small x is."""
    c = _format(x)
    doubled = 2 * absolute(x)
    doubled = select(doubled > 2 * c.tanh_highest, 2 * c.tanh_highest, doubled)
    n, r_part = reduced(-doubled, c.bias, x.size == 64)
    power = from_bits(n << c.mantissa)
    negative = fma(power, r_part, power - 1)
    if x.size == 32:
        return copysign(quotient(negative, fma(power, r_part, power + 1)), x)
    # Without the corrections, float64, unlike float32, is a little more than 2 units off in places.
    rest = fma(power, r_part, (power - 1) - negative)
    return copysign(_quotient(negative, fma(power, r_part, power), 1, rest), x)


def sigmoid(x: Value) -> Value:
    """1 / (1 + e^-x); for negative x e^x / (1 + e^x), so that nothing overflows."""
    c = _format(x)
    lowest = c.exp_range[0]
    exponent = -absolute(x)
    exponent = select(exponent < lowest, lowest, exponent)
    headroom = c.mantissa + 9  # 2^(n + headroom) is never subnormal
    n, r_part = reduced(exponent, c.bias + headroom)
    power = (1 + r_part) * from_bits(n << c.mantissa) * 2.0**-headroom
    return _quotient(select(x < 0, power, 1), power, 1)


def reduced(x: Value, bias: int, precise: bool = True) -> tuple[Value, Value]:
    """x = n ln 2 + r with a whole n, |r| <= ln(2) / 2: an integer whose low bits are n + bias, and e^r - 1.

    With the exponent's own bias, that integer shifted up by the mantissa's length is the float 2^n.  Unless the
    reduction is ``precise``, the error of r grows with n.
    """
    c = _format(x)
    ln2_high, ln2_low = c.ln2
    rounder = 1.5 * 2.0**c.mantissa + bias  # so large that a sum with it has no bits for a fraction
    rounded = fma(x, 1 / np.log(2), rounder)
    n = rounded - rounder
    r = fma(-n, ln2_low, fma(-n, ln2_high, x)) if precise else fma(-n, np.log(2), x)
    return bits(rounded), fma(r * r, horner(r, c.expm1), r)


def significand(x: Value) -> tuple[Value, Value]:
    """x = 2^k (1 + f) for positive x, sqrt(1/2) <= 1 + f < sqrt(2): f, exactly, and k."""
    c = _format(x)
    subnormal = x < 2.0 ** (1 - c.bias)
    normal = select(subnormal, x * 2.0**c.mantissa, x)
    above = bits(normal) + ((c.bias << c.mantissa) - c.sqrt_half)
    f = from_bits((above & ((1 << c.mantissa) - 1)) + c.sqrt_half) - 1
    # The biased exponent, put into the mantissa of 2^mantissa, adds a whole number to it.
    counter = 2.0**c.mantissa
    exponent = from_bits(above >> c.mantissa | ((c.bias + c.mantissa) << c.mantissa))
    zero = x.like(counter + c.bias)
    return f, exponent - select(subnormal, zero + c.mantissa, zero)


def _quotient(numerator: Value, low: Value, high: float, more: Value | None = None) -> Value:
    """(numerator + more) / (low + high) for |low| <= |high|, corrected for the rounding of the sum and the division."""
    denominator = low + high
    lost = low - (denominator - high)
    inverse = reciprocal(denominator)
    result = numerator * inverse
    remainder = fma(-result, denominator, numerator)
    remainder = fma(-result, lost, remainder if more is None else remainder + more)
    return fma(remainder, inverse, result)
