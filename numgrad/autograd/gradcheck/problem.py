"""Functions checked by gradcheck: their differentiable arguments and outputs, and their gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import random
from ...core.layout import overlaps_itself
from ..backward import grad
from ..checks import is_tensor
from .jacobians import random_like, tensor_of


def as_tuple(values: Any) -> tuple[Any, ...]:
    """Return several values as a tuple, and one value as a tuple of it."""
    return tuple(values) if isinstance(values, Iterable) and not is_tensor(values) else (values,)


def _continuous(value: Any) -> bool:
    return is_tensor(value) and (value.is_floating_point() or value.is_complex())


def _differentiable(values: Iterable[Any]) -> list[int]:
    """Return the indices of the values that are tensors requiring a gradient."""
    return [number for number, value in enumerate(values) if _continuous(value) and value.requires_grad]


def _differentiable_inputs(arguments: Iterable[Any]) -> list[int]:
    """Return the indices of the arguments that a function is differentiated with respect to.

    Raises:
        ValueError: no argument requires a gradient.
    """
    numbers = _differentiable(arguments)
    if not numbers:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return numbers


class Problem:
    """Function whose derivatives are checked, and the arguments at which they are checked.

    Attributes:
        arguments: the indices of the function's arguments that it is differentiated with respect to.
        inputs: those arguments: floating-point and complex tensors that require a gradient.
        outputs: the function's outputs that require a gradient.
    """

    def __init__(self, func: Callable[..., Any], inputs: Any):
        """Evaluate ``func`` at ``inputs``, its argument or a sequence of all its arguments.

        Raises:
            ValueError: none of the arguments requires a gradient.
            RuntimeError: elements of an input share memory.
            TypeError: the function returned a value that is not a tensor.
        """
        self._func = func
        self._values = values = as_tuple(inputs)
        self.arguments = _differentiable_inputs(values)
        self.inputs = [values[number] for number in self.arguments]
        for number, x in zip(self.arguments, self.inputs, strict=True):
            _check_input(number, x)
        self._count: int | None = None  # number of the function's outputs, set by the first call
        results = self._results({})
        self._chosen = _differentiable(results)
        self.outputs = [results[number] for number in self._chosen]

    def evaluate(self, replaced: dict[int, Any] | None = None) -> list[Any]:
        """Return the outputs, computed again; ``replaced`` has values for some of the inputs, keyed by number."""
        results = self._results(replaced or {})
        return [results[number] for number in self._chosen]

    def evaluate_all(self) -> list[Any]:
        """Return the floating-point and complex outputs, including those that require no gradient."""
        return [y for y in self._results({}) if _continuous(y)]

    def _results(self, replaced: dict[int, Any]) -> tuple[Any, ...]:
        arguments = list(self._values)
        for key, value in replaced.items():
            arguments[self.arguments[key]] = value
        results = as_tuple(self._func(*arguments))
        for number, result in enumerate(results):
            if not is_tensor(result):
                raise TypeError(
                    "gradcheck expects a function that returns a Tensor or a sequence of Tensors, but its output "
                    f"{number} is a {type(result).__name__}"
                )
        if self._count is None:
            self._count = len(results)
        if len(results) != self._count:
            raise AssertionError(
                f"Expected `func` to return the same number of outputs at each call, but got: {self._count} and "
                f"{len(results)}."
            )
        return results


def _check_input(number: int, x: Any) -> None:
    if x.dtype.itemsize != (16 if x.is_complex() else 8):
        warnings.warn(
            f"Input #{number} requires gradient and is not a double precision floating point or complex. This check "
            "will likely fail if all the inputs are not of double precision floating point or complex. "
            f"(It has the dtype {x.dtype}.)",
            UserWarning,
            stacklevel=4,
        )
    if overlaps_itself(x.shape, x.stride()):
        stretched = any(extent > 1 and not stride for extent, stride in zip(x.shape, x.stride(), strict=True))
        reason = "a dimension with stride 0" if stretched else "elements that share memory"
        raise RuntimeError(
            f"The {number}th input has {reason}. gradcheck only supports inputs that are non-overlapping to be able to "
            "compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
            f"to gradcheck. (It has the shape {list(x.shape)} and the strides {list(x.stride())}.)"
        )


# -- gradients as functions ----------------------------------------------------------------------------------


def gradient_of(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any, with_gaps: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the gradient as a function of the inputs and the gradients of the outputs, and its arguments.

    Args:
        func: takes the inputs and returns one or several tensors.
        inputs: the arguments; derivatives are by those that require a gradient.
        grad_outputs: the gradients of the outputs that require one, random if None; outputs whose entry is None are
            omitted.
        with_gaps: True to make random gradients non-contiguous.

    Raises:
        ValueError: no input or no output requires a gradient.
    """
    values = as_tuple(inputs)
    chosen = _differentiable_inputs(values)
    if grad_outputs is None:
        results = as_tuple(func(*values))
        weights = tuple(_random_gradient(results[number], with_gaps) for number in _differentiable(results))
    else:
        weights = as_tuple(grad_outputs)
    if all(weight is None for weight in weights):
        raise ValueError("gradgradcheck expects a function with an output that requires a gradient, but it has none")

    def gradient(*arguments: Any) -> tuple[Any, ...]:
        results = as_tuple(func(*arguments[: len(values)]))
        recorded = [results[number] for number in _differentiable(results)]
        if len(recorded) != len(weights):
            raise RuntimeError(f"got {len(recorded)} tensors and {len(weights)} gradients")
        sent = [(y, weight) for y, weight in zip(recorded, arguments[len(values) :], strict=True) if weight is not None]
        outputs, gradients = zip(*sent, strict=True)
        differentiated = [arguments[number] for number in chosen]
        computed = grad(outputs, differentiated, gradients, create_graph=True, allow_unused=True)
        return tuple(value for value in computed if value is not None)

    return gradient, (*values, *weights)


def _random_gradient(y: Any, with_gaps: bool) -> Any:
    """Return a random gradient for an output, in [-1, 1), that itself requires a gradient."""
    values = random_like(y, lambda size, dtype: random.default_generator.uniform(size, dtype, -1.0, 1.0))
    if with_gaps and values.ndim:
        return tensor_of(np.repeat(values, 2, axis=-1), y)[..., ::2].requires_grad_()
    return tensor_of(values, y).requires_grad_()
