"""Normalization of rows, and of sets of planes, and its gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import normalization

from ..memory import LARGE, empty_row
from ..plan import on_memory
from .launching import kernel_for
from .reductions import fold_axis

__all__ = [
    "layer_norm_gradients_launcher", "layer_norm_launcher", "plane_norm_gradients_launcher", "plane_norm_launcher",
]

#: How much work an element is, in additions: see Note [When threads pay].
WEIGHT = 4

#: Rows over which the gradient of the weight is summed in one piece: so few that the rounding error stays small, so
#: many that their sums are little beside them.
ROWS, LEAST = 64, 4

#: Elements of a plane from which on it is worth a loop.
SHORTEST = 16

#: Pieces enough for all threads, and elements of a piece that are worth a thread's while.
PIECES, PIECE = 32, 16384


def layer_norm_launcher(type: Any, size: int, length: int, count: int, eps: float) -> Callable[..., Any]:
    """What makes ``count`` rows of ``length`` elements ones of mean 0 and variance 1, times ``weight``, plus ``bias``.

    ``launch(flat, weight, bias)`` returns them, the mean of each row, and 1 by the square root of its variance and
    ``eps``.  ``flat`` has ``size`` elements; weight and bias may be None.
    """
    dtype, ones, nothing = type.numpy, _repeated(1, length, type.numpy), _repeated(0, length, type.numpy)
    signature = (dtype, int, dtype, dtype, float, dtype, dtype, dtype)
    kernel = kernel_for(normalization.layer_norm_rows, dtype, signature, WEIGHT * size)
    new = empty_row if size * dtype.itemsize >= LARGE else np.empty

    def launch(flat: Any, weight: Any, bias: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out, means, scales = new(size, dtype), new(count, dtype), new(count, dtype)
        factors, terms = ones if weight is None else weight, nothing if bias is None else bias
        kernel().entry(flat, length, factors, terms, eps, out, means, scales)
        return out, means, scales

    return launch


@functools.lru_cache(maxsize=64)
def _repeated(number: int, length: int, dtype: np.dtype) -> np.ndarray:
    """A row that stands for a weight or bias that is not there."""
    return np.full(length, number, dtype)


def layer_norm_gradients_launcher(
    type: Any, size: int, length: int, count: int
) -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """What computes the gradients for what is normalized, ``count`` rows, for the weight and for the bias.

    It is called as ``launch(grad, flat, means, scales, weight)``.
    """
    dtype, ones = type.numpy, _repeated(1, length, type.numpy)
    rows = min(ROWS, max(-(-count // PIECES), PIECE // max(length, 1), LEAST))
    pieces = -(-count // rows)
    signature = (dtype, dtype, dtype, dtype, int, dtype, int, dtype, dtype)
    kernel = kernel_for(normalization.layer_norm_gradients, dtype, signature, WEIGHT * size)
    summed = on_memory(
        type.backend, None, fold_axis, [(pieces * 2 * length, dtype)], 1, pieces, 2 * length, "sum", dtype
    )

    def launch(
        grad: Any, flat: Any, means: Any, scales: Any, weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out, parts = empty_row(size, dtype), empty_row(pieces * 2 * length, dtype)
        if size:
            kernel().entry(grad, flat, means, scales, length, ones if weight is None else weight, rows, out, parts)
        sums = parts if pieces == 1 else summed(parts)
        return out, sums[:length], sums[length:]

    return launch


def plane_norm_launcher(
    type: Any, channels: int, inner: int, count: int, sets: int, across: bool, eps: float
) -> Callable[..., tuple[np.ndarray, ...]] | None:
    """What makes sets of planes ones of mean 0 and variance 1, times their channels' ``weight``, plus ``bias``.

    Of ``count`` planes, each of ``inner`` elements and with its channel, those of a channel are a set if ``across``,
    else neighbours are.  ``launch(flat, weight, bias)`` returns them, and for each set its mean, 1 by the square root
    of its variance and ``eps``, and the variance.  There is none where planes are too short.
    """
    if inner < SHORTEST:
        return None
    dtype, ones, nothing = type.numpy, _repeated(1, channels, type.numpy), _repeated(0, channels, type.numpy)
    geometry = inner, channels, *_steps(channels, count, sets, across)
    signature = (*[dtype] * 3, *[int] * 5, float, *[dtype] * 4)
    kernel = kernel_for(normalization.normalized_planes, dtype, signature, WEIGHT * count * inner)

    def launch(flat: Any, weight: Any, bias: Any) -> tuple[np.ndarray, ...]:
        out = empty_row(count * inner, dtype)
        statistics = [np.empty(sets, dtype) for _ in range(3)]
        factors, terms = ones if weight is None else weight, nothing if bias is None else bias
        kernel().entry(flat, factors, terms, *geometry, eps, out, *statistics)
        return out, *statistics

    return launch


def plane_norm_gradients_launcher(
    type: Any, channels: int, inner: int, count: int, sets: int, across: bool
) -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None:
    """What computes the gradients for what is normalized so, for the weight and for the bias.

    It is called as ``launch(grad, flat, means, scales, weight)``.
    """
    if inner < SHORTEST:
        return None
    dtype, ones = type.numpy, _repeated(1, channels, type.numpy)
    geometry = inner, channels, *_steps(channels, count, sets, across)
    signature = (*[dtype] * 5, *[int] * 5, dtype, dtype)
    kernel = kernel_for(normalization.normalized_planes_gradients, dtype, signature, WEIGHT * count * inner)
    summed = on_memory(
        type.backend, None, fold_axis, [(2 * count, dtype)], 2, count // channels, channels, "sum", dtype
    )

    def launch(
        grad: Any, flat: Any, means: Any, scales: Any, weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out, parts = empty_row(count * inner, dtype), np.empty(2 * count, dtype)
        kernel().entry(grad, flat, means, scales, ones if weight is None else weight, *geometry, out, parts)
        sums = summed(parts)
        return out, sums[:channels], sums[channels:]

    return launch


def _steps(channels: int, count: int, sets: int, across: bool) -> tuple[int, int, int]:
    """How many planes a set has, how far apart the first ones of two sets are, and how far those of one."""
    planes = count // max(sets, 1)
    return (planes, 1, channels) if across else (planes, planes, 1)
