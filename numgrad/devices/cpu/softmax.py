"""Softmax and what the losses pick from its rows."""

from __future__ import annotations

import numpy as np

from numgrad_kernels.cpu import softmax

from ..memory import empty_row, zero_row
from .launching import launch

__all__ = ["pick_rows", "put_rows", "softmax_backward_rows", "softmax_rows"]


def softmax_rows(flat: np.ndarray, length: int, logarithm: bool) -> np.ndarray:
    """Softmax, or its logarithm, of rows of ``length`` elements."""
    out = empty_row(flat.size, flat.dtype)
    kernel = softmax.log_softmax_rows if logarithm else softmax.softmax_rows
    if flat.size:
        launch(kernel, flat.dtype, flat, length, out, size=flat.size)
    return out


def softmax_backward_rows(grad: np.ndarray, result: np.ndarray, length: int, logarithm: bool) -> np.ndarray:
    """The gradient of :func:`softmax_rows`, from that of its result and the result."""
    out = empty_row(grad.size, grad.dtype)
    kernel = softmax.log_softmax_backward_rows if logarithm else softmax.softmax_backward_rows
    if grad.size:
        launch(kernel, grad.dtype, grad, result, length, out, size=grad.size)
    return out


def pick_rows(flat: np.ndarray, length: int, target: np.ndarray, ignored: int) -> np.ndarray:
    """Minus the element of each row at its target, 0 where the target is ``ignored``."""
    out = empty_row(target.size, flat.dtype)
    launch(softmax.pick_rows, flat.dtype, flat, length, target, ignored, out)
    return out


def put_rows(grad: np.ndarray, length: int, target: np.ndarray, ignored: int) -> np.ndarray:
    """Rows of zeros with minus ``grad`` at their target."""
    out = zero_row(target.size * length, grad.dtype)
    launch(softmax.put_rows, grad.dtype, grad, length, target, ignored, out)
    return out
