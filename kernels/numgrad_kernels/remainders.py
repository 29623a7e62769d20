"""Rounding, quotients, remainders and common divisors of single numbers: a part of ``scalar``, which exports them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from .declarations import compiled_as, generated, in_python, jitable, overloaded
from .instructions import (
    Value,
    absolute,
    bits,
    copysign,
    either,
    emitting,
    fma,
    from_bits,
    fuses,
    instruction,
    on_gpu,
    select,
)  # fmt: skip

__all__ = ["ceil", "floor", "floor_quotient", "fmod", "gcd", "remainder", "round", "trunc", "truncated_quotient"]

_floor = instruction("llvm.floor")
_trunc = instruction("llvm.trunc")


@jitable
def same(x: Any) -> Any:
    return x


def _of_floats(ufunc: Any) -> Any:
    """Return the function for floats that leaves integers unchanged."""
    return lambda x: ufunc(x) if isinstance(x, np.floating) else x


@compiled_as(_floor, python=_of_floats(np.floor), integers=same)
def floor(x: Any) -> Any:
    """The largest whole number not above x."""


@compiled_as(instruction("llvm.ceil"), python=_of_floats(np.ceil), integers=same)
def ceil(x: Any) -> Any:
    """The smallest whole number not below x."""


@compiled_as(instruction("llvm.nearbyint"), python=_of_floats(np.rint), integers=same)
def round(x: Any) -> Any:
    """The nearest whole number; of two equally near numbers, the even one."""


@compiled_as(_trunc, python=_of_floats(np.trunc), integers=same)
def trunc(x: Any) -> Any:
    """x without its fraction."""


def _of_integers(function: Any) -> Callable[[Callable[[Value, Value, Value, bool], Value]], None]:
    """Decorator that defines the compiled form of a function of two integers, given their quotient rounded to zero.

    The quotient is 0 for a divisor of 0, and wraps around.
    """

    def decorate(computed: Callable[[Value, Value, Value, bool], Value]) -> None:
        @generated(function)
        def _(typing_context, x, y):
            if not isinstance(x, types.Integer) or x != y:
                return None
            return x(x, y), emitting(lambda x_, y_: computed(x_, y_, _quotient(x_, y_, x.signed), x.signed))

    return decorate


def _quotient(x: Value, y: Value, signed: bool) -> Value:
    builder = x.builder
    if x.size == 64 or on_gpu(x):
        # LLVM divides in 32 bits where it can, by a branch, which is seldom mispredicted if there are no signs.
        numbers = (_magnitude(x), _magnitude(y)) if signed else (x, y)
        size = Value(builder, builder.udiv(numbers[0].value, select(y == 0, 1, numbers[1]).value))
        quotient = select(_sign_bit(x ^ y) != 0, 0 - size, size) if signed else size
    else:  # vectorises, and the quotient of two floats that are so much longer rounds to no other whole number
        prefix, wraps = ("s", (y == 0) | (y == -1)) if signed else ("u", y == 0)
        numbers = (x, select(wraps, 1, y))
        ratio = builder.fdiv(*[getattr(builder, f"{prefix}itofp")(n.value, ir.DoubleType()) for n in numbers])
        quotient = select(wraps, 0 - x, Value(builder, getattr(builder, f"fpto{prefix}i")(ratio, x.value.type)))
    return select(y == 0, y, quotient)


def _sign_bit(x: Value) -> Value:
    return x >> (x.size - 1)


def _magnitude(x: Value) -> Value:
    return select(_sign_bit(x) != 0, 0 - x, x)


def _differ(rest: Value, y: Value) -> Value:
    """Return True if a remainder of signed integers has another sign than the divisor, which is not 0."""
    return (rest != 0) & (y != 0) & (_sign_bit(rest ^ y) != 0)


def _divided(
    x: Value, divisor: Value, size: int, near: Callable[[Value, Value], Value], far: Callable[[], Value]
) -> Value:
    """Return ``near(floor(x / divisor), rest)`` if that quotient has at most ``size`` bits, else ``far()``.

    The divisor is not negative.  A quotient that was rounded before it is rounded down is at most one too large.  A
    multiply-add computes the rest with a single rounding, and so does the correction, since the rest was exact then.
    """
    if not fuses(x):
        return far()
    ratio = x / divisor

    def exactly() -> list[Value]:
        whole = _floor(ratio)
        rest = fma(-whole, divisor, x)
        above = rest < 0
        return [near(select(above, whole - 1, whole), select(above, rest + divisor, rest))]

    simple = (absolute(ratio) < 2.0**size) & (divisor < float("inf"))
    return either(simple, exactly, lambda: [far()], likely=True)[0]


def _precision(x: Value) -> int:
    return 24 if x.size == 32 else 53


def _times_sign(x: Value, y: Value) -> Value:
    """Return x with its sign changed if y has one."""
    return from_bits(bits(x) ^ bits(y) ^ bits(absolute(y)))


def _has_other_sign(rest: Value, y: Value) -> Value:
    return (rest != 0) & ((rest < 0) ^ (y < 0))


def _float_fmod(x: Value, y: Value) -> Value:
    return _divided(
        absolute(x), absolute(y), _precision(x), lambda whole, rest: copysign(rest, x), lambda: x % y
    )


def _float_floor_quotient(x: Value, y: Value) -> Value:
    def far() -> Value:
        """As Python does: from the difference that y divides, whose quotient is rounded to a whole number."""
        rest, ratio = x % y, x / y
        quotient = (x - rest) / y
        quotient = select(_has_other_sign(rest, y), quotient - 1, quotient)
        whole = _floor(quotient)
        whole = select(quotient - whole > 0.5, whole + 1, whole)
        return select(y == 0, ratio, select(quotient != 0, whole, copysign(ratio.like(0), ratio)))

    # Rounding cannot lead ``far`` astray if the quotient is three bits shorter.
    return _divided(_times_sign(x, y), absolute(y), _precision(x) - 3, lambda whole, rest: whole, far)


def _integer_floor_quotient(x: Any, y: Any) -> Any:
    return type(x)(x // y)


@_of_integers(_integer_floor_quotient)
def _(x: Value, y: Value, quotient: Value, signed: bool) -> Value:
    return select(_differ(x - quotient * y, y), quotient - 1, quotient) if signed else quotient


def _python_floor_quotient(x: Any, y: Any) -> Any:
    return x // y if isinstance(x, np.floating) else _integer_floor_quotient(x, y)


@compiled_as(_float_floor_quotient, python=_python_floor_quotient, integers=_integer_floor_quotient)
def floor_quotient(x: Any, y: Any) -> Any:
    """x / y rounded towards minus infinity; of integers by zero 0, and the smallest by -1 wraps around."""


def _integer_quotient(x: Any, y: Any) -> Any:
    quotient = x // y
    return type(x)(quotient + 1 if quotient < 0 and quotient * y != x else quotient)


@_of_integers(_integer_quotient)
def _(x: Value, y: Value, quotient: Value, signed: bool) -> Value:
    return quotient


def _python_quotient(x: Any, y: Any) -> Any:
    return np.trunc(x / y) if isinstance(x, np.floating) else _integer_quotient(x, y)


@compiled_as(lambda x, y: _trunc(x / y), python=_python_quotient, integers=_integer_quotient)
def truncated_quotient(x: Any, y: Any) -> Any:
    """x / y without its fraction, as C divides integers; 0 for integers divided by zero."""


def _integer_fmod(x: Any, y: Any) -> Any:
    return type(x)(np.fmod(x, y))


@_of_integers(_integer_fmod)
def _(x: Value, y: Value, quotient: Value, signed: bool) -> Value:
    return select(y == 0, y, x - quotient * y)


@compiled_as(_float_fmod, python=np.fmod, integers=_integer_fmod)
def fmod(x: Any, y: Any) -> Any:
    """The exact remainder of x / y, with the sign of x as in C. For y = 0 it is NaN, or 0 for integers."""


def _float_remainder(x: Value, y: Value) -> Value:
    def near(whole: Value, rest: Value) -> Value:
        return copysign(rest, select(rest == 0, x, y))

    def far() -> Value:
        rest = x % y
        return select(_has_other_sign(rest, y), rest + y, rest)

    return _divided(_times_sign(x, y), absolute(y), _precision(x), near, far)


def _python_remainder(x: Any, y: Any) -> Any:
    remainder = np.fmod(x, y)
    return remainder + y if remainder != 0 and (remainder < 0) != (y < 0) else remainder


def _integer_remainder(x: Any, y: Any) -> Any:
    return type(x)(x % y)


@_of_integers(_integer_remainder)
def _(x: Value, y: Value, quotient: Value, signed: bool) -> Value:
    rest = x - quotient * y
    return select(y == 0, y, select(_differ(rest, y), rest + y, rest) if signed else rest)


@compiled_as(_float_remainder, python=_python_remainder, integers=_integer_remainder)
def remainder(x: Any, y: Any) -> Any:
    """The remainder of x / y, with the sign of y as in Python. For y = 0 it is NaN, or 0 for integers."""


@jitable
def _divisor(x: Any, y: Any) -> Any:
    while y != 0:
        x, y = y, _integer_remainder(x, y)
    return type(x)(-x if x < 0 else x)


def gcd(x: Any, y: Any) -> Any:
    """The greatest common divisor of two integers, not negative; 0 if both are 0."""
    return in_python(_divisor, x, y, floating=False)


@overloaded(gcd)
def _gcd(x, y):
    return lambda x, y: _divisor(x, y)
