"""Steps of the negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner).

The kernels skip a target that is not a class and report it.  The IndexError is raised here.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numgrad_kernels.cpu import likelihood as kernels

from ...core.layout import Ints
from ..common import classes_of
from ..memory import no_buffer, or_empty
from ..plan import Bounds, Buffer, Plan, Report, TensorRef
from .launching import launch
from .softmax import WEIGHT

__all__ = ["check_probabilities", "cross_entropy_gradient", "improbable", "likelihood", "likelihood_gradient"]

_INDICES, _BOOL = np.dtype(np.int64), np.dtype(bool)

#: The cost of reading the element at a target, in elements read sequentially.
READING = 16


def improbable(flat: np.ndarray, message: str) -> bool:
    """Return True if an element is not in [0, 1]; a GPU reports it later, with this message."""
    out = np.empty(1, _BOOL)
    launch(kernels.find_improbable, flat.dtype, flat, out)
    return out.item()


def check_probabilities(p: Plan, tensor: TensorRef, message: str) -> None:
    """Add the steps that raise a RuntimeError with this message if an element of a tensor is not in [0, 1]."""
    flat, wrong = p.contiguous(tensor, tensor.type.dtype.compute), p.new(1, _BOOL)
    p.run(kernels.find_improbable, flat.dtype, flat, wrong)
    p.check(functools.partial(_check_probabilities, f"{message} (shape {list(tensor.shape)})"), wrong)


def _check_probabilities(message: str, wrong: np.ndarray) -> None:
    """Raise an error if the kernel has reported an element that is not in [0, 1]."""
    if wrong[0]:
        raise RuntimeError(message)


def likelihood(
    p: Plan, x: Buffer, target: Buffer, weight: Buffer | None, shape: Ints, ignored: int, reduction: str
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the losses, or of their sum or mean, and of the sum of the weights of their targets.

    A loss is minus the element of (outer, classes, inner) at a target times the weight of its class; 0 where the target
    is ``ignored``.
    """
    dtype, count = x.dtype, target.size
    pieces = -(-count // kernels.PIECE) or 1
    losses: Any = p.new(count, dtype) if reduction == "none" else no_buffer(dtype)
    parts, wrong = p.new(2 * pieces, dtype), p.new(pieces, _INDICES)
    out, total_weight = p.new(1, dtype), p.new(1, dtype)
    p.run(
        kernels.negative_likelihood, dtype, x, *classes_of(shape), target, or_empty(weight, dtype), ignored,
        reduction == "mean", losses, parts, out, total_weight, wrong, work=count * READING,
    )
    p.check(functools.partial(_check_targets, shape), wrong, target)
    return losses if reduction == "none" else out, total_weight


def _check_targets(shape: Ints, wrong: np.ndarray, targets: np.ndarray) -> None:
    """Raise an error if the kernel has reported a target that is not a class.

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
    """Return the buffer of the gradient: zeros of (outer, classes, inner), and minus ``grad`` at the targets.

    ``grad`` has one element for all targets or one for each.  It is multiplied by the weight of the class, and divided
    by the one element of ``divisor``.
    """
    dtype = grad.dtype
    classes, inner = classes_of(shape)
    out = p.new(target.size * classes, dtype)
    p.run(
        kernels.put_negative, dtype, grad, classes, inner, target, or_empty(weight, dtype), ignored,
        or_empty(divisor, dtype), out, Report(), reports=Bounds(target, 0, classes, ignored), work=out.size,
    )
    return out


def cross_entropy_gradient(
    p: Plan, grad: Buffer, target: Buffer, weight: Buffer | None, divisor: Buffer | None, logs: Buffer, shape: Ints,
    ignored: int,
) -> Buffer:
    """Return the buffer of the gradient of scores, given the logarithm of their softmax.

    The other arguments are those of ``likelihood_gradient``.
    """
    dtype = logs.dtype
    classes, inner = classes_of(shape)
    out = p.new(logs.size, dtype)
    p.run(
        kernels.cross_entropy_gradient, dtype, grad, logs, classes, inner, target, or_empty(weight, dtype), ignored,
        or_empty(divisor, dtype), out, Report(), reports=Bounds(target, 0, classes, ignored), work=WEIGHT * out.size,
    )
    return out
