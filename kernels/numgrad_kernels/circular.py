"""Circular and hyperbolic functions of single numbers: a part of ``scalar``, which gives them out."""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import angles, complexes, libm, polynomials
from .instructions import Value, on_gpu
from .overloads import compiled_as, in_python

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "hypot", "sin", "sinh", "tan", "tanh",
]


def _by_place(name: str) -> Callable[..., Value]:
    """The C library's function; on a GPU that of ``angles``."""
    library, own = libm.function(name), getattr(angles, name)
    return lambda x: (own if on_gpu(x) else library)(x)


@compiled_as(_by_place("sin"), complexes=np.sin, pairs=complexes.sin)
def sin(x: Any) -> Any:
    """Sine of an angle in radians."""
    return in_python(np.sin, x)


@compiled_as(_by_place("cos"), complexes=np.cos, pairs=complexes.cos)
def cos(x: Any) -> Any:
    """Cosine of an angle in radians."""
    return in_python(np.cos, x)


@compiled_as(_by_place("tan"), complexes=np.tan, pairs=complexes.tan)
def tan(x: Any) -> Any:
    """Tangent of an angle in radians."""
    return in_python(np.tan, x)


@compiled_as(libm.function("asin"), complexes=np.arcsin, pairs=complexes.asin)
def asin(x: Any) -> Any:
    """The angle from -pi/2 to pi/2 whose sine is x."""
    return in_python(np.arcsin, x)


@compiled_as(libm.function("acos"), complexes=np.arccos, pairs=complexes.acos)
def acos(x: Any) -> Any:
    """The angle from 0 to pi whose cosine is x."""
    return in_python(np.arccos, x)


@compiled_as(libm.function("atan"), complexes=np.arctan, pairs=complexes.atan)
def atan(x: Any) -> Any:
    """The angle from -pi/2 to pi/2 whose tangent is x."""
    return in_python(np.arctan, x)


@compiled_as(libm.function("atan2"))
def atan2(y: Any, x: Any) -> Any:
    """The angle from -pi to pi of the point (x, y)."""
    return in_python(np.arctan2, y, x)


@compiled_as(libm.function("hypot"))
def hypot(x: Any, y: Any) -> Any:
    """The distance of the point (x, y) from the origin, without overflow; infinite if x or y is."""
    return in_python(np.hypot, x, y)


@compiled_as(libm.function("sinh"), complexes=np.sinh, pairs=complexes.sinh)
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    return in_python(np.sinh, x)


@compiled_as(libm.function("cosh"), complexes=np.cosh, pairs=complexes.cosh)
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    return in_python(np.cosh, x)


@compiled_as(polynomials.tanh, complexes=np.tanh, pairs=complexes.tanh)
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return in_python(np.tanh, x)


@compiled_as(libm.function("asinh"), complexes=np.arcsinh, pairs=complexes.asinh)
def asinh(x: Any) -> Any:
    """Inverse of the hyperbolic sine."""
    return in_python(np.arcsinh, x)


@compiled_as(libm.function("acosh"), complexes=np.arccosh, pairs=complexes.acosh)
def acosh(x: Any) -> Any:
    """Inverse of the hyperbolic cosine: NaN below 1."""
    return in_python(np.arccosh, x)


@compiled_as(libm.function("atanh"), complexes=np.arctanh, pairs=complexes.atanh)
def atanh(x: Any) -> Any:
    """Inverse of the hyperbolic tangent: infinite at -1 and 1, NaN outside."""
    return in_python(np.arctanh, x)
