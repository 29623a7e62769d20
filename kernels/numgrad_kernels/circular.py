"""Circular and hyperbolic functions of single numbers: a part of ``scalar``, which exports them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import angles, complexes, libm, polynomials
from .declarations import compiled_as
from .instructions import Value, on_gpu

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "hypot", "sin", "sinh", "tan",
    "tan_slope", "tanh",
]


def by_device(name: str) -> Callable[..., Value]:
    """Return the C library's function, which ``angles`` replaces on a GPU."""
    library, on_device = libm.function(name), getattr(angles, name)
    return lambda x: (on_device if on_gpu(x) else library)(x)


@compiled_as(by_device("sin"), python=np.sin, pairs=complexes.sin)
def sin(x: Any) -> Any:
    """Sine of an angle in radians."""


@compiled_as(by_device("cos"), python=np.cos, pairs=complexes.cos)
def cos(x: Any) -> Any:
    """Cosine of an angle in radians."""


@compiled_as(by_device("tan"), python=np.tan, pairs=complexes.tan)
def tan(x: Any) -> Any:
    """Tangent of an angle in radians."""


def _python_tan_slope(x: Any, t: Any) -> Any:
    return 1 / np.cos(x) ** 2 if isinstance(x, np.complexfloating) else 1 + t * t


@compiled_as(lambda x, t: 1 + t * t, python=_python_tan_slope, pairs=complexes.tan_slope)
def tan_slope(x: Any, t: Any) -> Any:
    """The derivative of the tangent at x, 1 + t^2 with t = tan(x); complex t may be rounded to i, so x is used."""


@compiled_as(libm.function("asin"), python=np.arcsin, pairs=complexes.asin)
def asin(x: Any) -> Any:
    """The angle from -pi/2 to pi/2 whose sine is x."""


@compiled_as(libm.function("acos"), python=np.arccos, pairs=complexes.acos)
def acos(x: Any) -> Any:
    """The angle from 0 to pi whose cosine is x."""


@compiled_as(libm.function("atan"), python=np.arctan, pairs=complexes.atan)
def atan(x: Any) -> Any:
    """The angle from -pi/2 to pi/2 whose tangent is x."""


@compiled_as(libm.function("atan2"), python=np.arctan2)
def atan2(y: Any, x: Any) -> Any:
    """The angle from -pi to pi of the point (x, y)."""


@compiled_as(libm.function("hypot"), python=np.hypot)
def hypot(x: Any, y: Any) -> Any:
    """The distance of the point (x, y) from the origin, without overflow; infinite if x or y is infinite."""


@compiled_as(libm.function("sinh"), python=np.sinh, pairs=complexes.sinh)
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""


@compiled_as(libm.function("cosh"), python=np.cosh, pairs=complexes.cosh)
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""


@compiled_as(polynomials.tanh, python=np.tanh, pairs=complexes.tanh)
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""


@compiled_as(libm.function("asinh"), python=np.arcsinh, pairs=complexes.asinh)
def asinh(x: Any) -> Any:
    """Inverse of the hyperbolic sine."""


@compiled_as(libm.function("acosh"), python=np.arccosh, pairs=complexes.acosh)
def acosh(x: Any) -> Any:
    """Inverse of the hyperbolic cosine: NaN below 1."""


@compiled_as(libm.function("atanh"), python=np.arctanh, pairs=complexes.atanh)
def atanh(x: Any) -> Any:
    """Inverse of the hyperbolic tangent: infinite at -1 and 1, NaN outside."""
