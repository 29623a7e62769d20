"""Negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner).

The kernels follow no target that is no class, but report it, and an IndexError is raised here.
"""

from __future__ import annotations

import numpy as np

from numgrad_kernels.cpu import likelihood

from ..memory import empty_row, no_row, zero_row
from .indexing import check_report, new_report
from .launching import launch

__all__ = ["improbable", "negative_likelihood", "put_negative"]

_INDICES = np.dtype(np.int64)

#: What it costs to read an element at a target, in elements read one after the other.
READING = 16


def _weights(weight: np.ndarray | None, dtype: np.dtype, classes: int) -> np.ndarray:
    if weight is None:
        return no_row(dtype)
    if weight.size != classes:
        raise RuntimeError(f"shape mismatch: {weight.size} weights for {classes} classes")
    return weight


def improbable(flat: np.ndarray, message: str) -> bool:
    """Whether an element is not in [0, 1]; a GPU reports it later, with this message."""
    return flat.size > 0 and not (flat.min() >= 0 and flat.max() <= 1)  # nor a NaN


def negative_likelihood(
    flat: np.ndarray, classes: int, inner: int, target: np.ndarray, weight: np.ndarray | None, ignored: int,
    reduction: str, total_weight: np.ndarray,
) -> tuple[np.ndarray, int | None]:
    """Minus the element at each target, times the weight of its class; 0 where the target is ``ignored``.

    The weights of the targets that count, added up, are put into ``total_weight``, of one element.

    Returns:
        The losses, or their sum, or mean; the first target that is no class, None if all are (otherwise the loss must
        not be used).

    Raises:
        RuntimeError: the sizes do not fit.
    """
    kind, count = flat.dtype, target.size
    if flat.size != count * classes:
        raise RuntimeError(f"shape mismatch: {flat.size} elements, not {count * classes}, for {count} targets")
    pieces = -(-count // likelihood.PIECE) or 1
    losses = empty_row(count, kind) if reduction == "none" else no_row(kind)
    parts, wrong, out = np.empty(2 * pieces, kind), np.empty(pieces, _INDICES), np.empty(1, kind)
    launch(
        likelihood.negative_likelihood, kind, flat, classes, inner, target, _weights(weight, kind, classes), ignored,
        reduction == "mean", losses, parts, out, total_weight, wrong, size=count * READING,
    )
    place = wrong.item(0)
    return losses if reduction == "none" else out, None if place < 0 else target.item(place)


def put_negative(
    grad: np.ndarray, classes: int, inner: int, target: np.ndarray, weight: np.ndarray | None, ignored: int,
    divisor: np.ndarray | None,
) -> np.ndarray:
    """Zeros of (outer, classes, inner) with minus ``grad``, times the weight of the class, at the targets.

    Args:
        grad: one number for all targets, or one for each.
        divisor: what the gradient is divided by, of one element.

    Raises:
        IndexError: a target is neither a class nor ``ignored``.
        RuntimeError: the sizes do not fit.
    """
    kind, count = grad.dtype, target.size
    if grad.size not in (1, count):
        raise RuntimeError(f"shape mismatch: {grad.size} gradients for {count} targets")
    weights = _weights(weight, kind, classes)
    if not count:
        return zero_row(0, kind)
    out, report = empty_row(count * classes, kind), new_report()
    launch(
        likelihood.put_negative, kind, grad, classes, inner, target, weights, ignored,
        no_row(kind) if divisor is None else divisor, out, report, size=out.size,
    )
    check_report(report, target, 0, classes, ignored)
    return out
