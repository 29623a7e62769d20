"""Softmax and its logarithm along one axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import softmax

from ..memory import empty_row
from .launching import kernel_for, launch

__all__ = [
    "log_softmax_axis", "softmax_axis", "softmax_backward_axis", "softmax_backward_launcher", "softmax_launcher",
]

#: How much work an element is, in additions: see Note [When threads pay].
WEIGHT = 4

#: What takes the place of softmax's own functions in the kernel of the logarithm's gradient.
_LOGARITHM: dict[str, Callable[..., Any]] = {
    "summed": softmax.summed_of_logarithm, "gradient": softmax.gradient_of_logarithm,
}


def softmax_launcher(
    type: Any, size: int, length: int, inner: int, floor: float | None
) -> Callable[[np.ndarray], np.ndarray]:
    """What computes :func:`softmax_axis` of rows of this size, or with None for ``floor`` :func:`log_softmax_axis`."""
    kind = type.numpy
    if inner > 1 or not size:
        if floor is None:
            return lambda flat: log_softmax_axis(flat, length, inner)
        return lambda flat: softmax_axis(flat, length, inner, floor)
    function: Any = softmax.log_softmax_rows if floor is None else softmax.softmax_rows
    numbers = () if floor is None else (float,)
    kernel = kernel_for(function, kind, (kind, int, *numbers, kind), WEIGHT * size)

    def launch(flat: np.ndarray) -> np.ndarray:
        out = empty_row(size, kind)
        if floor is None:
            kernel().entry(flat, length, out)
        else:
            kernel().entry(flat, length, floor, out)
        return out

    return launch


def softmax_backward_launcher(
    type: Any, size: int, length: int, inner: int, logarithm: bool
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What computes :func:`softmax_backward_axis` of rows of this size."""
    kind = type.numpy
    if inner > 1 or not size:
        return lambda grad, result: softmax_backward_axis(grad, result, length, inner, logarithm)
    function = softmax.log_softmax_backward_rows if logarithm else softmax.softmax_backward_rows
    kernel = kernel_for(function, kind, (kind, kind, int, kind), WEIGHT * size)

    def launch(grad: np.ndarray, result: np.ndarray) -> np.ndarray:
        out = empty_row(size, kind)
        kernel().entry(grad, result, length, out)
        return out

    return launch


def softmax_axis(flat: np.ndarray, length: int, inner: int, floor: float = -np.inf) -> np.ndarray:
    """Softmax along the middle axis; what is minus infinity as a whole becomes NaN, or 0 if ``floor`` is 0."""
    size, kind = flat.size, flat.dtype
    out = empty_row(size, kind)
    if inner > 1 and size:
        launch(softmax.softmax_columns, kind, flat, length, inner, floor, out, size=WEIGHT * size)
    elif size:
        launch(softmax.softmax_rows, kind, flat, length, floor, out, size=WEIGHT * size)
    return out


def log_softmax_axis(flat: np.ndarray, length: int, inner: int) -> np.ndarray:
    """The logarithm of softmax along the middle axis."""
    size, kind = flat.size, flat.dtype
    out = empty_row(size, kind)
    if inner > 1 and size:
        launch(softmax.log_softmax_columns, kind, flat, length, inner, out, size=WEIGHT * size)
    elif size:
        launch(softmax.log_softmax_rows, kind, flat, length, out, size=WEIGHT * size)
    return out


def softmax_backward_axis(
    grad: np.ndarray, result: np.ndarray, length: int, inner: int, logarithm: bool
) -> np.ndarray:
    """The gradient of softmax, or its logarithm, from that of its result and the result."""
    size, kind = grad.size, grad.dtype
    out = empty_row(size, kind)
    if inner > 1 and size:
        parts = _LOGARITHM if logarithm else {}
        launch(softmax.backward_columns, kind, grad, result, length, inner, out, size=WEIGHT * size, **parts)
    elif size:
        rows = softmax.log_softmax_backward_rows if logarithm else softmax.softmax_backward_rows
        launch(rows, kind, grad, result, length, out, size=WEIGHT * size)
    return out
