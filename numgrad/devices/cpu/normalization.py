"""Layer normalization of rows, and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import normalization

from ..memory import empty_row
from .launching import launch
from .reductions import fold_axis

__all__ = ["layer_norm_gradients", "layer_norm_rows", "layer_norm_rows_backward"]

#: How much work an element is, in additions: see Note [When threads pay].
WEIGHT = 4

#: Rows over which the gradient of the weight is summed in one piece: so few that the rounding error stays small, so
#: many that their sums are little beside them.
ROWS, LEAST = 64, 4

#: Pieces enough for all threads, and elements of a piece that are worth a thread's while.
PIECES, PIECE = 32, 16384


def _row(values: np.ndarray | None, length: int, dtype: np.dtype, instead: float) -> np.ndarray:
    return np.full(length, instead, dtype) if values is None else values


def layer_norm_rows(
    flat: np.ndarray, length: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, means: np.ndarray,
    scales: np.ndarray,
) -> np.ndarray:
    """Each row of ``length`` elements with mean 0 and variance 1, times ``weight``, plus ``bias``.

    ``means`` and ``scales`` are filled with the mean of each row and 1 by the square root of its variance and ``eps``.
    """
    kind = flat.dtype
    out = empty_row(flat.size, kind)
    factors, terms = _row(weight, length, kind, 1), _row(bias, length, kind, 0)
    launch(
        normalization.layer_norm_rows, kind, flat, length, factors, terms, eps, out, means, scales,
        size=WEIGHT * flat.size,
    )  # fmt: skip
    return out


def layer_norm_rows_backward(
    grad: np.ndarray, flat: np.ndarray, means: np.ndarray, scales: np.ndarray, length: int, weight: np.ndarray | None
) -> np.ndarray:
    """The gradient of :func:`layer_norm_rows` for what is normalized."""
    kind = flat.dtype
    out = empty_row(flat.size, kind)
    factors = _row(weight, length, kind, 1)
    launch(
        normalization.layer_norm_backward_rows, kind, grad, flat, means, scales, length, factors, out,
        size=WEIGHT * flat.size,
    )  # fmt: skip
    return out


def layer_norm_gradients(
    grad: np.ndarray, flat: np.ndarray, means: np.ndarray, scales: np.ndarray, length: int, weight: np.ndarray | None,
    type: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of :func:`layer_norm_rows` for what is normalized, for the weight and for the bias."""
    kind, count = flat.dtype, means.size
    rows = min(ROWS, max(-(-count // PIECES), PIECE // max(length, 1), LEAST))
    pieces = -(-count // rows)
    out, parts = empty_row(flat.size, kind), empty_row(pieces * 2 * length, kind)
    if flat.size:
        factors = _row(weight, length, kind, 1)
        launch(
            normalization.layer_norm_gradients, kind, grad, flat, means, scales, length, factors, rows, out, parts,
            size=WEIGHT * flat.size,
        )
    sums = parts if pieces == 1 else fold_axis("sum", parts, 1, pieces, 2 * length, type)
    return out, sums[:length], sums[length:]
