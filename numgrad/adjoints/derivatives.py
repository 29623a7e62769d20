"""Derivatives of scalar functions, as functions that Numba compiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from operator import index
from typing import Any

from numba import njit

from ..ops.table.checks import check_value
from ..scalar import function_of
from .derived import partial_derivatives, source_of
from .scalars import ScalarInliner, operation_of
from .source import SCOPE, compiled, python_function


def derivative(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Any:
    """Return the derivative of a scalar function with respect to one of its arguments, compiled by ``numba.njit``.

    The function may be a Python function, one compiled by ``numba.njit``, or one of ``math`` or NumPy, and may contain
    what ``vectorize`` supports.  The derivative takes the same arguments, which are numbers, with the same defaults.
    It can be called in other compiled functions, and can be differentiated again.  ``numba.cfunc`` turns its Python
    function ``py_func`` into a C function, which ``scipy.LowLevelCallable`` accepts.

    Args:
        function: function of numbers that returns a number, or a tuple of several.
        argnums: the position of the argument, or a sequence of positions, for which the result is a tuple.

    Raises:
        TypeError: the function contains something that is not supported; the message has the line.
        TypeError: ``argnums`` is neither an integer nor a sequence of integers.
        ValueError: there is no such argument, or none is wanted, or there are several arguments and several results.

    Example:
        >>> import numba, numgrad
        >>> @numba.njit
        ... def energy(r, depth):
        ...     a = 1 / r**6
        ...     return 4 * depth * (a * a - a)
        >>> slope = numgrad.derivative(energy)
        >>> slope(1.0, 0.5)
        -12.0
        >>> numgrad.derivative(slope)(1.0, 0.5)
        228.0
    """
    op = operation_of(function)
    python = python_function(function if op is None else op.function)
    formula = ScalarInliner().formula(python)
    count = len(formula.parameters)
    several = isinstance(argnums, Sequence) and not isinstance(argnums, str)
    try:
        positions = list(map(index, argnums if several else [argnums]))  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"argnums must be an integer or a sequence of integers, not {argnums!r}") from None
    check_value(positions, "argnums must have at least one position")
    for each in positions:
        check_value(-count <= each < count, "{} has {} arguments, and none at {}", python.__name__, count, each)
    check_value(
        not several or len(formula.results) == 1,
        "{} returns {} results: the derivative of each by several arguments is not supported: take one argument",
        python.__name__, len(formula.results),
    )
    derived = partial_derivatives(formula, python.__name__, [formula.parameters[each] for each in positions])
    title = f"{python.__name__}_derivative"
    source = source_of(derived, title, {})
    if several and len(positions) == 1:
        source = source.replace(f"return {derived.results[0]}", f"return ({derived.results[0]},)")
    generated = compiled(source, title, {**SCOPE, **_called(derived.functions)})
    defaults = [each.default for each in signature(python).parameters.values() if each.default is not each.empty]
    generated.__defaults__ = tuple(defaults)
    return njit(error_model="numpy")(generated)


def _called(operations: Mapping[str, Any]) -> dict[str, Any]:
    """Return the functions that a formula calls, in a form that Numba compiles: where possible, those of ``math``."""
    return {called: getattr(math, op.name, None) or function_of(op, called) for called, op in operations.items()}
