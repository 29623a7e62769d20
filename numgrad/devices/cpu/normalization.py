"""Layer normalization of rows, and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import normalization

from ..memory import empty_row
from .launching import launch
from .reductions import fold_axis

__all__ = ["layer_norm_rows", "layer_norm_rows_backward", "layer_norm_weight_backward"]


def _row(values: np.ndarray | None, length: int, dtype: np.dtype, instead: float) -> np.ndarray:
    return np.full(length, instead, dtype) if values is None else values


def layer_norm_rows(
    flat: np.ndarray, length: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> np.ndarray:
    """Each row of ``length`` elements with mean 0 and variance 1, times ``weight``, plus ``bias``."""
    kind = flat.dtype
    out = empty_row(flat.size, kind)
    if flat.size:
        rows = _row(weight, length, kind, 1), _row(bias, length, kind, 0)
        launch(normalization.layer_norm_rows, kind, flat, length, *rows, eps, out, size=flat.size)
    return out


def layer_norm_rows_backward(
    grad: np.ndarray, flat: np.ndarray, length: int, weight: np.ndarray | None, eps: float
) -> np.ndarray:
    """The gradient of :func:`layer_norm_rows` for what is normalized."""
    kind = flat.dtype
    out = empty_row(flat.size, kind)
    if flat.size:
        factors = _row(weight, length, kind, 1)
        launch(normalization.layer_norm_backward_rows, kind, grad, flat, length, factors, eps, out, size=flat.size)
    return out


def layer_norm_weight_backward(grad: np.ndarray, flat: np.ndarray, length: int, eps: float, type: Any) -> np.ndarray:
    """The gradient of :func:`layer_norm_rows` for the weight."""
    pieces = -(-flat.size // length // normalization.ROWS) if length else 0
    parts = empty_row(pieces * length, flat.dtype)
    if flat.size:
        launch(
            normalization.layer_norm_weight_backward, flat.dtype, grad, flat, length, eps, parts, size=flat.size
        )
    return fold_axis("sum", parts, 1, pieces, length, type)
