"""Jacobians as automatic differentiation computes them: by backward, by weights; by forward mode, by directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import forward_ad
from ..backward import grad
from .directions import Directions, array_of, tensor_of
from .numerical import warn_of_private


def _along(tensor: Any, index: Any, step: Any) -> Any:
    """A direction as a tensor like another: ``step`` at an index, 0 elsewhere."""
    values = np.zeros(tensor.shape, tensor.dtype.numpy)
    values[index] = step
    return tensor_of(values, tensor)


def vector_jacobian_products(
    output: Any, inputs: Sequence[Any], weights: Directions, unit: complex, types: set[tuple[Any, Any]] | None = None
) -> list[np.ndarray]:
    """For each input a matrix with a row for each weight: the input's gradient, zeros where there is none.

    The gradient for the weight 1 at an element of the output is that of its real part, for 1j that of its imaginary
    part.  The dtypes of inputs and of gradients that differ are put into ``types``.
    """
    rows: list[list[np.ndarray]] = [[] for _ in inputs]
    for index, step in weights.steps():
        weight = _along(output, index, step * unit)
        gradients = grad([output], inputs, [weight], retain_graph=True, allow_unused=True)
        for row, x, gradient in zip(rows, inputs, gradients, strict=True):
            if types is not None and gradient is not None and gradient.dtype is not x.dtype:
                types.add((x.dtype, gradient.dtype))
            row.append(_flat(gradient, x))
    return [_matrix(row, x) for row, x in zip(rows, inputs, strict=True)]


def jacobian_vector_products(
    evaluate: Callable[[dict[int, Any]], Sequence[Any]], inputs: Sequence[Any], key: int, directions: Directions,
    unit: complex, types: set[tuple[Any, Any]] | None = None,
) -> list[np.ndarray]:  # fmt: skip
    """For each output a matrix with a row for each direction of one input: the output's tangent, zeros without one.

    ``evaluate`` computes the outputs with inputs replaced, by their numbers.  All of them are replaced by dual tensors:
    the one with the number ``key`` has the directions as its tangents, the others have zeros.  The dtypes of outputs
    and of tangents that differ are put into ``types``.
    """
    rows: list[list[np.ndarray]] = []
    primals: Sequence[Any] = []
    x, still = inputs[key], {number: _along(other, ..., 0) for number, other in enumerate(inputs) if number != key}
    for index, step in directions.steps():
        tangents = {**still, key: _along(x, index, step * unit)}
        pairs = tangents_of(evaluate, inputs, tangents)
        primals = [pair.primal for pair in pairs]
        rows = rows or [[] for _ in pairs]
        for row, (primal, tangent) in zip(rows, pairs, strict=True):
            if types is not None and tangent is not None and tangent.dtype is not primal.dtype:
                types.add((primal.dtype, tangent.dtype))
            row.append(_flat(tangent, primal))
    if not rows:  # the input has no elements
        primals = evaluate({})
        rows = [[] for _ in primals]
    return [_matrix(row, y) for row, y in zip(rows, primals, strict=True)]


def tangents_of(
    evaluate: Callable[[dict[int, Any]], Sequence[Any]], inputs: Sequence[Any], tangents: dict[int, Any]
) -> list[forward_ad.UnpackedDualTensor]:
    """The outputs and their tangents, for tangents of some of the inputs, by their numbers."""
    with forward_ad.dual_level():
        duals = {number: forward_ad.make_dual(inputs[number], tangent) for number, tangent in tangents.items()}
        return [forward_ad.unpack_dual(y) for y in evaluate(duals)]


def _flat(value: Any, like: Any) -> np.ndarray:
    return np.zeros(like.numel(), like.dtype.numpy) if value is None else np.array(array_of(value)).reshape(-1)


def _matrix(rows: list[np.ndarray], like: Any) -> np.ndarray:
    return np.vstack(rows) if rows else np.zeros((0, like.numel()), like.dtype.numpy)


def get_analytical_jacobian(
    inputs: Sequence[Any], output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """The Jacobians of a tensor by backward; deprecated, as in PyTorch.

    Args:
        inputs: those of them that require a gradient are differentiated with respect to.
        output: a real tensor computed of them.
        nondet_tol: by how much two runs of backward may differ.
        grad_out: 1.0.

    Returns:
        For each input a matrix ``[input.numel(), output.numel()]``; whether two runs of backward agreed; and whether
        the gradients had the inputs' shapes, and their dtypes.

    Raises:
        ValueError: ``grad_out`` is not 1.0, or the output is complex.
    """
    warn_of_private("get_analytical_jacobian")
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_analytical_jacobian no longer supports values of grad_out != 1.0."
        )
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return "
            "complex outputs."
        )
    wanted = [x for x in inputs if x.requires_grad]
    types: set[tuple[Any, Any]] = set()
    first, second = [vector_jacobian_products(output, wanted, Directions(output.shape), 1, types) for _ in range(2)]
    reentrant = all(largest_difference(a, b) <= nondet_tol for a, b in zip(first, second, strict=True))
    jacobians = tuple(tensor_of(rows.T, x) for rows, x in zip(first, wanted, strict=True))
    return jacobians, reentrant, True, not types


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest absolute difference of two arrays' elements, NaN where one is NaN and the other not."""
    other = (a != b) & ~(np.isnan(a) & np.isnan(b))
    return float(np.abs(a[other] - b[other]).max(initial=0.0))
