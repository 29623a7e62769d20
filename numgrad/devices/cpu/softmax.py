"""Softmax and its logarithm along one axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import softmax

from ..memory import empty_row
from .launching import launch

__all__ = ["softmax_axis", "softmax_backward_axis"]


#: What takes the place of softmax's own functions in the kernel of the logarithm's gradient.
_LOGARITHM: dict[str, Callable[..., Any]] = {
    "summed": softmax.summed_of_logarithm, "gradient": softmax.gradient_of_logarithm,
}


def softmax_axis(flat: np.ndarray, length: int, inner: int, logarithm: bool) -> np.ndarray:
    """Softmax, or its logarithm, along the middle axis."""
    out = empty_row(flat.size, flat.dtype)
    if inner > 1 and flat.size:
        columns = softmax.log_softmax_columns if logarithm else softmax.softmax_columns
        launch(columns, flat.dtype, flat, length, inner, out, size=flat.size)
    elif flat.size:
        rows = softmax.log_softmax_rows if logarithm else softmax.softmax_rows
        launch(rows, flat.dtype, flat, length, out, size=flat.size)
    return out


def softmax_backward_axis(
    grad: np.ndarray, result: np.ndarray, length: int, inner: int, logarithm: bool
) -> np.ndarray:
    """The gradient of :func:`softmax_axis`, from that of its result and the result."""
    out = empty_row(grad.size, grad.dtype)
    if inner > 1 and grad.size:
        parts = _LOGARITHM if logarithm else {}
        launch(softmax.backward_columns, grad.dtype, grad, result, length, inner, out, size=grad.size, **parts)
    elif grad.size:
        rows = softmax.log_softmax_backward_rows if logarithm else softmax.softmax_backward_rows
        launch(rows, grad.dtype, grad, result, length, out, size=grad.size)
    return out
