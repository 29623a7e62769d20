"""sin, cos and tan for GPUs, computed in float32 or float64 and integers.

NVIDIA's own functions reduce a large angle in float64, which many GPUs compute at 1/64 of their speed, using an array
in memory.  Here an angle is reduced to a quadrant and a remainder of at most pi/4: by three parts of pi/2 (Cody and
Waite, 1980), or, if it is large, by as many bits of 2/pi as matter (Payne and Hanek, 1983).  The polynomials were
fitted for this file by Remez' exchange in 200-bit arithmetic, minimising the relative error, and then rounded; comments
state the remaining error.  Rounding included, the errors of sin and cos stay below 2 units in the last place, those of
tan below 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from llvmlite import ir

from .instructions import Value, absolute, bits, either, fma, from_bits, horner, select


class TrigonometricFormat(NamedTuple):
    """A floating-point format, and the constants that approximate the functions in it."""

    mantissa: int  # bits stored
    bias: int  # of the exponent
    half_pi: tuple[float, float, float]  # pi/2 as a sum
    large: float  # angles from here on are reduced by the bits of 2/pi
    sin: tuple[float, ...]  # sin r = r + r z (c0 + c1 z + ...) for z = r^2, |r| <= pi/4
    cos: tuple[float, ...]  # cos r = 1 - z/2 + z^2 (c0 + c1 z + ...)
    tan: tuple[float, ...]  # tan r = r + r z (c0 + c1 z + ...)


_FLOAT32 = TrigonometricFormat(
    mantissa=23,
    bias=127,
    half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    large=1e5,
    sin=(-0.16666655, 0.0083321603, -0.00019515282),  # error 3.8e-9
    cos=(0.041666646, -0.0013887316, 2.4433157e-05),  # error 1.2e-10
    tan=(0.33333156, 0.133388, 0.053411208, 0.024430396, 0.0031195083, 0.0093856435),  # error 1.8e-8
)

_FLOAT64 = TrigonometricFormat(
    mantissa=52,
    bias=1023,
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    large=1e9,
    sin=(  # error 3.6e-18
        *(-0.1666666666666663, 0.008333333333322118, -0.00019841269829589495, 2.7557313621369663e-06),
        *(-2.5050747760237477e-08, 1.589622999999864e-10),
    ),
    cos=(  # error 5.6e-20
        *(0.041666666666666595, -0.0013888888888873056, 2.480158728885165e-05, -2.7557314179280636e-07),
        *(2.0875700839747033e-09, -1.1358536403971745e-11),
    ),
    tan=(  # error 1.2e-17
        *(0.3333333333333278, 0.13333333333414296, 0.0539682539268248, 0.02186948960524091, 0.008863219217043868),
        *(0.0035922886052930474, 0.0014547608219823713, 0.0005950528254266102, 0.00022241474748939662),
        *(0.00013645377165360265, -2.6285052393679923e-05, 8.935932583703542e-05, -4.482626421997188e-05),
        2.085113725396911e-05,
    ),
)

#: The first 1216 bits of 2/pi.
_TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73e"
    "e88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b7"
    "4f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab",
    16,
)


def _format(x: Value) -> TrigonometricFormat:
    return _FLOAT32 if x.size == 32 else _FLOAT64


def sin(x: Value) -> Value:
    """Sine of an angle in radians."""
    angle, quadrant = _reduced(x)
    return select(x == 0, x, _sine_at(near(angle), quadrant))


def cos(x: Value) -> Value:
    """Cosine of an angle in radians."""
    angle, quadrant = _reduced(x)
    return _sine_at(near(angle), quadrant + 1)


def sin_cos(x: Value) -> tuple[Value, Value]:
    """Sine and cosine of an angle in radians, reducing it once."""
    angle, quadrant = _reduced(x)
    parts = near(angle)
    return select(x == 0, x, _sine_at(parts, quadrant)), _sine_at(parts, quadrant + 1)


def tan(x: Value) -> Value:
    """Tangent of an angle in radians."""
    angle, quadrant = _reduced(x)
    z = angle * angle
    near = fma(angle * z, horner(z, _format(x).tan), angle)
    return select(x == 0, x, select((quadrant & 1) != 0, -1 / near, near))


def near(angle: Value) -> tuple[Value, Value]:
    """Return the sine and cosine of an angle of at most pi/4."""
    c, z = _format(angle), angle * angle
    return fma(angle * z, horner(z, c.sin), angle), fma(z * z, horner(z, c.cos), fma(z, -0.5, z.like(1)))


def _sine_at(near: tuple[Value, Value], quadrant: Value) -> Value:
    """Return the sine after this number of quarter turns."""
    sine, cosine = near
    chosen = select((quadrant & 1) != 0, cosine, sine)
    return from_bits(bits(chosen) ^ ((quadrant & 2) << (sine.size - 2)))


def _reduced(x: Value) -> tuple[Value, Value]:
    """Return the angle minus a number of quarter turns, and that number, whose last two bits matter."""
    size = absolute(x)
    # Large angles are seldom, and take long to reduce.
    angle, quadrant = either(
        size >= _format(x).large, lambda: _reduced_by_bits(x, size), lambda: _reduced_by_parts(x), likely=False
    )
    return select(size < float("inf"), angle, x - x), quadrant


def _reduced_by_parts(x: Value) -> tuple[Value, Value]:
    c = _format(x)
    rounder = 1.5 * 2.0**c.mantissa  # so large that a sum with it is whole, with its value in the lowest bits
    rounded = fma(x, 0.6366197723675814, x.like(rounder))
    count = rounded - rounder
    angle = x
    for part in c.half_pi:
        angle = fma(count, -part, angle)
    return angle, bits(rounded)


def _reduced_by_bits(x: Value, size: Value) -> tuple[Value, Value]:
    c, pattern, word = _format(x), bits(size), x.size
    whole = _wide((pattern & ((1 << c.mantissa) - 1)) | (1 << c.mantissa))
    # size = whole * 2**(exponent - mantissa).  Of the bits of 2/pi, preceded by a word of zeros, only the three words
    # at this position matter: earlier bits contribute whole turns, and later bits are below the precision that is kept.
    position = (pattern >> c.mantissa) - (c.bias + c.mantissa + 2 - word)
    shift = position & (word - 1)
    high, middle, low = [_wide(_joined(*pair, shift)) for pair in pairwise(_words(position >> (word.bit_length() - 1)))]
    product = ((whole * high) << word) + whole * middle + ((whole * low) >> word)
    unit = 2 * word - 2  # this bit of the product is a quarter turn
    quadrant = (product + (1 << (unit - 1))) >> unit
    fraction = product - (quadrant << unit)
    below = (fraction >> (2 * word - 1)) != 0
    angle = _scaled(select(below, 0 - fraction, fraction), c)
    negative = x < 0
    narrow = _narrow(quadrant)
    return select(negative ^ below, -angle, angle), select(negative, 0 - narrow, narrow)


def _scaled(fraction: Value, c: TrigonometricFormat) -> Value:
    """Convert a fraction of a quarter turn, in two words without the first two bits, to an angle."""
    builder, word = fraction.builder, fraction.size // 2
    float_type = ir.FloatType() if word == 32 else ir.DoubleType()
    excess = word - 3 - c.mantissa  # bits of the first word that a float cannot hold
    first = _narrow(fraction >> (word + excess))
    second = _narrow(fraction >> excess)
    head, tail = [Value(builder, builder.uitofp(part.value, float_type)) for part in (first, second)]
    head, tail = head * 2.0 ** (2 + excess - word), tail * 2.0 ** (2 + excess - 2 * word)
    half_pi, half_pi_rest, _ = c.half_pi
    product = head * half_pi
    error = fma(head, half_pi, -product)
    return product + fma(tail, half_pi, fma(head, half_pi_rest, error))


def _words(index: Value) -> list[Value]:
    """Return four words of 2/pi, preceded by a word of zeros, from number ``index`` on."""
    size, last = index.size, 4 if index.size == 32 else 16
    count = last + 4
    table = [(_TWO_OVER_PI >> (1216 - size * number)) & ((1 << size) - 1) for number in range(count)]
    words = [index.like(word) for word in table]
    step = last
    while step:  # one binary digit of the index at a time
        moved = (index & step) != 0
        left = 4 + step - 1
        words = [
            select(moved, words[number + step], words[number]) if number + step < len(words) else words[number]
            for number in range(min(left, len(words)))
        ]
        step //= 2
    return words


def _joined(first: Value, second: Value, shift: Value) -> Value:
    """Return the upper one of two words, shifted to the left by less than a word."""
    builder, size = first.builder, first.size
    upper = builder.shl(first.value, shift.value)
    lower = builder.lshr((second >> 1).value, ((size - 1) - shift).value)
    return Value(builder, builder.or_(upper, lower))


def _wide(n: Value) -> Value:
    """Extend an unsigned whole number to twice as many bits."""
    return Value(n.builder, n.builder.zext(n.value, ir.IntType(2 * n.size)))


def _narrow(n: Value) -> Value:
    """Return the lower half of a whole number."""
    return Value(n.builder, n.builder.trunc(n.value, ir.IntType(n.size // 2)))
