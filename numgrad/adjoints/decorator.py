"""Functions of arrays that Numba compiles, as operations with derivatives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit, typeof
from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.extending import typeof_impl

from ..tensors.tensor import Tensor
from .checkpoints import Checkpoint, check_interval
from .program import DerivativeProgram
from .recording import DifferentiableCall, array_of, operation
from .shipping import reduced
from .source import NoSource, Refused, python_function, read


def differentiable(
    function: Callable[..., Any] | None = None, *, validate: bool = False, checkpoint: Checkpoint = None,
) -> Any:
    """Make a compiled function of arrays differentiable, by transforming its source.

    The function is written as for ``numba.njit``, or has been decorated with it: loops, branches, indexing, views,
    assignments to elements, scratch arrays, calls of other compiled functions.  The result is called with tensors,
    NumPy arrays and numbers.  Without tensors it returns what Numba returns; with tensors it returns tensors, and the
    whole call is one node of the graph.  Reverse mode, forward mode and second derivatives are compiled when they are
    first needed.  It runs on the CPU.

    ``f.adjoint_source(*args)`` is the reverse pass as Python, ``f.tape_bytes(*args)`` the memory that it needs.

    Args:
        function: a Python function or a dispatcher made by ``numba.njit``.
        validate: compare the gradient with finite differences at the first call with arguments of each type.
        checkpoint: bound the memory of the reverse pass.  Instead of what each iteration of the outer loops overwrites,
            it keeps their state at every ``checkpoint``-th iteration, and runs the iterations in between again;
            "sqrt" chooses the square root of the number of iterations.  The gradients are the same.

    Raises:
        TypeError: if the function cannot be differentiated, with the line and the reason, at the first call that needs
            a derivative.  Errors in the syntax are raised by the decorator.
    """

    def decorate(function: Any) -> Differentiable:
        return Differentiable(function, validate, checkpoint)

    return decorate if function is None else decorate(function)


class Differentiable:
    """Function of arrays with derivatives; see ``differentiable``."""

    def __init__(self, function: Any, validate: bool, checkpoint: Checkpoint):
        check_interval(checkpoint)
        self.py_func = python_function(function)
        self.dispatcher = function if isinstance(function, CPUDispatcher) else njit(self.py_func)
        self.validate, self.checkpoint = validate, checkpoint
        functools.update_wrapper(self, self.py_func)
        self._signature = inspect.signature(self.py_func)
        self.parameters = list(self._signature.parameters)  # their names
        self._programs: dict[Any, DerivativeProgram] = {}
        self._validated: set[Any] = set()
        self.operation = operation(self.py_func.__name__)
        _check_syntax(self.py_func)

    def __repr__(self) -> str:
        return f"<differentiable function {self.py_func.__name__}>"

    def __reduce__(self) -> Any:
        options = {name: value for name, value in self.dispatcher.targetoptions.items() if name != "nopython"}
        arguments = self.py_func, options, self.validate, self.checkpoint
        return reduced(self, _unpickled, arguments, [self.py_func])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = self._bound(args, kwargs)
        if not any(isinstance(each, Tensor) for each in arguments):
            return self.dispatcher(*arguments)
        call = DifferentiableCall(self, arguments)
        outputs = self.operation.apply(call, *[arguments[position] for position in call.positions])
        results = outputs[: len(outputs) - len(call.written)]
        return None if not results else results[0] if len(results) == 1 else results

    def _bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        if kwargs or len(args) != len(self._signature.parameters):
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return list(bound.arguments.values())
        return list(args)

    def without_functions(self, values: Sequence[Any]) -> list[Any]:
        """Return the arguments of derivatives: those that are neither functions nor None."""
        return [each for each in values if not isinstance(each, (CPUDispatcher, Differentiable)) and each is not None]

    @staticmethod
    def value_of(argument: Any) -> Any:
        """Return the value passed to Numba: the array of a tensor, or the number in a tensor without dimensions.

        Raises:
            RuntimeError: the tensor is not on the CPU.
        """
        if not isinstance(argument, Tensor):
            return argument
        array = array_of(argument)
        return array if array.ndim else array[()]

    @staticmethod
    def is_differentiable(value: Any) -> bool:
        """Return True for floating-point numbers and arrays."""
        return isinstance(value, (float, np.ndarray, np.floating)) and np.asarray(value).dtype.kind == "f"

    # -- programs

    def program(self, values: Sequence[Any], by: Sequence[str]) -> DerivativeProgram:
        """Return the program of derivatives with respect to the parameters ``by``, for the types of these arguments."""
        values = [_dispatcher_of(each) for each in values]
        callables = {
            name: each for name, each in zip(self.parameters, values, strict=True)
            if isinstance(each, CPUDispatcher) or each is None
        }
        same = _same_arrays(self.parameters, values)
        key = tuple(map(_kind_key, values)), tuple(by), tuple(same)
        if key not in self._programs:
            kinds = map(typeof, values)
            kept = [kind for kind, name in zip(kinds, self.parameters, strict=True) if name not in callables]
            self._programs[key] = DerivativeProgram(self.py_func, kept, callables, by, same, self.checkpoint)
        program = self._programs[key]
        if program.written:
            self._check_memory(values, same)
        return program

    def _check_memory(self, values: Sequence[Any], same: Sequence[tuple[str, str]]) -> None:
        """Raise an error if the function writes into an argument and arguments are partly overlapping views."""
        named = zip(self.parameters, values, strict=True)
        arrays = [(name, each) for name, each in named if isinstance(each, np.ndarray)]
        for position, (name, array) in enumerate(arrays):
            for other, another in arrays[position + 1 :]:
                if (name, other) not in same and np.may_share_memory(array, another):
                    raise Refused(
                        f"{self.py_func.__name__}: '{name}' and '{other}' are different views of the same memory, and "
                        "the function writes into an argument: pass copies"
                    )

    def _values(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], list[str]]:
        values = [self.value_of(each) for each in self._bound(args, kwargs)]
        by = [name for name, each in zip(self.parameters, values, strict=True) if self.is_differentiable(each)]
        return values, by

    def adjoint_source(self, *args: Any, **kwargs: Any) -> str:
        """Return the source of the reverse pass in Python, for the types of these arguments."""
        values, by = self._values(args, kwargs)
        return self.program(values, by).adjoint.source

    def tape_bytes(self, *args: Any, **kwargs: Any) -> int:
        """Return the number of bytes that the reverse pass stores for these arguments."""
        values, by = self._values(args, kwargs)
        return self.program(values, by).tape_bytes(self.without_functions(values))

    # -- validation

    def check(self, program: DerivativeProgram, values: list[Any]) -> None:
        """Compare a directional derivative with finite differences, once for each program.

        Raises:
            RuntimeError: they differ.
        """
        if not self.validate or id(program) in self._validated:
            return
        self._validated.add(id(program))
        generator = np.random.default_rng(0)
        derivative, estimates = 0.0, []
        directions = {
            name: generator.normal(size=np.shape(values[self.parameters.index(name)])) for name in program.by
        }
        results = self._outputs(program, values)
        weights = [generator.normal(size=np.shape(each)) for each in results]
        count = len(program.normal.results)
        seeds = [
            np.asarray(weight, np.asarray(result).dtype) if np.ndim(result) else float(weight)
            for weight, result, has in zip(weights, results, program.has_derivative, strict=False) if has
        ]
        of_written = dict(zip(program.written, weights[count:], strict=True))
        gradients = program.gradients(self.without_functions(values), seeds, of_written)
        for name, gradient in zip(program.by, gradients, strict=True):
            derivative += 0.0 if gradient is None else float(np.sum(gradient * directions[name]))
        single = any(np.asarray(values[self.parameters.index(name)]).dtype == np.float32 for name in program.by)
        for step in (1e-2, 1e-3) if single else (1e-5, 1e-6):
            sides = []
            for sign in (step, -step):
                moved = [
                    _moved(each, sign * directions[name]) if name in directions else _copied(each)
                    for name, each in zip(self.parameters, values, strict=True)
                ]
                for first, second in program.same:
                    moved[self.parameters.index(second)] = moved[self.parameters.index(first)]
                outputs = self._outputs(program, moved)
                sides.append(sum(
                    float(np.sum(weight * each)) for weight, each in zip(weights, outputs, strict=True)
                    if np.asarray(each).dtype.kind == "f"
                ))
            estimates.append((sides[0] - sides[1]) / (2 * step))
        tolerance = 5e-2 if single else 1e-4
        if not any(abs(derivative - each) <= tolerance * (1 + abs(each)) for each in estimates):
            raise RuntimeError(
                f"{self.py_func.__name__}: the derivative {derivative:.9g} differs from finite differences, "
                f"{' and '.join(f'{each:.9g}' for each in estimates)}: the function may have a kink or jump here"
            )

    def _outputs(self, program: DerivativeProgram, values: Sequence[Any]) -> list[Any]:
        copies = [_copied(each) for each in values]
        for first, second in program.same:
            copies[self.parameters.index(second)] = copies[self.parameters.index(first)]
        results = self.dispatcher(*copies)
        results = [] if results is None else list(results) if isinstance(results, tuple) else [results]
        return [*results, *[copies[each] for each in program.written]]


def _unpickled(function: Any, options: dict[str, Any], validate: bool, checkpoint: Checkpoint) -> Differentiable:
    return Differentiable(njit(**options)(function), validate, checkpoint)


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _moved(value: Any, by: Any) -> Any:
    return (value + by).astype(value.dtype) if isinstance(value, np.ndarray) else value + float(by)


def _dispatcher_of(value: Any) -> Any:
    return value.dispatcher if isinstance(value, Differentiable) else value


def _kind_key(value: Any) -> Any:
    """Return a key that differs if Numba's types of two arguments differ; for arrays in a tenth of the time."""
    if value.__class__ is not np.ndarray:
        return typeof(value)
    flags = value.flags
    return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.aligned, flags.writeable


def _same_arrays(parameters: Sequence[str], values: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the pairs of parameters whose arguments are the same array."""
    first: dict[Any, str] = {}
    same = []
    for name, value in zip(parameters, values, strict=True):
        if isinstance(value, np.ndarray):
            key = value.__array_interface__["data"][0], value.shape, value.strides, value.dtype
            if key in first and value.size:
                same.append((first[key], name))
            first.setdefault(key, name)
    return same


def _check_syntax(function: Callable[..., Any]) -> None:
    try:
        tree = read(function)
    except NoSource:  # it may be called, but has no derivative
        return
    if function.__code__.co_kwonlyargcount:
        raise Refused("parameters must be positional: no keyword-only ones", tree)


@typeof_impl.register(Differentiable)
def _type_of(value: Differentiable, context: Any) -> types.Type:
    """Let compiled functions call a differentiable one."""
    return typeof_impl(value.dispatcher, context)
