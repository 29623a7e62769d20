"""Negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner)."""

from __future__ import annotations

import numpy as np

from numgrad_kernels.cpu import likelihood

from ..memory import empty_row, zero_row
from .launching import launch

__all__ = ["examine_targets", "pick_negative", "put_negative", "target_weights"]


def examine_targets(target: np.ndarray, classes: int, ignored: int) -> tuple[int | None, int]:
    """The first target that is no class (None if all are), and how many are not ``ignored``."""
    found = np.empty(2, np.int64)
    launch(likelihood.examine_targets, target.dtype, target, classes, ignored, found)
    place, count = found.tolist()
    return (None if place < 0 else target.item(place)), count


def target_weights(weight: np.ndarray, target: np.ndarray, ignored: int) -> np.ndarray:
    """The weight of each target's class, 0 where the target is ``ignored``."""
    out = empty_row(target.size, weight.dtype)
    launch(likelihood.target_weights, weight.dtype, weight, target, ignored, out, size=target.size)
    return out


def _weights(weight: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
    return np.empty(0, dtype) if weight is None else weight


def pick_negative(
    flat: np.ndarray, classes: int, inner: int, target: np.ndarray, weight: np.ndarray | None, ignored: int
) -> np.ndarray:
    """Minus the element at each target, times the weight of its class; 0 where the target is ``ignored``."""
    out = empty_row(target.size, flat.dtype)
    weights = _weights(weight, flat.dtype)
    launch(
        likelihood.pick_negative, flat.dtype, flat, classes, inner, target, weights, ignored, out, size=target.size
    )
    return out


def put_negative(
    grad: np.ndarray, classes: int, inner: int, target: np.ndarray, weight: np.ndarray | None, ignored: int
) -> np.ndarray:
    """Zeros of (outer, classes, inner) with minus ``grad``, times the weight of the class, at the targets."""
    out = zero_row(target.size * classes, grad.dtype)
    weights = _weights(weight, grad.dtype)
    launch(
        likelihood.put_negative, grad.dtype, grad, classes, inner, target, weights, ignored, out, size=target.size
    )
    return out
