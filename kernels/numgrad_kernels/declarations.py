"""The two forms of a scalar function: one for ``@njit`` code that calls it, and one for plain Python.

The first form is registered with Numba (``overloads.register``) only when something is to be compiled.  Registering
takes as long as the rest of ``import numgrad``, and a process whose kernels are all on disk does not need it.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit, types
from numba.core.typing.templates import infer_global, make_intrinsic_template
from numba.extending import overload, register_jitable
from numba.np.numpy_support import as_dtype, from_dtype

from .instructions import Value, compiled_pairs, emitting

# Contraction is off: it could make values depend on their position in a loop. Division by zero is not an error.
OPTIONS: Any = {"error_model": "numpy", "fastmath": False, "forceinline": True}


#: Functions that register with Numba what was declared and is not registered yet.
pending: list[Callable[[], Any]] = []
pending_on_gpu: list[Callable[[], Any]] = []


def register() -> None:
    """Register with Numba the functions of this package that ``@njit`` code may call, as far as they are imported.

    The kernel store calls this by way of ``overloads``; for other ``@njit`` code the package's entry point for Numba
    extensions does.
    """
    while pending:
        pending.pop()()


def registered(register: Callable[[], Any]) -> Callable[[], Any]:
    """Decorator that defers a function that registers something with Numba."""
    pending.append(register)
    return register


def overloaded(public: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorator that registers how Numba compiles calls of ``public``, as ``numba.extending.overload`` does."""

    def decorate(implementation: Any) -> Any:
        pending.append(lambda: overload(public, jit_options=OPTIONS)(implementation))
        return implementation

    return decorate


def generated(public: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
    """Decorator that registers the instructions for calls of ``public``, as ``numba.extending.intrinsic`` does.

    An overload that calls an intrinsic would have the same effect, but Numba compiles an overload as a function: 30 ms.
    """

    def decorate(implementation: Any) -> Any:
        def register() -> None:
            template = make_intrinsic_template(public, implementation, public.__name__, **options)
            infer_global(public, types.Function(template))

        pending.append(register)
        return implementation

    return decorate


def jitable(function: Any) -> Any:
    """Decorator that makes a plain function callable from ``@njit`` code."""
    pending.append(lambda: register_jitable(function))
    return function


def _common_type(numbers: Sequence[Any], floating: bool) -> Any:
    """Return the type in which these numbers, or numbers of these dtypes, are computed."""
    inexact = [x for x in numbers if np.result_type(x).kind in "fc"]
    result = np.result_type(*(inexact or numbers))
    return np.float64 if floating and result.kind not in "fc" else result.type


def in_python(function: Callable[..., Any], *arguments: Any, floating: bool = True) -> Any:
    """Call a function with the arguments in their common type, without warnings, and return its result."""
    number = _common_type(arguments, floating)
    with np.errstate(all="ignore"):
        return function(*map(number, arguments))


def compiled_as(
    floats: Callable[..., Value], python: Any = None, integers: Any = None, complexes: Any = None, pairs: Any = None,
    real: bool = False,
) -> Callable[[Any], Any]:  # fmt: skip
    """Decorator that defines a function for ``@njit`` code and for plain Python, by the type of the arguments.

    Without ``integers``, integers count as float64.

    Args:
        floats: a function of values (``instructions.py``), for ``@njit`` code.
        python: a function of NumPy's numbers of one type, for plain Python; None if the function's own body serves,
            and "compiled" to call what Numba compiles.
        integers, complexes: functions that Numba compiles.
        pairs: a function of pairs of values, for complex numbers, instead of ``complexes``.
        real: True if ``pairs`` returns real numbers.
    """

    def decorate(declared: Any) -> Any:
        count = declared.__code__.co_argcount
        generate = emitting(floats)
        of_pairs = None if pairs is None else compiled_pairs(pairs, count, real)

        @functools.wraps(declared)
        def in_common_type(*arguments: Any) -> Any:
            return in_python(_plain(public, count, python), *arguments, floating=integers is None)

        def number_of(arguments: Sequence[Any]) -> Any:
            if not all(isinstance(x, types.Number | types.Boolean) for x in arguments):
                return None
            return _common_type([as_dtype(types.unliteral(x)) for x in arguments], floating=integers is None)

        def in_floats(arguments: Sequence[Any]) -> Any:
            number = number_of(arguments)
            if number is None or not issubclass(number, np.floating):
                return None
            common = from_dtype(np.dtype(number))
            return common(*[common] * count), generate

        def chosen(arguments: Sequence[Any]) -> tuple[Any, Any]:
            number = number_of(arguments)
            if number is None or issubclass(number, np.floating):
                return None, None
            return number, (complexes or of_pairs) if issubclass(number, np.complexfloating) else integers

        public = declared if python is None else in_common_type
        generated(public)(_of_so_many(in_floats, count))  # an overload would be compiled as a function of its own
        if integers or complexes or of_pairs:
            overloaded(public)(_implementation(chosen, count))
        if of_pairs is not None:
            pending_on_gpu.append(lambda: _overload_on_gpu(public, of_pairs, count))
        return public

    return decorate


def _of_so_many(typed: Callable[[Sequence[Any]], Any], count: int) -> Any:
    """Return the function that gives Numba the type and the instructions of a call."""

    def unary(typing_context, x):
        return typed([x])

    def binary(typing_context, x, y):
        return typed([x, y])

    def ternary(typing_context, x, y, z):
        return typed([x, y, z])

    return (unary, binary, ternary)[count - 1]


@functools.cache
def _plain(public: Any, count: int, python: Any) -> Callable[..., Any]:
    """Return the function for plain Python, which is ``python`` or calls the compiled form of ``public``."""
    if python != "compiled":
        return python
    register()
    of_so_many = (lambda x: public(x)), (lambda x, y: public(x, y)), (lambda x, y, z: public(x, y, z))
    compiled = njit(error_model="numpy")(of_so_many[count - 1])
    return lambda *numbers: type(numbers[0])(compiled(*numbers))


def _implementation(chosen: Callable[[Sequence[Any]], tuple[Any, Any]], count: int) -> Any:
    """Return an overload; ``chosen`` returns the type to compute in and the function to call, or None."""

    def unary(x):  # no annotations: Numba compares the signature with the lambda's
        number, function = chosen([x])
        return None if function is None else lambda x: function(number(x))

    def binary(x, y):
        number, function = chosen([x, y])
        return None if function is None else lambda x, y: function(number(x), number(y))

    return unary if count == 1 else binary


def _overload_on_gpu(public: Any, function: Any, count: int) -> None:
    """Compile calls of ``public`` with complex numbers on GPUs as this function of complex numbers."""

    def chosen(arguments: Sequence[Any]) -> tuple[Any, Any]:
        if not any(isinstance(x, types.Complex) for x in arguments):
            return None, None
        return _common_type([as_dtype(types.unliteral(x)) for x in arguments], floating=True), function

    overload(public, jit_options=OPTIONS, target="cuda")(_implementation(chosen, count))
