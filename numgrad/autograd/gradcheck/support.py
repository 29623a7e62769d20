"""What a derivative is to support besides being right: zero, undefined and batched gradients and tangents."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import random
from ..backward import grad
from ..function import Function
from ..operations import operations
from . import GradcheckError
from .analytical import tangents_of
from .directions import array_of, random_like, tensor_of
from .errors import batched_error, batching_error, undefined_error, undefined_tangent_error
from .problem import Problem

#: How many gradients or tangents make a batch.
BATCH = 2


def check_zero_gradients(problem: Problem) -> None:
    """Gradients of zeros for the outputs give gradients of zeros for the inputs."""
    zeros = [_zeros(y) for y in problem.outputs]
    for gradient in grad(problem.outputs, problem.inputs, zeros, retain_graph=True, allow_unused=True):
        if gradient is not None and array_of(gradient).any():
            raise GradcheckError("backward not multiplied by grad_output")


class _Undefined(Function):
    """Passes no gradient on."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> None:
        return None


def check_undefined_gradients(problem: Problem) -> None:
    """Backward takes it that some outputs, or all, have no gradient, as if their gradients were zeros."""
    count = len(problem.outputs)
    for undefined in [set(range(count)), *([{number} for number in range(count)] if count > 1 else [])]:
        outputs = problem.evaluate()
        given = [_Undefined.apply(y) if number in undefined else y for number, y in enumerate(outputs)]
        weights = [_zeros(y) for y in outputs]
        try:
            gradients = grad(given, problem.inputs, weights, allow_unused=True)
        except RuntimeError as error:
            _warn_of_undefined()
            raise undefined_error(handled=False) from error
        if any(gradient is not None and array_of(gradient).any() for gradient in gradients):
            _warn_of_undefined()
            raise undefined_error(handled=True)


def _warn_of_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
        "break existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        UserWarning,
        stacklevel=4,
    )


def check_undefined_tangents(problem: Problem) -> None:
    """An input without a tangent gives the outputs the tangents that one with a tangent of zeros gives them."""
    tangents = {}
    for key, x in enumerate(problem.inputs):
        tangents[key] = tensor_of(np.random.default_rng(key).uniform(0.5, 1.5, x.shape).astype(x.dtype.numpy), x)
    for key, x in enumerate(problem.inputs):
        others = {other: tangent for other, tangent in tangents.items() if other != key}
        undefined = _tangents(problem, others)
        zero = _tangents(problem, {**others, key: _zeros(x)})
        difference = _first_difference(undefined, zero)
        if difference is not None:
            number, got, expected = difference
            raise undefined_tangent_error(number, problem.arguments[key], x, got, expected)


def check_batched_gradients(problem: Problem) -> None:
    """A batch of gradients for an output gives what each of them gives."""
    for number, y in enumerate(problem.outputs):
        difference = _batch_difference(functools.partial(_gradients, problem, y), y, forward=False)
        if difference is not None:
            raise batched_error(number, *difference, forward=False)


def check_batched_tangents(problem: Problem) -> None:
    """A batch of tangents of an input gives what each of them gives."""
    for key, x in enumerate(problem.inputs):
        difference = _batch_difference(lambda tangent, key=key: _tangents(problem, {key: tangent}), x, forward=True)
        if difference is not None:
            number, got, expected = difference
            raise batched_error(number, key, got, expected, forward=True)


def _batch_difference(
    function: Callable[..., tuple[Any, ...]], like: Any, *, forward: bool
) -> tuple[int, Any, Any] | None:
    """Where a function of a whole batch, called once, first gives something else than for each; None if nowhere."""
    batch = _random_batch(like)
    alone = [function(value) for value in batch]
    try:
        together = tuple(operations.for_each(function, (operations.stack(batch),), len(batch)))
    except RuntimeError as error:
        raise batching_error(error, forward=forward) from error
    return _first_difference(together, _stacked(alone))


def _gradients(problem: Problem, output: Any, gradient: Any) -> tuple[Any, ...]:
    """The inputs' gradients for that of an output, zeros for inputs that it does not depend on."""
    found = grad([output], problem.inputs, [gradient], retain_graph=True, allow_unused=True)
    return tuple(_zeros(x) if value is None else value for x, value in zip(problem.inputs, found, strict=True))


def _tangents(problem: Problem, tangents: dict[int, Any]) -> tuple[Any, ...]:
    """The outputs' tangents, zeros for outputs that have none."""
    pairs = tangents_of(problem.evaluate, problem.inputs, tangents)
    return tuple(
        _zeros(y) if pair.tangent is None else pair.tangent for y, pair in zip(problem.outputs, pairs, strict=True)
    )


def _stacked(rows: list[Any]) -> list[Any]:
    return [operations.stack(list(column)) for column in zip(*rows, strict=True)]


def _first_difference(got: Sequence[Any], expected: Sequence[Any]) -> tuple[int, Any, Any] | None:
    """The number of the first pair that differs, with the pair; None if all are the same but for rounding."""
    for number, (a, b) in enumerate(zip(got, expected, strict=True)):
        if not np.allclose(array_of(a), array_of(b), rtol=1e-5, atol=1e-8, equal_nan=True):
            return number, a.detach(), b.detach()
    return None


def _random_batch(like: Any) -> list[Any]:
    return [tensor_of(random_like(like, random.default_generator.normal), like) for _ in range(BATCH)]


def _zeros(like: Any) -> Any:
    return tensor_of(np.zeros(like.shape, like.dtype.numpy), like)
