"""Negative log-likelihood at targets: int64 classes, one for each column of (outer, classes, inner).

The kernels follow no target that is no class, but report it, and an IndexError is raised here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import likelihood

from ..common import check_target_gradients, check_targets
from ..memory import empty_row, no_row, zero_row
from .indexing import check_report
from .launching import kernel_for, launch

__all__ = ["improbable", "likelihood_gradient_launcher", "likelihood_launcher"]

_INDICES, _BOOL = np.dtype(np.int64), np.dtype(bool)

#: What it costs to read an element at a target, in elements read one after the other.
READING = 16


def improbable(flat: np.ndarray, message: str) -> bool:
    """Whether an element is not in [0, 1]; a GPU reports it later, with this message."""
    found = np.empty(1, _BOOL)
    launch(likelihood.find_improbable, flat.dtype, flat, found)
    return found.item()


def likelihood_launcher(
    type: Any, size: int, classes: int, inner: int, count: int, weights: int | None, ignored: int, reduction: str
) -> Callable[..., tuple[np.ndarray, np.ndarray, int | None]]:
    """What computes minus the element at each target, times the weight of its class; 0 where that is ``ignored``.

    ``launch(flat, target, weight)`` returns the losses, or their sum, or mean; the weights of the targets that count,
    added up; and the first target that is no class, None if all are (otherwise the loss must not be used).

    Args:
        size, count, weights: the sizes of the rows ``flat``, ``target`` and ``weight``, which is None for None.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    dtype = type.numpy
    check_targets(size, classes, count, weights)
    pieces = -(-count // likelihood.PIECE) or 1
    each, mean, none = reduction == "none", reduction == "mean", no_row(dtype)
    signature = (dtype, int, int, _INDICES, dtype, int, bool, dtype, dtype, dtype, dtype, _INDICES)
    kernel = kernel_for(likelihood.negative_likelihood, dtype, signature, count * READING)

    def launch(flat: Any, target: Any, weight: Any) -> tuple[np.ndarray, np.ndarray, int | None]:
        losses, total_weight = empty_row(count, dtype) if each else none, np.empty(1, dtype)
        parts, wrong, out = np.empty(2 * pieces, dtype), np.empty(pieces, _INDICES), np.empty(1, dtype)
        kernel().entry(
            flat, classes, inner, target, none if weight is None else weight, ignored, mean, losses, parts, out,
            total_weight, wrong,
        )
        first = wrong.item(0)
        return losses if each else out, total_weight, None if first < 0 else target.item(first)

    return launch


def likelihood_gradient_launcher(
    type: Any, size: int, classes: int, inner: int, count: int, weights: int | None, ignored: int
) -> Callable[..., np.ndarray]:
    """What computes zeros of (outer, classes, inner) with minus the gradient, times the class's weight, at the targets.

    ``launch(grad, target, weight, divisor)`` raises IndexError where a target is neither a class nor ``ignored``.
    ``divisor``, of one element or None, is what the gradient is divided by.

    Args:
        size: that of the gradient, one number for all targets, or one for each; the others see above.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    dtype = type.numpy
    check_target_gradients(size, classes, count, weights)
    if not count:
        return lambda *rows: zero_row(0, dtype)
    elements, none = count * classes, no_row(dtype)
    signature = (dtype, int, int, _INDICES, dtype, int, dtype, dtype, _BOOL)
    kernel = kernel_for(likelihood.put_negative, dtype, signature, elements)

    def launch(grad: Any, target: Any, weight: Any, divisor: Any) -> np.ndarray:
        out, report = empty_row(elements, dtype), np.zeros(1, _BOOL)
        kernel().entry(
            grad, classes, inner, target, none if weight is None else weight, ignored,
            none if divisor is None else divisor, out, report,
        )
        if report.item():
            check_report(report, target, 0, classes, ignored)
        return out

    return launch
