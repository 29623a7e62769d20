"""Negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner).

The kernels follow no target that is no class, but report it, and an IndexError is raised here.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numgrad_kernels.cpu import likelihood as kernels

from ...core.layout import Ints
from ..common import classes_of
from ..memory import no_row
from ..plan import Bounds, Buffer, Plan, Report
from .launching import launch

__all__ = ["improbable", "likelihood", "likelihood_gradient"]

_INDICES, _BOOL = np.dtype(np.int64), np.dtype(bool)

#: What it costs to read an element at a target, in elements read one after the other.
READING = 16


def improbable(flat: np.ndarray, message: str) -> bool:
    """Whether an element is not in [0, 1]; a GPU reports it later, with this message."""
    found = np.empty(1, _BOOL)
    launch(kernels.find_improbable, flat.dtype, flat, found)
    return found.item()


def likelihood(
    p: Plan, x: Buffer, target: Buffer, weight: Buffer | None, shape: Ints, ignored: int, reduction: str
) -> tuple[Buffer, Buffer]:
    """Minus the element of (outer, classes, inner) at each target, times the weight of its class; 0 where ``ignored``.

    These losses, or their sum, or mean, and the weights of the targets that count, added up.
    """
    dtype, count, nothing = x.dtype, target.size, no_row(x.dtype)
    pieces = -(-count // kernels.PIECE) or 1
    losses: Any = p.new(count, dtype) if reduction == "none" else nothing
    parts, wrong = p.new(2 * pieces, dtype), p.new(pieces, _INDICES)
    out, total_weight = p.new(1, dtype), p.new(1, dtype)
    p.run(
        kernels.negative_likelihood, dtype, x, *classes_of(shape), target, nothing if weight is None else weight,
        ignored, reduction == "mean", losses, parts, out, total_weight, wrong, work=count * READING,
    )
    p.check(functools.partial(_check_targets, shape), wrong, target)
    return losses if reduction == "none" else out, total_weight


def _check_targets(shape: Ints, wrong: np.ndarray, targets: np.ndarray) -> None:
    """Raise if the kernel has found a target that is no class.

    Raises:
        IndexError: it has.
    """
    first = wrong.item(0)
    if first >= 0:
        raise IndexError(
            f"Target {targets.item(first)} is out of bounds: input of shape {list(shape)} has {classes_of(shape)[0]} "
            "classes."
        )


def likelihood_gradient(
    p: Plan, grad: Buffer, target: Buffer, weight: Buffer | None, divisor: Buffer | None, shape: Ints, ignored: int
) -> Buffer:
    """Zeros of (outer, classes, inner) with minus the gradient, times the class's weight, at the targets.

    The gradient is one number for all targets, or one for each, and divided by ``divisor``, which has one element.
    """
    dtype, nothing = grad.dtype, no_row(grad.dtype)
    classes, inner = classes_of(shape)
    out = p.new(target.size * classes, dtype)
    p.run(
        kernels.put_negative, dtype, grad, classes, inner, target, nothing if weight is None else weight, ignored,
        nothing if divisor is None else divisor, out, Report(), reports=Bounds(target, 0, classes, ignored),
        work=out.size,
    )
    return out
