"""Mantissas, exponents and neighbours of floats, from their bits: a part of ``scalar``, which exports them."""

from typing import Any

import numpy as np

from .declarations import compiled_as
from .instructions import Value, absolute, bits, copysign, from_bits, select

__all__ = ["frexp_exponent", "frexp_mantissa", "nextafter"]


def _stored(x: Value) -> tuple[Value, Value, Value]:
    """Return the bits of a float as a normal number, its stored exponent, and by how much that is too large."""
    digits = _digits(x)
    tiny = 2.0 ** (-126 if x.size == 32 else -1022)
    subnormal = absolute(x) < tiny
    number = bits(select(subnormal, x * 2.0 ** (digits + 2), x))
    field = (number >> digits) & ((1 << (x.size - 1 - digits)) - 1)
    return number, field, select(subnormal, field.like(digits + 2), field.like(0))


def _digits(x: Value) -> int:
    return 23 if x.size == 32 else 52


def _has_parts(x: Value) -> Value:
    return (x != 0) & (absolute(x) < np.inf)


def _bias(x: Value) -> int:
    """Return the stored exponent of 1/2."""
    return (1 << (x.size - 2 - _digits(x))) - 2


def _mantissa(x: Value) -> Value:
    number, field, _ = _stored(x)
    return select(_has_parts(x), from_bits(number ^ ((field ^ _bias(x)) << _digits(x))), x)


def _exponent(x: Value) -> Value:
    _, field, excess = _stored(x)
    # An integer below 2^23 (2^52), as the last bits of a float whose last bit counts 1.
    one = 2.0 ** _digits(x)
    shifted = from_bits(field | bits(x.like(one))) - from_bits(excess | bits(x.like(one)))
    return select(_has_parts(x), shifted - _bias(x), 0)


@compiled_as(_mantissa, python=lambda x: np.frexp(x)[0])
def frexp_mantissa(x: Any) -> Any:
    """x divided by a power of two, from 1/2 to below 1 in magnitude; 0, infinity and NaN are returned unchanged."""


@compiled_as(_exponent, python=lambda x: type(x)(np.frexp(x)[1] if np.isfinite(x) else 0))
def frexp_exponent(x: Any) -> Any:
    """The exponent of the power of two by which ``frexp_mantissa`` divides; 0 for 0, infinity and NaN."""


def _nextafter(x: Value, y: Value) -> Value:
    number = bits(x)
    away = (x < y) ^ (x < 0)  # from zero, where the bits of a float count up
    near = from_bits(select(away, number + 1, number - 1))
    beside_zero = copysign(from_bits(number.like(1)), y)
    moved = select(x == 0, beside_zero, near)
    return select((x != x) | (y != y), x + y, select(x == y, y, moved))


@compiled_as(_nextafter, python=np.nextafter)
def nextafter(x: Any, y: Any) -> Any:
    """The float next to x in the direction of y; y if they are equal, NaN if one is NaN."""
