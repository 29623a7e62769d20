"""Jacobians by central finite differences: ``(f(x + eps) - f(x - eps)) / (2 eps)``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks import is_tensor
from .directions import Directions, array_of, tensor_of, units_of, write_back

#: For each output a matrix by the unit of the input's elements, 1 or 1j: a row for each direction of the input,
#: a column for each element of the output.
Derivatives = list[dict[complex, np.ndarray]]


def derivatives_along(
    evaluate: Callable[[], Sequence[Any]], x: Any, directions: dict[complex, Directions], eps: float
) -> Derivatives:
    """The derivatives of what ``evaluate`` returns, tensors, as ``x`` moves along directions.

    The elements of ``x`` are changed in place, unnoticed by autograd, and put back.

    Raises:
        AssertionError: the outputs at both sides of ``x`` differ in shape or dtype.
    """
    matrices: list[dict[complex, list[np.ndarray]]] = []
    array = array_of(x)
    before = array.copy()
    for unit, line in directions.items():
        for index, step in line.steps():
            ends = []
            try:
                for signed in (-eps, eps):
                    array[...] = before
                    array[index] += np.asarray(signed * step * unit).astype(array.dtype)
                    write_back(array, x)
                    ends.append([np.array(array_of(y)) for y in evaluate()])
            finally:
                array[...] = before
                write_back(array, x)
            when = f"inputs are perturbed on index {index}" if line.vector is None else "inputs are perturbed"
            below, above = ends
            _check_alike(below, above, f"{when} by {eps}")
            matrices = matrices or [{unit: [] for unit in directions} for _ in above]
            with np.errstate(invalid="ignore"):  # of infinities
                for rows, low, high in zip(matrices, below, above, strict=True):
                    rows[unit].append(((high - low) / (2 * eps)).reshape(-1))
    if not matrices:  # x has no elements, and each Jacobian no rows
        matrices = [{unit: [np.zeros((0, y.numel()))] for unit in directions} for y in evaluate()]
    return [{unit: np.vstack(rows[unit]) for unit in rows} for rows in matrices]


def _check_alike(low: list[np.ndarray], high: list[np.ndarray], when: str) -> None:
    for a, b in zip(low, high, strict=True):
        for what, values in (("shape", (a.shape, b.shape)), ("dtype", (a.dtype, b.dtype))):
            if values[0] != values[1]:
                first, second = [_named(what, value) for value in values]
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when {when}, but got: {what}s {first} "
                    f"and {second}."
                )


def _named(what: str, value: Any) -> str:
    return f"torch.Size({list(value)})" if what == "shape" else f"torch.{value.name}"


@np.errstate(invalid="ignore")
def combined(by_unit: dict[complex, np.ndarray]) -> np.ndarray:
    """``df/dx + i df/dy`` for ``z = x + iy``; for a real input its derivatives as they are.

    This is PyTorch's gradient for complex inputs, twice the derivative with respect to the conjugate of ``z``.
    """
    return by_unit[1] + 1j * by_unit[1j] if 1j in by_unit else by_unit[1]


# -- PyTorch's older functions ------------------------------------------------------------------------------


def warn_of_private(name: str) -> None:
    """Warn that the caller of this function's caller uses what is no part of PyTorch's public interface."""
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed: it is deprecated. Use "
        "`torch.autograd.gradcheck` to check derivatives and `torch.autograd.functional.jacobian` to compute them.",
        FutureWarning,
        stacklevel=3,
    )


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Any, ...]:
    """The Jacobians of ``fn(inputs)``, of its first output, by finite differences; deprecated, as in PyTorch.

    Args:
        fn: takes all inputs as one tuple.
        inputs: a tensor or several.
        target: those with respect to which to differentiate, not copies of them; by default the inputs.
        eps: the step.
        grad_out: 1.0.

    Returns:
        For each floating-point or complex target that requires a gradient a matrix, ``[target.numel(), numel]``.

    Raises:
        ValueError: ``grad_out`` is not 1.0, or an output is complex.
    """
    warn_of_private("get_numerical_jacobian")
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_numerical_jacobian no longer supports values of grad_out != 1.0."
        )
    inputs = (inputs,) if is_tensor(inputs) else tuple(inputs)
    targets = inputs if target is None else (target,) if is_tensor(target) else tuple(target)

    def evaluate() -> list[Any]:
        return _tensors(fn(inputs))[:1]

    if any(y.is_complex() for y in evaluate()):
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return "
            "complex outputs."
        )
    wanted = [x for x in targets if is_tensor(x) and x.requires_grad]
    return tuple(jacobian for x in wanted for jacobian in _jacobians(evaluate, x, eps, False))


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    eps: float,
    input: Any = None,
    is_forward_ad: bool = False,
) -> tuple[Any, ...]:
    """For each output of ``fn(*inputs)`` its Jacobian with respect to one input, by finite differences.

    Args:
        fn: takes the inputs one by one.
        input_idx: which of the inputs.
        inputs: what ``fn`` takes.
        outputs: what it returns, for their number.
        eps: the step.
        input: the tensor to change instead of ``inputs[input_idx]``.
        is_forward_ad: a complex input changes in its real part only, as forward mode takes one part at a time.

    Returns:
        Matrices ``[input.numel(), output.numel()]``.
    """

    def evaluate() -> list[Any]:
        return _tensors(fn(*inputs))[: len(outputs)]

    return tuple(_jacobians(evaluate, inputs[input_idx] if input is None else input, eps, is_forward_ad))


def _tensors(outputs: Any) -> list[Any]:
    return [outputs] if is_tensor(outputs) else [y for y in outputs if is_tensor(y)]


def _jacobians(evaluate: Callable[[], Sequence[Any]], x: Any, eps: float, real_only: bool) -> list[Any]:
    directions: dict[complex, Directions] = {unit: Directions(x.shape) for unit in units_of(x)[: 1 if real_only else 2]}
    return [tensor_of(combined(by_unit), x) for by_unit in derivatives_along(evaluate, x, directions, eps)]
