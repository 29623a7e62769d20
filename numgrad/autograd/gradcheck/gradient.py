"""The gradient of a function as a function itself, whose derivatives are the function's second ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import random
from ..backward import grad
from .directions import random_like, tensor_of
from .problem import as_tuple, differentiable, differentiable_inputs


def gradient_of(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any, with_gaps: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the inputs and of the gradients of the outputs, and its arguments.

    Args:
        func: takes the inputs and returns a tensor or several.
        inputs: those of them that require a gradient are differentiated with respect to.
        grad_outputs: the gradients of the outputs that require one, random if None is given for all of them; outputs
            for which None is given are left out.
        with_gaps: whether random gradients lie in memory with gaps.

    Raises:
        ValueError: no input requires a gradient, or no output.
    """
    given = as_tuple(inputs)
    chosen = differentiable_inputs(given)
    weights = _random_gradients(as_tuple(func(*given)), with_gaps) if grad_outputs is None else as_tuple(grad_outputs)
    if all(weight is None for weight in weights):
        raise ValueError("gradgradcheck expects a function with an output that requires a gradient, but it has none")

    def gradient(*arguments: Any) -> tuple[Any, ...]:
        results = as_tuple(func(*arguments[: len(given)]))
        recorded = [results[number] for number in differentiable(results)]
        if len(recorded) != len(weights):
            raise RuntimeError(f"got {len(recorded)} tensors and {len(weights)} gradients")
        sent = [(y, weight) for y, weight in zip(recorded, arguments[len(given) :], strict=True) if weight is not None]
        wanted = [arguments[number] for number in chosen]
        outputs, gradients = zip(*sent, strict=True)
        found = grad(outputs, wanted, gradients, create_graph=True, allow_unused=True)
        return tuple(value for value in found if value is not None)

    return gradient, (*given, *weights)


def _random_gradients(outputs: tuple[Any, ...], with_gaps: bool) -> tuple[Any, ...]:
    """For each output that requires a gradient a random one that requires a gradient itself."""

    def uniform(size: int, dtype: np.dtype) -> np.ndarray:
        return random.default_generator.uniform(size, dtype, -1.0, 1.0)

    gradients = []
    for y in [outputs[number] for number in differentiable(outputs)]:
        values = random_like(y, uniform)
        if with_gaps and values.ndim:
            gradient = tensor_of(np.repeat(values, 2, axis=-1), y)[..., ::2]
        else:
            gradient = tensor_of(values, y)
        gradients.append(gradient.requires_grad_())
    return tuple(gradients)
