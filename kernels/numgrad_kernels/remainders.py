"""Rounding, quotients, remainders and common divisors of single numbers: a part of ``scalar``, which exports them."""

from typing import Any

import numpy as np
from numba import types

from .declarations import compiled_as, in_python, jitable, overloaded
from .instructions import Value, instruction, select

__all__ = ["ceil", "floor", "floor_quotient", "fmod", "gcd", "remainder", "round", "trunc", "truncated_quotient"]

_trunc = instruction("llvm.trunc")


@jitable
def same(x: Any) -> Any:
    return x


def _of_floats(ufunc: Any) -> Any:
    """Return the function for floats that leaves integers unchanged."""
    return lambda x: ufunc(x) if isinstance(x, np.floating) else x


@compiled_as(instruction("llvm.floor"), python=_of_floats(np.floor), integers=same)
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


@jitable
def _integer_floor_quotient(x: Any, y: Any) -> Any:
    return type(x)(-x if y == -1 else x // y)  # Numba returns 0 for the only quotient that overflows


def _python_floor_quotient(x: Any, y: Any) -> Any:
    return x // y if isinstance(x, np.floating) else _integer_floor_quotient(x, y)


def floor_quotient(x: Any, y: Any) -> Any:
    """x / y rounded towards minus infinity; of integers by zero 0, and the smallest by -1 wraps around."""
    return in_python(_python_floor_quotient, x, y, floating=False)


@overloaded(floor_quotient)
def _floor_quotient(x, y):
    if isinstance(x, types.Integer) and isinstance(y, types.Integer):
        return lambda x, y: _integer_floor_quotient(x, y)
    return lambda x, y: x // y


@jitable
def _integer_quotient(x: Any, y: Any) -> Any:
    quotient = -x if y == -1 else x // y
    return type(x)(quotient + 1 if y != -1 and quotient < 0 and quotient * y != x else quotient)


def _python_quotient(x: Any, y: Any) -> Any:
    return np.trunc(x / y) if isinstance(x, np.floating) else _integer_quotient(x, y)


@compiled_as(lambda x, y: _trunc(x / y), python=_python_quotient, integers=_integer_quotient)
def truncated_quotient(x: Any, y: Any) -> Any:
    """x / y without its fraction, as C divides integers; 0 for integers divided by zero."""


@jitable
def _integer_fmod(x: Any, y: Any) -> Any:
    remainder = x % y
    return type(x)(remainder - y if remainder != 0 and (x < 0) != (remainder < 0) else remainder)


@compiled_as(lambda x, y: x % y, python=np.fmod, integers=_integer_fmod)
def fmod(x: Any, y: Any) -> Any:
    """The exact remainder of x / y, with the sign of x as in C. For y = 0 it is NaN, or 0 for integers."""


def _float_remainder(x: Value, y: Value) -> Value:
    remainder = x % y
    return select((remainder != 0) & ((remainder < 0) ^ (y < 0)), remainder + y, remainder)


def _python_remainder(x: Any, y: Any) -> Any:
    remainder = np.fmod(x, y)
    return remainder + y if remainder != 0 and (remainder < 0) != (y < 0) else remainder


@jitable
def _integer_remainder(x: Any, y: Any) -> Any:
    return type(x)(x % y)


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
