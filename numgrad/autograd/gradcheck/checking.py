"""Checks of gradcheck: Jacobians against finite differences; zero, undefined and batched gradients and tangents."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import random
from ..backward import grad
from ..errors import GradcheckError
from ..function import Function
from ..functional.gradients import materialized
from ..operations import operations
from . import jacobians
from .jacobians import Derivatives, DtypePairs, Probe
from .problem import Problem

#: A Jacobian by finite differences and the same one by automatic differentiation.
_Pair = tuple[np.ndarray, np.ndarray]

#: Real and imaginary part of numbers, keyed by unit.
_PARTS: dict[complex, Callable[[Any], Any]] = {1: np.real, 1j: np.imag}


class Comparison:
    """Comparison of the Jacobians of a problem, in full or, if ``fast``, multiplied with random vectors.

    Args:
        problem: the function and the point at which it is differentiated.
        eps: the step of the finite differences.
        atol: absolute tolerance of the Jacobians' elements.
        rtol: relative tolerance.
        nondet_tol: the largest allowed difference between the gradients of two runs of backward.
        check_dtypes: True if gradients must have their inputs' dtypes, and tangents their outputs'.
        fast: True to multiply with random vectors.
    """

    def __init__(
        self, problem: Problem, eps: float, atol: float, rtol: float, nondet_tol: float, check_dtypes: bool, fast: bool
    ):
        self._problem = problem
        self._eps, self._atol, self._rtol = eps, atol, rtol
        self._nondet_tol = nondet_tol
        self._check_dtypes = check_dtypes
        self._fast = fast
        self._probe = jacobians.probe(problem.inputs, problem.outputs, fast)

    def check_all_zero(self) -> None:
        """Check that the outputs, none of which requires a gradient, do not change with the inputs."""
        numerical = self._numerical(self._problem.evaluate_all, self._probe)
        for argument, derivatives in zip(self._problem.arguments, numerical, strict=True):
            if any(matrix.any() for by_unit in derivatives for matrix in by_unit.values()):
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero: no output requires a gradient, but the "
                    f"outputs change with argument {argument} of the function. Is something detached, or recording off "
                    "(no_grad)?"
                )

    def check(self, forward: bool) -> None:
        """Compare the gradients of all outputs or, if ``forward``, the tangents along all inputs.

        The imaginary and the real parts of complex tensors are checked one after the other.
        """
        problem = self._problem
        tensors, which = (problem.inputs, "inputs") if forward else (problem.outputs, "outputs")
        both = self._by_forward if forward else self._by_backward
        for unit, name in ((1j, "imaginary"), (1, "real")):
            for index, tensor in enumerate(tensors):
                if unit not in jacobians.units_of(tensor):
                    continue
                pairs = both(index, unit, self._probe, self._measured)
                for other, (numerical, analytical) in enumerate(pairs):
                    i, k = (other, index) if forward else (index, other)
                    scale = self._input_scale(k) * (1.0 if forward else self._probe.outputs[i].sum())
                    if not np.isclose(analytical, numerical, self._rtol, self._atol * scale).all():
                        mode = "computed with forward mode " if forward else ""
                        heading = f"Jacobian {mode}mismatch for output {i} with respect to input {k},\n"
                        if tensor.is_complex():
                            heading = f"While considering the {name} part of complex {which} only, {heading}"
                        raise GradcheckError(heading + self._account(i, k, forward, unit, numerical, analytical))

    def _by_backward(self, i: int, unit: complex, by: Probe, measured: list[Derivatives]) -> list[_Pair]:
        """Return for each input both Jacobians of an output's part, projected on both sides."""
        weights, differing = by.outputs[i], DtypePairs()
        runs = [
            jacobians.vector_jacobian_products(self._problem.outputs[i], self._problem.inputs, weights, unit, differing)
            for _ in range(2 if by is self._probe else 1)
        ]
        difference = max(jacobians.largest_difference(a, b) for a, b in zip(runs[0], runs[-1], strict=True))
        if not difference <= self._nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {self._nondet_tol}. The largest difference was "
                f"{difference:.6g}.\n\nIf backward is meant not to be deterministic, pass a larger nondet_tol."
            )
        self._raise_for_dtypes(differing)
        pairs = []
        for rows, directions, derivatives in zip(runs[0], by.inputs, measured, strict=True):
            analytical = {axis: line.project(_PARTS[axis](rows)) for axis, line in directions.items()}
            numerical = {axis: _PARTS[unit](matrix) for axis, matrix in derivatives[i].items()}
            pairs.append((weights.project(jacobians.combined(numerical)), jacobians.combined(analytical).T))
        return pairs

    def _by_forward(self, k: int, unit: complex, by: Probe, measured: list[Derivatives]) -> list[_Pair]:
        """Return for each output both Jacobians with respect to an input's part, projected on one side."""
        differing = DtypePairs()
        products = jacobians.jacobian_vector_products(
            self._problem.evaluate, self._problem.inputs, k, by.inputs[k][unit], unit, differing
        )
        self._raise_for_dtypes(differing)
        return [(by_unit[unit], rows) for rows, by_unit in zip(products, measured[k], strict=True)]

    def _raise_for_dtypes(self, differing: DtypePairs) -> None:
        if self._check_dtypes:
            for expected, actual in differing:
                raise GradcheckError(f"Gradient has dtype mismatch: it is {actual}, but is to be {expected}")

    @functools.cached_property
    def _measured(self) -> list[Derivatives]:
        """Derivatives by finite differences along the probe's directions."""
        measured = self._numerical(self._problem.evaluate, self._probe)
        for of_input in measured:
            for y, by_unit in zip(self._problem.outputs, of_input, strict=True):
                if by_unit[1].shape[1] != y.numel():
                    raise AssertionError(
                        "Expected `func` to return outputs with the same shape when inputs are perturbed, but got "
                        f"{y.numel()} elements and {by_unit[1].shape[1]}."
                    )
        return measured

    def _numerical(self, evaluate: Callable[[], list[Any]], by: Probe) -> list[Derivatives]:
        """Return for each input the derivatives of all outputs along the probe's directions."""
        return [
            jacobians.derivatives_along(evaluate, x, directions, self._eps)
            for x, directions in zip(self._problem.inputs, by.inputs, strict=True)
        ]

    def _input_scale(self, k: int) -> float:
        """Return the factor by which equal errors in all elements add up in a component, for all parts of the input."""
        return sum(directions.sum() for directions in self._probe.inputs[k].values()) if self._fast else 1.0

    # -- texts -----------------------------------------------------------------------------------------------

    def _account(
        self, i: int, k: int, forward: bool, unit: complex, numerical: np.ndarray, analytical: np.ndarray
    ) -> str:
        """Return a report of both Jacobians, with one row per input element, and of their worst entry.

        In fast mode, it starts with the numbers, or in forward mode the vectors, that were compared.
        """
        x = self._problem.inputs[k]
        if not self._fast:
            return (
                f"numerical:{_shown(numerical, x)}\nanalytical:{_shown(analytical, x)}\n\n"
                f"{self._worst_entry(i, k, numerical, analytical)}"
            )
        compared: Any = 0 if forward else (0, 0)
        text = f"numerical:{_shown(numerical[compared], x)}\nanalytical:{_shown(analytical[compared], x)}\n"
        every = jacobians.probe(self._problem.inputs, self._problem.outputs, fast=False)
        measured = self._numerical(self._problem.evaluate, every)
        if forward:
            numerical, analytical = self._by_forward(k, unit, every, measured)[i]
        else:
            numerical, analytical = self._by_backward(i, unit, every, measured)[k]
        with np.errstate(invalid="ignore"):
            difference = np.abs(numerical - analytical).max(initial=0.0)
        text += (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
            "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
            "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
            f"Numerical:\n {_shown(numerical, x)}\nAnalytical:\n{_shown(analytical, x)}\n\n"
            f"The max per-element difference (slow mode) is: {difference}.\n"
        )
        if np.isclose(analytical, numerical, self._rtol, self._atol).all():
            text += (
                "Fast gradcheck failed but element-wise differences are small. This means that the\n"
                "test might've passed in slow_mode! Call it with fast_mode=False to see.\n"
            )
        return f"{text}\n{self._worst_entry(i, k, numerical, analytical)}"

    def _worst_entry(self, i: int, k: int, numerical: np.ndarray, analytical: np.ndarray) -> str:
        """Return a report of the entry where two Jacobians differ most beyond the tolerance."""
        y, x = self._problem.outputs[i], self._problem.inputs[k]
        off = ~np.isclose(analytical, numerical, self._rtol, self._atol)
        with np.errstate(invalid="ignore"):
            difference = np.abs(analytical - numerical)
            allowed = self._atol + self._rtol * np.abs(numerical)
            excess = difference - allowed
        at = np.unravel_index(excess.argmax(), excess.shape)  # the first NaN if there is one
        over = "exceeds" if off[at] else "is within"
        return (
            f"The worst entry, of {off.sum()} out of tolerance among {off.size}: output{_index(at[1], y)} with respect "
            f"to input{_index(at[0], x)}.\n"
            f"There the numerical value is {numerical[at]} and the analytical one {analytical[at]}. The "
            f"difference {difference[at]:.6g} {over}\n"
            f"atol + rtol * |numerical| = {allowed[at]:.6g} by {abs(excess[at]):.6g}.\n"
            f"Output {i} has the shape {list(y.shape)} and the dtype {y.dtype}, "
            f"input {k} (argument {self._problem.arguments[k]} of the function)\n"
            f"the shape {list(x.shape)} and the dtype {x.dtype}."
        )


def _shown(values: Any, like: Any) -> Any:
    return jacobians.tensor_of(values, like) if values.ndim else values.item()


def _index(number: Any, tensor: Any) -> str:
    """Format the multi-index of a tensor's element with this flat index: ``[0, 1]``, or an empty string for 0-d."""
    index = np.unravel_index(number, tensor.shape)
    return f"[{', '.join(str(int(number)) for number in index)}]" if index else ""


# -- zero and undefined gradients and tangents ---------------------------------------------------------------


def check_zero_gradients(problem: Problem) -> None:
    """Check that zero gradients of the outputs give zero gradients of the inputs."""
    zeros = [jacobians.zeros_like(y) for y in problem.outputs]
    if _any_nonzero(grad(problem.outputs, problem.inputs, zeros, retain_graph=True, allow_unused=True)):
        raise GradcheckError("backward not multiplied by grad_output")


def _any_nonzero(gradients: Sequence[Any]) -> bool:
    return any(gradient is not None and jacobians.array_of(gradient).any() for gradient in gradients)


class _Undefined(Function):
    """Identity that passes no gradient on."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> None:
        return None


def check_undefined_gradients(problem: Problem) -> None:
    """Check that backward treats missing gradients of some or all outputs as zeros."""
    count = len(problem.outputs)
    for undefined in [set(range(count)), *([{number} for number in range(count)] if count > 1 else [])]:
        outputs = problem.evaluate()
        results = [_Undefined.apply(y) if number in undefined else y for number, y in enumerate(outputs)]
        try:
            gradients = grad(results, problem.inputs, [jacobians.zeros_like(y) for y in outputs], allow_unused=True)
        except RuntimeError as error:
            raise _undefined_error("Expected backward function to handle undefined output grads.") from error
        if _any_nonzero(gradients):
            raise _undefined_error(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
            )


def _undefined_error(expectation: str) -> GradcheckError:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
        "break existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        UserWarning,
        stacklevel=4,
    )
    return GradcheckError(
        f"{expectation} A Function that calls ctx.set_materialize_grads(False) is given None for the gradient of an "
        "output that nothing depends on, and is to treat it as zeros."
    )


def check_undefined_tangents(problem: Problem) -> None:
    """Check that an input without a tangent gives the same output tangents as an input with a zero tangent."""
    tangents = {}
    for key, x in enumerate(problem.inputs):
        numbers = np.random.default_rng(key).uniform(0.5, 1.5, x.shape)
        tangents[key] = jacobians.tensor_of(numbers.astype(x.dtype.numpy), x)
    for key, x in enumerate(problem.inputs):
        others = {other: tangent for other, tangent in tangents.items() if other != key}
        undefined = _tangents(problem, others)
        zero = _tangents(problem, {**others, key: jacobians.zeros_like(x)})
        for number, got, expected in _differences(undefined, zero):
            raise GradcheckError(
                f"Mismatch in tangent values for output with index: {number} when input: {x} (argument "
                f"{problem.arguments[key]} of the function) has an undefined tangent value.  Got: {got} but expected: "
                f"{expected}, as for a tangent of zeros."
            )


def _tangents(problem: Problem, tangents: dict[int, Any]) -> tuple[Any, ...]:
    """Return the outputs' tangents, with zeros for outputs that have none."""
    pairs = jacobians.tangents_of(problem.evaluate, problem.inputs, tangents)
    return materialized([pair.tangent for pair in pairs], problem.outputs)


# -- batches -------------------------------------------------------------------------------------------------

_BATCHED_GRADIENTS = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation.\n"
    "Each gradient of a batch (backward inside of `torch.func.vmap`) is to equal the one computed without vmap.\n"
    "Where that is not needed, pass check_batched_grad=False."
)
_BATCHED_TANGENTS = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD.\n"
    "Each tangent of a batch (forward mode inside of `torch.func.vmap`) is to equal the one computed without vmap.\n"
    "Where that is not needed, pass check_batched_forward_grad=False."
)


def check_batched_gradients(problem: Problem) -> None:
    """Check that a batch of gradients for an output gives the same results as each of them alone."""

    def gradients(number: int, gradient: Any) -> tuple[Any, ...]:
        computed = grad([problem.outputs[number]], problem.inputs, [gradient], retain_graph=True, allow_unused=True)
        return materialized(computed, problem.inputs)

    _check_batches(gradients, problem.outputs, forward=False)


def check_batched_tangents(problem: Problem) -> None:
    """Check that a batch of tangents of an input gives the same results as each of them alone."""
    _check_batches(lambda key, tangent: _tangents(problem, {key: tangent}), problem.inputs, forward=True)


def _check_batches(function: Callable[[int, Any], tuple[Any, ...]], tensors: Sequence[Any], forward: bool) -> None:
    """Compare ``function(number, value)`` for a batch of two values per tensor with its results for single values.

    The function returns the tangents of the outputs for a tangent of an input if ``forward``, and the gradients of the
    inputs for a gradient of an output otherwise.

    Raises:
        GradcheckError: the results differ, or the function raises for a batch.
    """
    explanation = _BATCHED_TANGENTS if forward else _BATCHED_GRADIENTS
    for index, tensor in enumerate(tensors):
        draws = [jacobians.random_like(tensor, random.default_generator.normal) for _ in range(2)]
        batch = [jacobians.tensor_of(values, tensor) for values in draws]
        alone = [function(index, value) for value in batch]
        try:
            together = operations.for_each(functools.partial(function, index), (operations.stack(batch),), len(batch))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{explanation}") from error
        apart = [operations.stack(list(column)) for column in zip(*alone, strict=True)]
        for other, got, expected in _differences(together, apart):
            i, k = (other, index) if forward else (index, other)
            raise GradcheckError(
                f"For output {i} and input {k}:\n\n{explanation}\n\nGot:\n{got}\n\nExpected:\n{expected}"
            )


def _differences(got: Sequence[Any], expected: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Yield index, result and expected value of the pairs that differ by more than rounding."""
    for number, (a, b) in enumerate(zip(got, expected, strict=True)):
        if not np.allclose(jacobians.array_of(a), jacobians.array_of(b), rtol=1e-5, atol=1e-8, equal_nan=True):
            yield number, a.detach(), b.detach()
