"""Connectionist temporal classification; see the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import alignments

from ..memory import empty_row
from .launching import kernel_for

__all__ = ["ctc_gradient_launcher", "ctc_launcher"]

_INT64 = np.dtype(np.int64)

#: What a state of a step costs, in additions: see Note [When threads pay].
_WEIGHT = 64


def ctc_launcher(
    type: Any, time: int, batch: int, classes: int, width: int
) -> Callable[..., tuple[np.ndarray, ...]]:
    """What computes the losses of (time, batch, classes): ``launch(x, labels, steps, lengths)`` returns them, alpha and
    alpha's rounding errors.

    All these are rows; ``width`` is how many states the labels of an example have place for.  Whoever calls sees to
    it that labels are classes, and that no example has more than ``time`` steps or ``width`` states.
    """
    dtype, size = type.numpy, batch * time * width
    signature = dtype, int, int, int, _INT64, int, _INT64, _INT64, dtype, dtype, dtype
    kernel = kernel_for(alignments.ctc_losses, dtype, signature, _WEIGHT * size)

    def launch(x: Any, labels: Any, steps: Any, lengths: Any) -> tuple[np.ndarray, ...]:
        found = np.empty(batch, dtype), empty_row(size, dtype), empty_row(size, dtype)
        kernel().entry(x, time, batch, classes, labels, width, steps, lengths, *found)
        return found

    return launch


def ctc_gradient_launcher(
    type: Any, time: int, batch: int, classes: int, width: int, zero_infinity: bool
) -> Callable[..., np.ndarray]:
    """What computes the gradient for x: ``launch(grad, x, labels, steps, lengths, alpha, errors)``."""
    dtype, size = type.numpy, batch * time * width
    signature = dtype, dtype, int, int, int, _INT64, int, _INT64, _INT64, dtype, dtype, bool, dtype, dtype, dtype
    kernel = kernel_for(alignments.ctc_gradients, dtype, signature, _WEIGHT * size)

    def launch(grad: Any, x: Any, labels: Any, steps: Any, lengths: Any, alpha: Any, errors: Any) -> np.ndarray:
        beta, beta_errors = np.empty((2, batch * width), dtype)
        out = empty_row(time * batch * classes, dtype)
        kernel().entry(
            grad, x, time, batch, classes, labels, width, steps, lengths, alpha, errors, zero_infinity, beta,
            beta_errors, out,
        )
        return out

    return launch
