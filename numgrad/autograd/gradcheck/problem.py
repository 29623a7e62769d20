"""What gradcheck is given: a function and its arguments; which of them, and of its outputs, are differentiable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ...core.layout import overlaps_itself
from ..checks import is_tensor


def as_tuple(values: Any) -> tuple[Any, ...]:
    """Several values as a tuple, one value as a tuple of it."""
    return tuple(values) if isinstance(values, Iterable) and not is_tensor(values) else (values,)


def _continuous(value: Any) -> bool:
    return is_tensor(value) and (value.is_floating_point() or value.is_complex())


def differentiable(values: Iterable[Any]) -> list[int]:
    """The numbers of the values that are tensors which require a gradient."""
    return [number for number, value in enumerate(values) if _continuous(value) and value.requires_grad]


def differentiable_inputs(given: Iterable[Any]) -> list[int]:
    """The numbers of the arguments that a function is differentiated with respect to.

    Raises:
        ValueError: there is none.
    """
    numbers = differentiable(given)
    if not numbers:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return numbers


class Problem:
    """A function whose derivatives are to be checked, at a point.

    Attributes:
        arguments: the numbers of those arguments of the function that it is differentiated with respect to.
        inputs: those arguments: floating-point and complex tensors that require a gradient.
        outputs: the function's outputs that require a gradient.
    """

    def __init__(self, func: Callable[..., Any], given: tuple[Any, ...]):
        """``given`` are all arguments.

        Raises:
            ValueError: none of the arguments requires a gradient.
            RuntimeError: elements of an input share memory.
            TypeError: the function returned something else than tensors.
        """
        self._func = func
        self._given = given
        self.arguments = differentiable_inputs(given)
        self.inputs = [given[number] for number in self.arguments]
        for number, x in zip(self.arguments, self.inputs, strict=True):
            _check_input(number, x)
        self._count: int | None = None  # of the function's outputs, once it was called
        results = self._results({})
        self._chosen = differentiable(results)
        self._others = [number for number, y in enumerate(results) if _continuous(y)]
        self.outputs = [results[number] for number in self._chosen]

    def evaluate(self, replaced: dict[int, Any] | None = None) -> list[Any]:
        """The outputs, computed anew; ``replaced`` has what to take for some inputs, by their numbers."""
        return self._pick(self._chosen, replaced or {})

    def evaluate_all(self) -> list[Any]:
        """Floating-point and complex outputs, whether they require a gradient or not."""
        return self._pick(self._others, {})

    def _pick(self, chosen: list[int], replaced: dict[int, Any]) -> list[Any]:
        results = self._results(replaced)
        return [results[number] for number in chosen]

    def _results(self, replaced: dict[int, Any]) -> tuple[Any, ...]:
        given = list(self._given)
        for key, value in replaced.items():
            given[self.arguments[key]] = value
        results = as_tuple(self._func(*given))
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
        what = "a dimension with stride 0" if stretched else "elements that share memory"
        raise RuntimeError(
            f"The {number}th input has {what}. gradcheck only supports inputs that are non-overlapping to be able to "
            "compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
            f"to gradcheck. (It has the shape {list(x.shape)} and the strides {list(x.stride())}.)"
        )
