"""The two forms of a scalar function: what ``@njit`` code that calls it computes, and what plain Python does.

Numba is told of the first (``register``) only when something is to be compiled: it takes as long as all the rest of
``import numgrad``, and a process whose kernels are all on disk can do without.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.core.typing.templates import infer_global, make_intrinsic_template
from numba.extending import overload, register_jitable
from numba.np.numpy_support import as_dtype, from_dtype

from .instructions import Value, compiled_pairs, emitting

# No contraction: it could make values depend on the position of an element in a loop. Division by zero is no error.
OPTIONS: Any = {"error_model": "numpy", "fastmath": False, "forceinline": True}


_pending: list[Callable[[], Any]] = []
_pending_on_gpu: list[Callable[[], Any]] = []


def register() -> None:
    """Tell Numba how to compile calls of the functions in this package.

    The kernel store does; other ``@njit`` code gets it through the package's entry point for Numba extensions.
    """
    from . import blocks, local, scalar  # noqa: F401 - importing them fills the list

    while _pending:
        _pending.pop()()


def register_on_gpu() -> None:
    """Tell Numba what of it GPUs compute in another way; numba-cuda must have been imported."""
    while _pending_on_gpu:
        _pending_on_gpu.pop()()


def registered(tell: Callable[[], Any]) -> Callable[[], Any]:
    """Decorator: what tells Numba of something."""
    _pending.append(tell)
    return tell


def overloaded(public: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorator: how Numba compiles calls of ``public``, as ``numba.extending.overload`` says."""

    def decorate(implementation: Any) -> Any:
        _pending.append(lambda: overload(public, jit_options=OPTIONS)(implementation))
        return implementation

    return decorate


def generated(public: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
    """Decorator: the instructions that calls of ``public`` become, as ``numba.extending.intrinsic`` says.

    An overload that calls an intrinsic would do the same, but Numba compiles an overload as a function: 30 ms.
    """

    def decorate(implementation: Any) -> Any:
        def tell() -> None:
            template = make_intrinsic_template(public, implementation, public.__name__, **options)
            infer_global(public, types.Function(template))

        _pending.append(tell)
        return implementation

    return decorate


def jitable(function: Any) -> Any:
    """Decorator: ``@njit`` code may call this plain function."""
    _pending.append(lambda: register_jitable(function))
    return function


def _common_type(numbers: Sequence[Any], floating: bool) -> Any:
    """The type in which these numbers, or numbers of these dtypes, are computed."""
    inexact = [x for x in numbers if np.result_type(x).kind in "fc"]
    result = np.result_type(*(inexact or numbers))
    return np.float64 if floating and result.kind not in "fc" else result.type


def in_python(function: Callable[..., Any], *arguments: Any, floating: bool = True) -> Any:
    """The function of the arguments in their common type, without warnings."""
    number = _common_type(arguments, floating)
    with np.errstate(all="ignore"):
        return function(*map(number, arguments))


def compiled_as(
    floats: Callable[..., Value], python: Any = None, integers: Any = None, complexes: Any = None, pairs: Any = None,
    real: bool = False,
) -> Callable[[Any], Any]:  # fmt: skip
    """Decorator: what the function computes, in ``@njit`` code and in plain Python, by the type of the arguments.

    Without ``integers``, these count as float64.

    Args:
        floats: a function of values (``instructions.py``), for ``@njit`` code.
        python: a function of NumPy's numbers of one type, for plain Python; None where the body of the function does.
        integers, complexes: functions that Numba compiles.
        pairs: a function of pairs of values, for complex numbers, instead of ``complexes``.
        real: whether ``pairs`` makes real numbers.
    """

    def decorate(declared: Any) -> Any:
        count = len(inspect.signature(declared).parameters)
        generate = emitting(floats)
        of_pairs = None if pairs is None else compiled_pairs(pairs, count, real)

        @functools.wraps(declared)
        def in_common_type(*arguments: Any) -> Any:
            return in_python(python, *arguments, floating=integers is None)

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
            _pending_on_gpu.append(lambda: _overload_on_gpu(public, of_pairs, count))
        return public

    return decorate


def _of_so_many(typed: Callable[[Sequence[Any]], Any], count: int) -> Any:
    """What Numba asks for the type and the instructions of a call."""

    def unary(typing_context, x):
        return typed([x])

    def binary(typing_context, x, y):
        return typed([x, y])

    return unary if count == 1 else binary


def _implementation(chosen: Callable[[Sequence[Any]], tuple[Any, Any]], count: int) -> Any:
    """What Numba asks for an implementation: ``chosen`` gives the type to compute in, and a function, or None."""

    def unary(x):  # Numba compares its signature with the lambda's: no annotations
        number, function = chosen([x])
        return None if function is None else lambda x: function(number(x))

    def binary(x, y):
        number, function = chosen([x, y])
        return None if function is None else lambda x, y: function(number(x), number(y))

    return unary if count == 1 else binary


def _overload_on_gpu(public: Any, function: Any, count: int) -> None:
    """Have GPUs compute calls of ``public`` with complex numbers by this function of such."""

    def chosen(arguments: Sequence[Any]) -> tuple[Any, Any]:
        if not any(isinstance(x, types.Complex) for x in arguments):
            return None, None
        return _common_type([as_dtype(types.unliteral(x)) for x in arguments], floating=True), function

    overload(public, jit_options=OPTIONS, target="cuda")(_implementation(chosen, count))
