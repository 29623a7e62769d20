"""Negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner).

The kernels follow no target that is no class, but report it: see Note [Reports] in ``reports.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numgrad_kernels.cuda import likelihood

from ..common import check_target_gradients, check_targets
from ..rows import DeviceRow
from .launching import MOST_BLOCKS, THREADS, blocks_for, launch
from .memory import empty_row, no_row, optional, zero_row
from .reports import message_number, report_row

__all__ = ["improbable", "likelihood_gradient_launcher", "likelihood_launcher"]

#: Targets of a thread, so many that one block does for a small batch.
TARGETS = 16


def improbable(flat: DeviceRow, message: str) -> bool:
    """Have the GPU look whether all elements are in [0, 1], which it reports later, with this message, if not.

    Returns:
        False, for nothing has been found yet.
    """
    number, report = message_number(message), report_row(flat.device)
    launch(likelihood.find_improbable, flat.dtype, flat, flat.size, number, report, blocks=blocks_for(flat.size))
    return False


def likelihood_launcher(
    type: Any, size: int, classes: int, inner: int, count: int, weights: int | None, ignored: int, reduction: str
) -> Callable[..., tuple[DeviceRow, DeviceRow, None]]:
    """What computes minus the element at each target, times the weight of its class; 0 where that is ``ignored``.

    ``launch(flat, target, weight)`` returns the losses, or their sum, or mean; the weights of the targets that count,
    added up; and None, for a target that is no class is reported later.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    dtype = type.numpy
    check_targets(size, classes, count, weights)
    pieces = min(-(-count // (TARGETS * THREADS)) or 1, MOST_BLOCKS)
    piece_size = -(-count // pieces)
    kept, mean, none = reduction == "none", int(reduction == "mean"), no_row(dtype)

    def launched(
        flat: DeviceRow, target: DeviceRow, weight: DeviceRow | None
    ) -> tuple[DeviceRow, DeviceRow, None]:
        device = flat.device
        losses = empty_row(count, dtype, device) if kept else none
        parts: Any = none if pieces == 1 else empty_row(2 * pieces, dtype, device)
        out, total_weight = empty_row(1, dtype, device), empty_row(1, dtype, device)
        launch(
            likelihood.negative_likelihood, dtype, flat, count, classes, inner, target, *optional(weight, dtype),
            ignored, mean, piece_size, int(kept), losses, parts, pieces, out, total_weight, report_row(device),
            blocks=pieces,
        )
        if pieces > 1:
            launch(likelihood.likelihood_total, dtype, parts, pieces, mean, out, total_weight, blocks=1)
        return losses if kept else out, total_weight, None

    return launched


def likelihood_gradient_launcher(
    type: Any, size: int, classes: int, inner: int, count: int, weights: int | None, ignored: int
) -> Callable[..., DeviceRow]:
    """What computes zeros of (outer, classes, inner) with minus the gradient, times the class's weight, at the targets.

    ``launch(grad, target, weight, divisor)`` reports a target that is neither a class nor ``ignored``.  ``divisor``,
    of one element or None, is what the gradient is divided by.

    Args:
        size: that of the gradient, one number for all targets, or one for each.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    dtype = type.numpy
    check_target_gradients(size, classes, count, weights)

    def launched(
        grad: DeviceRow, target: DeviceRow, weight: DeviceRow | None, divisor: DeviceRow | None
    ) -> DeviceRow:
        out = zero_row(count * classes, dtype, grad.device)
        launch(
            likelihood.put_negative, dtype, grad, int(size == count), count, classes, inner, target,
            *optional(weight, dtype), ignored, *optional(divisor, dtype), out, report_row(grad.device),
            blocks=blocks_for(count),
        )
        return out

    return launched
