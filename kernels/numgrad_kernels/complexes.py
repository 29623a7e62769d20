"""Functions of complex numbers, composed of functions of real ones.

They serve CPUs and GPUs: Numba has none for GPUs, and those for CPUs lose infinities, overflow and round carelessly.

A number is a pair of values, its real and its imaginary part.  The branch cuts are NumPy's, and the sign of a zero
determines on which side of a cut a number lies.  Intermediate results do not overflow unless the result does.  Infinite
parts give the results of C's functions (C11, Annex G), except that the sign of a zero or of an infinity that C leaves
open may differ.

Unless stated otherwise, the formulas are Kahan's (*Branch cuts for complex elementary functions, or much ado about
nothing's sign bit*, 1987), without the branches that a processor would take.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from . import libm, polynomials, polynomials32
from .angles import sin_cos
from .instructions import Value, absolute, copysign, instruction, select

Pair = tuple[Value, Value]

_INF = math.inf

_atan2, _hypot = libm.function("atan2"), libm.function("hypot")
_asinh, _sinh, _cosh = libm.function("asinh"), libm.function("sinh"), libm.function("cosh")
_real_exp2 = libm.function("exp2")
_real_sqrt = instruction("llvm.sqrt")


def _real_pow(x: Value, y: Value) -> Value:
    return polynomials32.pow(x, y) if x.size == 32 else libm.function("pow")(x, y)


def _greatest(x: Value) -> int:
    """The exponent above which numbers are nearly too large; below its negative, they are nearly subnormal."""
    return 120 if x.size == 32 else 1000


def _precision(x: Value) -> int:
    """The number of bits of a float's significand."""
    return 24 if x.size == 32 else 53


def _infinite(z: Pair) -> Value:
    """True if a part is infinite."""
    return (absolute(z[0]) == _INF) | (absolute(z[1]) == _INF)


def _larger_first(a: Value, b: Value) -> Pair:
    """The magnitudes of two numbers, the larger first; in any order if one is NaN."""
    a, b = absolute(a), absolute(b)
    ordered = b <= a
    return select(ordered, a, b), select(ordered, b, a)


def _scaling(a: Value, b: Value) -> tuple[Value, Value]:
    """An exponent of two, as a number, and its power, which scales the larger number to a moderate size."""
    largest, _ = _larger_first(a, b)
    huge, tiny = largest > 2.0 ** _greatest(a), largest < 2.0 ** -_greatest(a)
    step = 2 * _precision(a)
    exponent = select(huge, a.like(-step), select(tiny, a.like(step), a.like(0)))
    power = select(huge, a.like(2.0**-step), select(tiny, a.like(2.0**step), a.like(1)))
    return exponent, power


# --- parts and quotients


def magnitude(z: Pair) -> Value:
    """The distance from zero; infinite if a part is infinite."""
    return _hypot(*z)


def angle(z: Pair) -> Value:
    """The angle in the plane, from -pi to pi."""
    return _atan2(z[1], z[0])


def divide(z: Pair, w: Pair) -> Pair:
    """z / w by Smith's algorithm (1962), with numbers of extreme size scaled first; zero divides each part."""
    (_, grown), (_, shrunk) = _scaling(*z), _scaling(*w)
    (a, b), (c, d) = (z[0] * grown, z[1] * grown), (w[0] * shrunk, w[1] * shrunk)
    back = shrunk / grown
    size, part = absolute(c), absolute(d)
    swapped = size < part
    large, small = select(swapped, d, c), select(swapped, c, d)
    first, second = select(swapped, b, a), select(swapped, a, b)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    imaginary = (second - first * ratio) * scale
    zero = (size == 0) & (part == 0)
    return (
        select(zero, a / size, (first + second * ratio) * scale * back),
        select(zero, b / size, select(swapped, -imaginary, imaginary) * back),
    )


# --- powers and exponentials


def sqrt(z: Pair) -> Pair:
    """The square root whose real part is not negative."""
    a, b = z
    largest, _ = _larger_first(a, b)
    huge, tiny = largest > 2.0 ** _greatest(a), largest < 2.0 ** -_greatest(a)
    precision = _precision(a) + (_precision(a) & 1)
    scale = select(huge, a.like(0.25), select(tiny, a.like(2.0**precision), a.like(1)))
    back = select(huge, a.like(2), select(tiny, a.like(2.0 ** (-precision // 2)), a.like(1)))
    a_scaled, b_scaled = a * scale, b * scale
    size = absolute(a_scaled)
    root = _real_sqrt(0.5 * (size + _hypot(size, b_scaled)))
    other = 0.5 * absolute(b_scaled) / root
    negative = a < 0
    real, imaginary = select(negative, other, root) * back, select(negative, root, other) * back
    zero = (a == 0) & (b == 0)
    real, imaginary = select(zero, 0, real), select(zero, 0, imaginary)
    # infinite numbers
    real, imaginary = select(a == _INF, a, real), select((a == _INF) & (b == b), 0, imaginary)
    real, imaginary = select((a == -_INF) & (b == b), 0, real), select(a == -_INF, -a, imaginary)
    infinite = absolute(b) == _INF
    real, imaginary = select(infinite, absolute(b), real), select(infinite, absolute(b), imaginary)
    return real, copysign(imaginary, b)


def rsqrt(z: Pair) -> Pair:
    """1 / sqrt(z)."""
    return divide(_unit(z), sqrt(z))


def _unit(z: Pair) -> Pair:
    return z[0].like(1), z[0].like(0)


def _grown(power: Callable[[Value], Value], a: Value, angle: Value) -> Pair:
    """A power of a, turned by the angle: in two steps, since the power may overflow although the result does not."""
    half = power(0.5 * a)
    whole = power(a)
    sine, cosine = sin_cos(angle)
    extreme = (whole == _INF) | (whole == 0)
    first, second = select(extreme, half, whole), select(extreme, half, 1)
    real, imaginary = cosine * first * second, sine * first * second
    is_known = (absolute(angle) < _INF) | (absolute(a) < _INF)  # if neither is finite, only the size is known
    real = select(is_known, real, whole)
    imaginary = select(is_known, imaginary, select(whole == 0, whole, sine))
    return real, select(angle == 0, angle, imaginary)


def exp(z: Pair) -> Pair:
    """e to the power z: e^a (cos b + i sin b)."""
    return _grown(polynomials.exp, *z)


def exp2(z: Pair) -> Pair:
    """2 to the power z."""
    return _grown(_real_exp2, z[0], z[1] * math.log(2))


def expm1(z: Pair) -> Pair:
    """e to the power z, minus 1: with e^a cos b - 1 = (e^a - 1) cos b - 2 sin(b/2)^2, accurate for small z."""
    a, b = z
    _, cosine = sin_cos(b)
    half, _ = sin_cos(0.5 * b)
    real, imaginary = exp(z)
    near = absolute(a) < 1
    return select(near, polynomials.expm1(a) * cosine - 2 * half * half, real - 1), imaginary


def sigmoid(z: Pair) -> Pair:
    """1 / (1 + e^-z); e^z / (1 + e^z) if the real part is negative, so that nothing overflows."""
    a, b = z
    real, imaginary = exp((-absolute(a), select(a < 0, b, -b)))
    below = 1 + real, imaginary
    unit, zero = _unit(z)
    return divide((select(a < 0, real, unit), select(a < 0, imaginary, zero)), below)


def signed_like(z: Pair, w: Pair) -> Pair:
    """z, or -z if the real part of w is negative or -0."""
    (a, b), (c, _) = z, w
    sign = copysign(c.like(1), c)
    return sign * a, sign * b


def pow(z: Pair, w: Pair) -> Pair:
    """z to the power w = c + i d: of magnitude |z|^c e^(-d t) at the angle c t + d log |z|, with t the angle of z.

    0 to a power with a positive real part is 0, and any number to the power 0 is 1.
    """
    (a, b), (c, d) = z, w
    size, angle = _hypot(a, b), _atan2(b, a)
    real_exponent = d == 0
    logarithm, _ = log(z)
    magnitude = _real_pow(size, c) * select(real_exponent, 1, polynomials.exp(-d * angle))
    sine, cosine = sin_cos(c * angle + select(real_exponent, 0, d * logarithm))
    real, imaginary = magnitude * cosine, magnitude * sine
    none = size == 0
    of_zero = select(c > 0, c.like(0), math.nan)
    is_one = (c == 0) & real_exponent
    real, imaginary = select(none, of_zero, real), select(none, of_zero, imaginary)
    return select(is_one, 1, real), select(is_one, 0, imaginary)


# --- logarithms


def log(z: Pair) -> Pair:
    """log |z| + i angle(z); near |z| = 1 by log1p of |z|^2 - 1."""
    a, b = z
    large, small = _larger_first(a, b)
    exponent, power = _scaling(a, b)
    size = _hypot(a * power, b * power)
    far = polynomials.log(size) - exponent * math.log(2)
    near = 0.5 * polynomials.log1p((large - 1) * (large + 1) + small * small)
    return select((size > 0.5) & (size < 2) & (exponent == 0), near, far), _atan2(b, a)


def _logarithm(base: float) -> Callable[[Pair], Pair]:
    def logarithm(z: Pair) -> Pair:
        real, imaginary = log(z)
        return real * (1 / math.log(base)), imaginary * (1 / math.log(base))

    return logarithm


log2, log10 = _logarithm(2), _logarithm(10)


def log1p(z: Pair) -> Pair:
    """log(1 + z), accurate for small z: |1 + z|^2 - 1 = a (a + 2) + b^2."""
    a, b = z
    large, _ = _larger_first(a, b)
    real, imaginary = log((1 + a, b))
    near = 0.5 * polynomials.log1p(a * (a + 2) + b * b)
    return select(large < 0.5, near, real), imaginary


# --- circular and hyperbolic functions


def sinh(z: Pair) -> Pair:
    """sinh a cos b + i cosh a sin b."""
    real, imaginary = _hyperbolic(z, _sinh, _cosh)
    a, b = z
    return select((a == 0) & (b - b != 0), a, real), select(b == 0, b, imaginary)


def cosh(z: Pair) -> Pair:
    """cosh a cos b + i sinh a sin b."""
    a, b = z
    real, imaginary = _hyperbolic(z, _cosh, _sinh)
    signed = b * copysign(a.like(1), a)
    return real, select(b == 0, signed, select((a == 0) & (b - b != 0), a, imaginary))


def _hyperbolic(z: Pair, first: Callable[..., Value], second: Callable[..., Value]) -> Pair:
    """The first function of a times cos b, the second times sin b, in two steps if they are too large."""
    a, b = z
    sine, cosine = sin_cos(b)
    of_first, of_second = first(a), second(a)
    half = polynomials.exp(0.5 * absolute(a))
    extreme = absolute(of_first) == _INF
    real = select(extreme, copysign(half, of_first) * cosine * (0.5 * half), of_first * cosine)
    imaginary = select(extreme, copysign(half, of_second) * sine * (0.5 * half), of_second * sine)
    unclear = (absolute(a) == _INF) & (b - b != 0)
    return select(unclear, of_first, real), imaginary


def tanh(z: Pair) -> Pair:
    """(sinh a cosh a + i sin b cos b) / (sinh(a)^2 + cos(b)^2); for large a 1 + 4 i sin b cos b e^(-2 a)."""
    a, b = z
    size = absolute(a)
    far = size > (15 if a.size == 32 else 25)
    within = select(far, a.like(0), a)
    sine, cosine = sin_cos(b)
    hyperbolic = _sinh(within)
    below = hyperbolic * hyperbolic + cosine * cosine
    shrunk = polynomials.exp(-size)
    real = select(far, copysign(a.like(1), a), hyperbolic * _cosh(within) / below)
    imaginary = sine * cosine * select(far, 4 * shrunk * shrunk, 1 / below)
    unclear = b - b != 0
    real = select(a == 0, a, select(unclear & (size < _INF), math.nan, real))
    return real, select(b == 0, b, select(unclear & (size == _INF), 0, imaginary))


def _of_rotated(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """-i f(i z), which turns sinh into sin and vice versa."""

    def rotated(z: Pair) -> Pair:
        real, imaginary = function((-z[1], z[0]))
        return imaginary, -real

    return rotated


sin, tan = _of_rotated(sinh), _of_rotated(tanh)


def cos(z: Pair) -> Pair:
    """cosh(i z)."""
    return cosh((-z[1], z[0]))


def tan_slope(z: Pair, _: Pair) -> Pair:
    """1 / cos(z)^2; imaginary parts beyond 40 are replaced by 40, which changes the result by a known factor."""
    a, b = z
    size = absolute(b)
    near = select(size < 40, b, copysign(b.like(40), b))
    c, d = divide(_unit(z), cos((a, near)))
    factor = polynomials.exp(2 * (absolute(near) - size))
    return (c - d) * (c + d) * factor, 2 * c * d * factor


# --- inverses of circular and hyperbolic functions


def _roots(z: Pair) -> tuple[Pair, Pair]:
    """The square roots of 1 - z and of 1 + z."""
    a, b = z
    return sqrt((1 - a, -b)), sqrt((1 + a, b))


def _beyond(z: Pair) -> tuple[Value, Value]:
    """True if z is so large that adding 1 to its square makes no difference, and log |2 z| for that case."""
    a, b = z
    large, _ = _larger_first(a, b)
    real, _ = log(z)
    return (large > 2.0 ** _precision(a)) | _infinite(z), real + math.log(2)


def asin(z: Pair) -> Pair:
    """The angle whose sine is z: cut beyond -1 and 1 on the real line."""
    a, b = z
    (c, d), (e, f) = _roots(z)
    beyond, logarithm = _beyond(z)
    real = select(beyond, copysign(_atan2(absolute(a), absolute(b)), a), _atan2(a, c * e - d * f))
    imaginary = select(beyond, logarithm, absolute(_asinh(c * f - d * e)))
    return select(a == 0, a, real), copysign(imaginary, b)


def acos(z: Pair) -> Pair:
    """The angle whose cosine is z: cut as asin."""
    a, b = z
    (c, d), (e, f) = _roots(z)
    beyond, logarithm = _beyond(z)
    real = select(beyond, _atan2(absolute(b), a), 2 * _atan2(c, e))
    imaginary = select(beyond, logarithm, absolute(_asinh(e * d - f * c)))
    return select(a == 0, math.pi / 2, real), copysign(imaginary, -b)


def acosh(z: Pair) -> Pair:
    """The number whose hyperbolic cosine is z: i acos(z) or -i acos(z), whose real part is not negative."""
    real, imaginary = acos(z)
    return absolute(imaginary), copysign(real, z[1])


def atanh(z: Pair) -> Pair:
    """The number whose hyperbolic tangent is z: cut beyond -1 and 1 on the real line."""
    a, b = z
    size = absolute(a)
    large, _ = _larger_first(a, b)
    beyond = (large > 2.0 ** _precision(a)) | _infinite(z)
    distance = _hypot(a, b)
    below = (1 - size) * (1 - size) + b * b
    real = 0.25 * polynomials.log1p(4 * size / below)
    # near 1, where b^2 may be 0 although b is not
    at_one = 0.25 * polynomials.log(4 + b * b) - 0.5 * polynomials.log(absolute(b))
    real = select((size == 1) & (absolute(b) < 1), at_one, real)
    real = select(beyond, select(distance == _INF, 0, size / distance / distance), real)
    imaginary = 0.5 * _atan2(2 * b, (1 - size) * (1 + size) - b * b)
    quarter = select((b == b) & ((a == a) | (absolute(b) == _INF)), copysign(b.like(math.pi / 2), b), math.nan)
    imaginary = select(beyond, quarter, imaginary)
    return select(a == 0, a, copysign(real, a)), select((size == 1) & (b == 0), b, imaginary)


def _of_exchanged(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """-i f(i z) for asin and atanh: their symmetry makes it enough to exchange the parts before and after f."""

    def exchanged(z: Pair) -> Pair:
        real, imaginary = function((z[1], z[0]))
        return imaginary, real

    return exchanged


asinh, atan = _of_exchanged(asin), _of_exchanged(atanh)
