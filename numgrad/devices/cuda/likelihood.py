"""Negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner).

The kernels follow no target that is no class, but report it: see Note [Reports] in ``reports.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cuda import likelihood

from ..rows import DeviceRow
from .launching import MOST_BLOCKS, THREADS, blocks_for, launch
from .memory import empty_row, no_row, zero_row
from .reports import message_number, report_row

__all__ = [
    "improbable", "likelihood_gradient_launcher", "likelihood_launcher", "negative_likelihood", "put_negative",
]

#: Targets of a thread, so many that one block does for a small batch.
TARGETS = 16


def _weights(weight: DeviceRow | None, dtype: np.dtype, classes: int) -> tuple[DeviceRow, int]:
    """The weights of the classes, and whether there are any."""
    if weight is None:
        return no_row(dtype), 0
    if weight.size != classes:
        raise RuntimeError(f"shape mismatch: {weight.size} weights for {classes} classes")
    return weight, 1


def improbable(flat: DeviceRow, message: str) -> bool:
    """Have the GPU look whether all elements are in [0, 1], which it reports later, with this message, if not.

    Returns:
        False, for nothing has been found yet.
    """
    if flat.size:
        number, report = message_number(message), report_row(flat.device)
        launch(likelihood.find_improbable, flat.dtype, flat, flat.size, number, report, blocks=blocks_for(flat.size))
    return False


def likelihood_launcher(
    type: Any, size: int, classes: int, inner: int, count: int, weights: int | None, ignored: int, reduction: str
) -> Callable[..., tuple[DeviceRow, None]]:
    """What computes :func:`negative_likelihood`: ``launch(flat, target, weight, total_weight)``."""
    return lambda flat, target, weight, total_weight: negative_likelihood(
        flat, classes, inner, target, weight, ignored, reduction, total_weight
    )


def likelihood_gradient_launcher(
    type: Any, size: int, classes: int, inner: int, count: int, weights: int | None, ignored: int
) -> Callable[..., DeviceRow]:
    """What computes :func:`put_negative`: ``launch(grad, target, weight, divisor)``."""
    return lambda grad, target, weight, divisor: put_negative(grad, classes, inner, target, weight, ignored, divisor)


def negative_likelihood(
    flat: DeviceRow, classes: int, inner: int, target: DeviceRow, weight: DeviceRow | None, ignored: int,
    reduction: str, total_weight: DeviceRow,
) -> tuple[DeviceRow, None]:
    """Minus the element at each target, times the weight of its class; 0 where the target is ``ignored``.

    The weights of the targets that count, added up, are put into ``total_weight``, of one element.

    Returns:
        The losses, or their sum, or mean; None, for a target that is no class is reported later.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    kind, count, device = flat.dtype, target.size, flat.device
    if flat.size != count * classes:
        raise RuntimeError(f"shape mismatch: {flat.size} elements, not {count * classes}, for {count} targets")
    weights, weighted = _weights(weight, kind, classes)
    pieces = min(-(-count // (TARGETS * THREADS)) or 1, MOST_BLOCKS)
    stretch = -(-count // pieces)
    kept = reduction == "none"
    losses = empty_row(count, kind, device) if kept else no_row(kind)
    parts: Any = no_row(kind) if pieces == 1 else empty_row(2 * pieces, kind, device)
    mean, out = int(reduction == "mean"), empty_row(1, kind, device)
    launch(
        likelihood.negative_likelihood, kind, flat, count, classes, inner, target, weights, weighted, ignored, mean,
        stretch, int(kept), losses, parts, pieces, out, total_weight, report_row(device), blocks=pieces,
    )
    if pieces > 1:
        launch(likelihood.likelihood_total, kind, parts, pieces, mean, out, total_weight, blocks=1)
    return losses if kept else out, None


def put_negative(
    grad: DeviceRow, classes: int, inner: int, target: DeviceRow, weight: DeviceRow | None, ignored: int,
    divisor: DeviceRow | None,
) -> DeviceRow:
    """Zeros of (outer, classes, inner) with minus ``grad``, times the weight of the class, at the targets.

    A target that is neither a class nor ``ignored`` is reported.

    Args:
        grad: one number for all targets, or one for each.
        divisor: what the gradient is divided by, of one element.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    kind, count = grad.dtype, target.size
    if grad.size not in (1, count):
        raise RuntimeError(f"shape mismatch: {grad.size} gradients for {count} targets")
    weights, weighted = _weights(weight, kind, classes)
    out = zero_row(count * classes, kind, grad.device)
    if count:
        launch(
            likelihood.put_negative, kind, grad, int(grad.size == count), count, classes, inner, target, weights,
            weighted, ignored, no_row(kind) if divisor is None else divisor, int(divisor is not None), out,
            report_row(grad.device), blocks=blocks_for(count),
        )
    return out
