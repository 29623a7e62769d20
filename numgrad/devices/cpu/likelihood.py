"""Negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner).

The kernels follow no target that is no class, but report it, and an IndexError is raised here.
"""

from __future__ import annotations

import numpy as np

from numgrad_kernels.cpu import likelihood

from ..memory import empty_row, zero_row
from .indexing import check_report, new_report
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
    out, report = empty_row(target.size, weight.dtype), new_report()
    launch(likelihood.target_weights, weight.dtype, weight, target, ignored, out, report, size=target.size)
    check_report(report, target, 0, weight.size, ignored)
    return out


def _weights(weight: np.ndarray | None, dtype: np.dtype, classes: int) -> np.ndarray:
    if weight is None:
        return np.empty(0, dtype)
    if weight.size != classes:
        raise RuntimeError(f"shape mismatch: {weight.size} weights for {classes} classes")
    return weight


def _check_size(row: np.ndarray, size: int, target: np.ndarray) -> None:
    if row.size != size:
        raise RuntimeError(f"shape mismatch: {row.size} elements, not {size}, for {target.size} targets")


def pick_negative(
    flat: np.ndarray, classes: int, inner: int, target: np.ndarray, weight: np.ndarray | None, ignored: int
) -> np.ndarray:
    """Minus the element at each target, times the weight of its class; 0 where the target is ``ignored``.

    Raises:
        IndexError: another target is no class.
        RuntimeError: the sizes do not fit.
    """
    _check_size(flat, target.size * classes, target)
    out, report = empty_row(target.size, flat.dtype), new_report()
    weights = _weights(weight, flat.dtype, classes)
    launch(
        likelihood.pick_negative, flat.dtype, flat, classes, inner, target, weights, ignored, out, report,
        size=target.size,
    )
    check_report(report, target, 0, classes, ignored)
    return out


def put_negative(
    grad: np.ndarray, classes: int, inner: int, target: np.ndarray, weight: np.ndarray | None, ignored: int
) -> np.ndarray:
    """Zeros of (outer, classes, inner) with minus ``grad``, times the weight of the class, at the targets.

    Raises:
        IndexError: a target is neither a class nor ``ignored``.
        RuntimeError: the sizes do not fit.
    """
    _check_size(grad, target.size, target)
    out, report = zero_row(target.size * classes, grad.dtype), new_report()
    weights = _weights(weight, grad.dtype, classes)
    launch(
        likelihood.put_negative, grad.dtype, grad, classes, inner, target, weights, ignored, out, report,
        size=target.size,
    )
    check_report(report, target, 0, classes, ignored)
    return out
