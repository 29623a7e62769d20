"""Mathematics of single numbers, shared by all kernels.

Each function works in two ways. In ``@njit`` code it is compiled into the loop that calls it, which then vectorises. In
plain Python it takes Python's and NumPy's numbers, and returns infinity or NaN where ``math`` raises, without warnings.

Types are preserved. float32 gives float32, computed in float32; float64 gives float64; of two floats the wider one
decides, and an integer combined with a float takes the float's type. (In plain Python a Python float combined with
float32 is float32, too; in ``@njit`` code a literal is float64.) Integers alone stay integers in ``pow``, ``where``,
``conj``, ``abs``, ``sign``, ``maximum``, ``minimum``, ``gcd``, ``floor_quotient``, ``truncated_quotient``, ``fmod``,
``remainder`` and the rounding functions, and count as float64 elsewhere. Complex numbers are accepted where the
function has a complex meaning.

``exp``, ``expm1``, ``log``, ``log1p``, ``tanh`` and ``sigmoid`` are polynomials (``polynomials.py``) with errors below
2 units in the last place. So are, in float32, ``erf`` and ``pow`` with errors below 3 units, and ``erfc`` below 4
(``polynomials32.py``). Most other special functions (``special.py``) have errors below 5 units; near their zeros, these
are units of the terms that cancel. The other transcendental functions are the C library's (``libm.py``); with glibc
their errors are at most 4 units. No value depends on the element's position in a loop. On GPUs ``sin``, ``cos`` and
``tan`` have instructions of their own (``angles.py``); the others are NVIDIA's. Functions of complex numbers
(``complexes.py``) are composed of these.
"""

import math
from typing import Any

import numpy as np

from . import complexes, instructions, libm, polynomials, polynomials32
from .circular import *  # noqa: F403
from .declarations import compiled_as, in_python, jitable, overloaded
from .halves import *  # noqa: F403
from .instructions import bits, from_bits, instruction, select
from .parts import *  # noqa: F403
from .remainders import *  # noqa: F403
from .remainders import same
from .special import *  # noqa: F403

_sqrt = instruction("llvm.sqrt")


# --- exponentials and logarithms


@compiled_as(polynomials.exp, python=np.exp, pairs=complexes.exp)
def exp(x: Any) -> Any:
    """e to the power x."""


@compiled_as(libm.function("exp2"), python=np.exp2, pairs=complexes.exp2)
def exp2(x: Any) -> Any:
    """2 to the power x."""


@compiled_as(polynomials.expm1, python=np.expm1, pairs=complexes.expm1)
def expm1(x: Any) -> Any:
    """e to the power x, minus 1, accurate for small x."""


@compiled_as(polynomials.log, python=np.log, pairs=complexes.log)
def log(x: Any) -> Any:
    """Natural logarithm: -inf at zero, NaN below."""


@compiled_as(libm.function("log2"), python=np.log2, pairs=complexes.log2)
def log2(x: Any) -> Any:
    """Logarithm to the base 2."""


@compiled_as(libm.function("log10"), python=np.log10, pairs=complexes.log10)
def log10(x: Any) -> Any:
    """Logarithm to the base 10."""


@compiled_as(polynomials.log1p, python=np.log1p, pairs=complexes.log1p)
def log1p(x: Any) -> Any:
    """Natural logarithm of 1 + x, accurate for small x."""


def _python_sigmoid(x: Any) -> Any:
    unit, power = type(x)(1), np.exp(x if x.real < 0 else -x)
    return (power if x.real < 0 else unit) / (unit + power)


@compiled_as(polynomials.sigmoid, python=_python_sigmoid, pairs=complexes.sigmoid)
def sigmoid(x: Any) -> Any:
    """The logistic function, 1 / (1 + exp(-x))."""


# --- quotients


@compiled_as(lambda x, y: x / y, python=np.true_divide, pairs=complexes.divide)
def divide(x: Any, y: Any) -> Any:
    """x / y; division by zero gives infinity or NaN."""


# --- powers


@compiled_as(_sqrt, python=np.sqrt, pairs=complexes.sqrt)
def sqrt(x: Any) -> Any:
    """Square root, correctly rounded: NaN below zero."""


def _numpy_rsqrt(x: Any) -> Any:
    return type(x)(1) / np.sqrt(x)


@compiled_as(lambda x: 1 / _sqrt(x), python=_numpy_rsqrt, pairs=complexes.rsqrt)
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x): infinite at zero, NaN below."""


@jitable
def _integer_power(base: Any, exponent: Any) -> Any:
    number = type(base)
    unit = number(1)
    if exponent < 0:  # 1 and -1 are the only integers with an inverse
        if base == -1 and exponent & 1:
            return base
        return number(base == 1 or base == -1)
    result = unit
    while exponent > 0:
        if exponent & unit:
            result = number(result * base)
        base = number(base * base)
        exponent = number(exponent >> unit)
    return result


def _python_power(x: Any, y: Any) -> Any:
    # np.power takes the square root for y = 1/2, with other results for -0 and -inf.
    return type(x)(np.float_power(x, y)) if isinstance(x, np.inexact) else _integer_power(x, y)


@compiled_as(
    libm.by_size(polynomials32.pow, "pow"),
    python=_python_power, integers=_integer_power, pairs=complexes.pow,
)
def pow(x: Any, y: Any) -> Any:
    """x to the power y, as C's ``pow``.

    Integers are multiplied exactly, by repeated squaring, and wrap around in their type. With a negative exponent the
    result is 0 unless the base is 1 or -1.
    """


# --- signs and comparisons


@jitable
def _integer_abs(x: Any) -> Any:
    return type(x)(-x) if x < 0 else x


@compiled_as(
    instruction("llvm.fabs"),
    python=np.abs, integers=_integer_abs, pairs=complexes.magnitude, real=True,
)
def abs(x: Any) -> Any:
    """The value without its sign; the magnitude of a complex number."""


@compiled_as(instructions.rounded, python=lambda x: x)
def rounded(x: Any) -> Any:
    """The value itself, as if it were stored and loaded; a product and the sum that uses it are then not fused."""


@compiled_as(
    lambda x, y: from_bits(bits(x) ^ (bits(y) & (1 << (x.size - 1)))),
    python=lambda x, y: -x if np.signbit(y.real) else x, pairs=complexes.signed_like,
)
def signed_like(x: Any, y: Any) -> Any:
    """x, negated if the real part of y is negative or -0."""


def _python_angle(x: Any) -> Any:
    return np.angle(x) if isinstance(x, np.complexfloating) or x == x else x


@compiled_as(
    lambda x: select(x < 0, math.pi, select(x == x, 0, x)),
    python=_python_angle, pairs=complexes.angle, real=True,
)
def angle(x: Any) -> Any:
    """The angle of a complex number in the plane, from -pi to pi; of a real one 0, or pi if it is negative."""


@jitable
def _sign(x: Any) -> Any:
    number = type(x)
    return number(1) if x > number(0) else (number(-1) if x < number(0) else number(0))


@compiled_as(lambda x: select(x > 0, 1, select(x < 0, x.like(-1), 0)), python=_sign, integers=_sign)
def sign(x: Any) -> Any:
    """1, 0 or -1. The sign of NaN is 0, as in PyTorch."""


@compiled_as(instruction("llvm.copysign"), python=np.copysign)
def copysign(x: Any, y: Any) -> Any:
    """The magnitude of x with the sign of y, also if y is a zero or NaN."""


@jitable
def _maximum(x: Any, y: Any) -> Any:
    return x if (x >= y) | (x != x) else y


@compiled_as(lambda x, y: select((x >= y) | (x != x), x, y), python=_maximum, integers=_maximum)
def maximum(x: Any, y: Any) -> Any:
    """The larger one; NaN if either is NaN. If they are equal, the first."""


@jitable
def _minimum(x: Any, y: Any) -> Any:
    return x if (x <= y) | (x != x) else y


@compiled_as(lambda x, y: select((x <= y) | (x != x), x, y), python=_minimum, integers=_minimum)
def minimum(x: Any, y: Any) -> Any:
    """The smaller one; NaN if either is NaN. If they are equal, the first."""


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return a if the condition holds, else b. Both may be computed, or only the chosen one."""
    return a if condition else b


@overloaded(where)
def _where(condition, a, b):
    return lambda condition, a, b: a if condition else b


def isnan(x: Any) -> Any:
    """Return True if x is NaN, in either part if it is complex."""
    return in_python(np.isnan, x, floating=False)


@overloaded(isnan)
def _isnan(x):
    return lambda x: np.isnan(x)


def isinf(x: Any) -> Any:
    """Return True if x is infinite, in either part if it is complex."""
    return in_python(np.isinf, x, floating=False)


@overloaded(isinf)
def _isinf(x):
    return lambda x: np.isinf(x)


@jitable
def _conjugate(x: Any) -> Any:
    return x.conjugate()


@compiled_as(same, integers=same, complexes=_conjugate)
def conj(x: Any) -> Any:
    """The complex conjugate; real numbers are returned unchanged."""
    return x.conjugate()
