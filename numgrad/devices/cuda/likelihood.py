"""Negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner).

The kernels follow no target that is no class, but report it: see Note [Reports] in ``reports.py``.
"""

from __future__ import annotations

from typing import Any

from numgrad_kernels.cuda import likelihood as kernels

from ...core.layout import Ints
from ..common import classes_of
from ..plan import Buffer, Plan, Report
from ..rows import DeviceRow
from .launching import MOST_BLOCKS, THREADS, blocks_for, launch
from .memory import no_row, optional
from .reports import message_number, report_row

__all__ = ["improbable", "likelihood", "likelihood_gradient"]

#: Targets of a thread, so many that one block does for a small batch.
TARGETS = 16


def improbable(flat: DeviceRow, message: str) -> bool:
    """Have the GPU look whether all elements are in [0, 1], which it reports later, with this message, if not.

    Returns:
        False, for nothing has been found yet.
    """
    number, report = message_number(message), report_row(flat.device)
    launch(kernels.find_improbable, flat.dtype, flat, flat.size, number, report, blocks=blocks_for(flat.size))
    return False


def likelihood(
    p: Plan, x: Buffer, target: Buffer, weight: Buffer | None, shape: Ints, ignored: int, reduction: str
) -> tuple[Buffer, Buffer]:
    """Minus the element of (outer, classes, inner) at each target, times the weight of its class; 0 where ``ignored``.

    These losses, or their sum, or mean, and the weights of the targets that count, added up.
    """
    dtype, count = x.dtype, target.size
    pieces = min(-(-count // (TARGETS * THREADS)) or 1, MOST_BLOCKS)
    kept, mean, nothing = reduction == "none", int(reduction == "mean"), no_row(dtype)
    losses: Any = p.new(count, dtype) if kept else nothing
    parts: Any = nothing if pieces == 1 else p.new(2 * pieces, dtype)
    out, total_weight = p.new(1, dtype), p.new(1, dtype)
    p.run(
        kernels.negative_likelihood, dtype, x, count, *classes_of(shape), target, *optional(weight, dtype), ignored,
        mean, -(-count // pieces), int(kept), losses, parts, pieces, out, total_weight, Report(),
        grid=(pieces, THREADS),
    )
    if pieces > 1:
        p.run(kernels.likelihood_total, dtype, parts, pieces, mean, out, total_weight, grid=(1, THREADS))
    return losses if kept else out, total_weight


def likelihood_gradient(
    p: Plan, grad: Buffer, target: Buffer, weight: Buffer | None, divisor: Buffer | None, shape: Ints, ignored: int
) -> Buffer:
    """Zeros of (outer, classes, inner) with minus the gradient, times the class's weight, at the targets.

    The gradient is one number for all targets, or one for each, and divided by ``divisor``, which has one element.
    """
    dtype, count = grad.dtype, target.size
    classes, inner = classes_of(shape)
    out = p.new(count * classes, dtype, zeroed=True)
    p.run(
        kernels.put_negative, dtype, grad, int(grad.size == count), count, classes, inner, target,
        *optional(weight, dtype), ignored, *optional(divisor, dtype), out, Report(), grid=(blocks_for(count), THREADS),
    )
    return out
