"""The two forms of a scalar function: what ``@njit`` code that calls it computes, and what plain Python
does."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from .instructions import Value, compiled

__all__ = ["OPTIONS", "compiled_as", "in_python"]

# No contraction: it could make values depend on an element's place in a loop. Division by zero is no error.
OPTIONS: Any = {"error_model": "numpy", "fastmath": False, "forceinline": True}


def _kind(numbers: Sequence[Any], floating: bool) -> Any:
    """The type in which these numbers, or numbers of these dtypes, are computed."""
    inexact = [x for x in numbers if np.result_type(x).kind in "fc"]
    result = np.result_type(*(inexact or numbers))
    return np.float64 if floating and result.kind not in "fc" else result.type


def in_python(function: Callable[..., Any], *arguments: Any, floating: bool = True) -> Any:
    """The function of the arguments in their common type, without warnings."""
    kind = _kind(arguments, floating)
    with np.errstate(all="ignore"):
        return function(*map(kind, arguments))


def compiled_as(
    floats: Callable[..., Value], integers: Any = None, complexes: Any = None
) -> Callable[[Any], Any]:
    """Decorator: what ``@njit`` code computes where it calls the function, by the type of the arguments.

    Args:
        floats: a function of values (``instructions.py``).
        integers, complexes: functions that Numba compiles.
    """

    def decorate(public: Any) -> Any:
        count = len(inspect.signature(public).parameters)
        compiled_floats = compiled(floats, count)

        def chosen(arguments: Sequence[Any]) -> tuple[Any, Any]:
            if not all(isinstance(x, types.Number | types.Boolean) for x in arguments):
                return None, None
            kind = _kind([as_dtype(types.unliteral(x)) for x in arguments], floating=integers is None)
            if issubclass(kind, np.floating):
                return kind, compiled_floats
            return kind, complexes if issubclass(kind, np.complexfloating) else integers

        def unary(x):  # Numba compares its signature with the lambda's: no annotations
            kind, function = chosen([x])
            return None if function is None else lambda x: function(kind(x))

        def binary(x, y):
            kind, function = chosen([x, y])
            return None if function is None else lambda x, y: function(kind(x), kind(y))

        overload(public, jit_options=OPTIONS)(unary if count == 1 else binary)
        return public

    return decorate
