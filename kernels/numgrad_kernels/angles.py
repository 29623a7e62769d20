"""sin, cos and tan of float32 in float32 and whole numbers, for GPUs.

NVIDIA's own multiply in float64 where they reduce a large angle, which many GPUs do at a 64th of their speed.  An angle
is reduced to a quadrant and the rest, at most pi/4: below 10**5 by three parts of pi/2 (Cody and Waite, 1980), beyond
by as many bits of 2/pi as matter (Payne and Hanek, 1983).  The polynomials were fitted for this file by Remez' exchange
in 200-bit arithmetic, minimising the relative error, and then rounded; the error that remains stands beside them.
Rounding included, sin and cos stay below 3 units in the last place, tan below 4.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from llvmlite import ir

from .instructions import Value, absolute, bits, fma, from_bits, horner, select

__all__ = ["cos", "sin", "tan"]

# sin r = r + r z (c0 + c1 z + ...) for z = r^2, |r| <= pi/4; error 3.8e-9
_SIN = (-0.16666655, 0.0083321603, -0.00019515282)

# cos r = 1 - z/2 + z^2 (c0 + c1 z + ...); error 1.2e-10
_COS = (0.041666646, -0.0013887316, 2.4433157e-05)

# tan r = r + r z (c0 + c1 z + ...); error 1.8e-8
_TAN = (0.33333156, 0.133388, 0.053411208, 0.024430396, 0.0031195083, 0.0093856435)

#: pi/2 as a sum.
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)

#: 2/pi in pieces of 32 bits, after 32 zeros.
_TWO_OVER_PI = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)

#: Adding it rounds to a whole number, which then stands in the lowest bits.
_ROUNDING = 12582912.0

#: Angles from here on are reduced by the bits of 2/pi.
_LARGE = 100000.0

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


def sin(x: Value) -> Value:
    """Sine of an angle in radians."""
    rest, quadrant = _reduced(x)
    return select(x == 0, x, _turned(rest, quadrant))


def cos(x: Value) -> Value:
    """Cosine of an angle in radians."""
    rest, quadrant = _reduced(x)
    return _turned(rest, quadrant + 1)


def tan(x: Value) -> Value:
    """Tangent of an angle in radians."""
    rest, quadrant = _reduced(x)
    z = rest * rest
    near = fma(rest * z, horner(z, _TAN), rest)
    return select(x == 0, x, select((quadrant & 1) != 0, -1 / near, near))


def _turned(rest: Value, quadrant: Value) -> Value:
    """The sine of the rest and as many quarters of a turn."""
    z = rest * rest
    sine = fma(rest * z, horner(z, _SIN), rest)
    cosine = fma(z * z, horner(z, _COS), fma(z, -0.5, z.like(1)))
    chosen = select((quadrant & 1) != 0, cosine, sine)
    return from_bits(bits(chosen) ^ ((quadrant & 2) << 30))


def _reduced(x: Value) -> tuple[Value, Value]:
    """The angle less a number of quarters of a turn, and that number, of which the last two bits count."""
    size = absolute(x)
    rest, quadrant = _either(size >= _LARGE, lambda: _reduced_by_bits(x, size), lambda: _reduced_by_parts(x))
    return select(size < float("inf"), rest, x - x), quadrant


def _either(
    condition: Value, then: Callable[[], tuple[Value, Value]], otherwise: Callable[[], tuple[Value, Value]]
) -> tuple[Value, Value]:
    """What one of two functions computes: the first is seldom needed, and costs too much to be computed in vain."""
    builder, results = condition.builder, []
    with builder.if_else(condition.value, likely=False) as branches:
        for branch, function in zip(branches, (then, otherwise), strict=True):
            with branch:
                results.append((function(), builder.block))
    merged = []
    for place in range(2):
        value = builder.phi(results[0][0][place].value.type)
        for values, block in results:
            value.add_incoming(values[place].value, block)
        merged.append(Value(builder, value))
    return merged[0], merged[1]


def _reduced_by_parts(x: Value) -> tuple[Value, Value]:
    rounded = fma(x, 0.63661977, x.like(_ROUNDING))
    count = rounded - _ROUNDING
    rest = x
    for part in _HALF_PI:
        rest = fma(count, -part, rest)
    return rest, bits(rounded)


def _reduced_by_bits(x: Value, size: Value) -> tuple[Value, Value]:
    builder, pattern = x.builder, bits(size)
    whole = _wide((pattern & 0x7FFFFF) | 0x800000)
    # size = whole * 2**(exponent - 23).  Of 2/pi only the 96 bits from this place on count: those before make whole
    # turns, those behind less than is kept.
    place = (pattern >> 23) - 120
    words = [_word(place >> 5, number) for number in range(4)]
    shift = _wide(place & 31)
    high, middle, low = [
        _wide(Value(builder, builder.trunc(_shifted(first, second, shift).value, _INT32)))
        for first, second in pairwise(words)
    ]
    product = ((whole * high) << 32) + whole * middle + ((whole * low) >> 32)  # a unit is 2**-62 quarters of a turn
    quadrant = (product + (1 << 61)) >> 62
    fraction = product - (quadrant << 62)
    rest = Value(builder, builder.sitofp(fraction.value, x.value.type)) * (1.5707963705062866 * 2.0**-62)
    narrow = Value(builder, builder.trunc(quadrant.value, _INT32))
    negative = x < 0
    return select(negative, -rest, rest), select(negative, narrow.like(0) - narrow, narrow)


def _word(index: Value, number: int) -> Value:
    """Word ``index + number`` of 2/pi, in 64 bits; the index is at most 4."""
    word = index.like(_TWO_OVER_PI[number])
    for other in range(1, 5):
        word = select(index == other, index.like(_TWO_OVER_PI[number + other]), word) if other + number < 8 else word
    return _wide(word)


def _shifted(first: Value, second: Value, shift: Value) -> Value:
    """The upper 32 bits of two words moved to the left by less than 32."""
    builder = first.builder
    pair = (first << 32) | second
    moved = Value(builder, builder.shl(pair.value, shift.value))
    return moved >> 32


def _wide(n: Value) -> Value:
    """A whole number without a sign in 64 bits."""
    return Value(n.builder, n.builder.zext(n.value, _INT64))
