"""Functions of PyTorch's ``gradcheck`` module that return Jacobians as matrices; all but one are deprecated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..checks import is_tensor
from . import jacobians


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Any, ...]:
    """Return the Jacobians of the first output of ``fn(inputs)`` by finite differences; deprecated, as in PyTorch.

    Args:
        fn: takes all inputs as one tuple.
        inputs: one or several tensors.
        target: the tensors to differentiate with respect to, not copies of them; by default the inputs.
        eps: the step.
        grad_out: 1.0.

    Returns:
        For each floating-point or complex target that requires a gradient, a matrix ``[target.numel(), numel]``.

    Raises:
        ValueError: ``grad_out`` is not 1.0, or an output is complex.
    """
    _warn_of_deprecation("get_numerical_jacobian", grad_out)
    inputs = (inputs,) if is_tensor(inputs) else tuple(inputs)
    targets = inputs if target is None else (target,) if is_tensor(target) else tuple(target)

    def evaluate() -> list[Any]:
        return _tensors(fn(inputs))[:1]

    for y in evaluate():
        _refuse_complex(y, "get_numerical_jacobian")
    leaves = [x for x in targets if is_tensor(x) and x.requires_grad]
    return tuple(jacobian for x in leaves for jacobian in _jacobians(evaluate, x, eps, False))


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    eps: float,
    input: Any = None,
    is_forward_ad: bool = False,
) -> tuple[Any, ...]:
    """Return the Jacobian of each output of ``fn(*inputs)`` with respect to one input, by finite differences.

    Args:
        fn: takes the inputs one by one.
        input_idx: the index of the input.
        inputs: the arguments of ``fn``.
        outputs: its results; only their number is used.
        eps: the step.
        input: the tensor to perturb instead of ``inputs[input_idx]``.
        is_forward_ad: perturb only the real part of a complex input, because forward mode takes one part at a time.

    Returns:
        Matrices ``[input.numel(), output.numel()]``.
    """

    def evaluate() -> list[Any]:
        return _tensors(fn(*inputs))[: len(outputs)]

    return tuple(_jacobians(evaluate, inputs[input_idx] if input is None else input, eps, is_forward_ad))


def get_analytical_jacobian(
    inputs: Sequence[Any], output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """Return the Jacobians of a tensor by backward; deprecated, as in PyTorch.

    Args:
        inputs: tensors; derivatives are by those that require a gradient.
        output: a real tensor computed from them.
        nondet_tol: the largest allowed difference between two runs of backward.
        grad_out: 1.0.

    Returns:
        A matrix ``[input.numel(), output.numel()]`` for each input, and three flags: True if two runs of backward
        agreed, if the gradients had the inputs' shapes, and if they had the inputs' dtypes.

    Raises:
        ValueError: ``grad_out`` is not 1.0, or the output is complex.
    """
    _warn_of_deprecation("get_analytical_jacobian", grad_out)
    _refuse_complex(output, "get_analytical_jacobian")
    leaves = [x for x in inputs if x.requires_grad]
    weights, differing = jacobians.Directions(output.shape), jacobians.DtypePairs()
    first, second = [jacobians.vector_jacobian_products(output, leaves, weights, 1, differing) for _ in range(2)]
    reentrant = all(jacobians.largest_difference(a, b) <= nondet_tol for a, b in zip(first, second, strict=True))
    matrices = tuple(jacobians.tensor_of(rows.T, x) for rows, x in zip(first, leaves, strict=True))
    return matrices, reentrant, True, not differing


def _warn_of_deprecation(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed: it is deprecated. Use "
        "`torch.autograd.gradcheck` to check derivatives and `torch.autograd.functional.jacobian` to compute them.",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def _refuse_complex(output: Any, name: str) -> None:
    if output.is_complex():
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return complex outputs."
        )


def _tensors(outputs: Any) -> list[Any]:
    return [outputs] if is_tensor(outputs) else [y for y in outputs if is_tensor(y)]


def _jacobians(evaluate: Callable[[], Sequence[Any]], x: Any, eps: float, real_only: bool) -> list[Any]:
    directions = {unit: jacobians.Directions(x.shape) for unit in jacobians.units_of(x)[: 1 if real_only else 2]}
    derivatives = jacobians.derivatives_along(evaluate, x, directions, eps)
    return [jacobians.tensor_of(jacobians.combined(by_unit), x) for by_unit in derivatives]
