"""Softmax and its logarithm along one axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import softmax

from .launching import bound

__all__ = ["softmax_backward_launcher", "softmax_launcher"]

#: How much work an element is, in additions: see Note [When threads pay].
WEIGHT = 4

#: What is put for softmax's own functions in the kernels of its logarithm.
_LOGARITHM: dict[str, Callable[..., Any]] = {
    "factor": softmax.logarithm, "share": softmax.logarithm_of_share, "summed": softmax.summed_of_logarithm,
    "gradient": softmax.gradient_of_logarithm,
}


def softmax_launcher(
    type: Any, size: int, length: int, inner: int, floor: float | None
) -> Callable[[np.ndarray], np.ndarray]:
    """What computes softmax along the middle axis of rows of this size, or with None for ``floor`` its logarithm.

    What is minus infinity as a whole becomes NaN, or 0 if ``floor`` is 0.
    """
    function = softmax.softmax_columns if inner > 1 else softmax.softmax_rows
    parts, number = (_LOGARITHM, -np.inf) if floor is None else ({}, float(floor))
    return _launcher(function, type.numpy, size, length, inner, 1, (number,), **parts)


def softmax_backward_launcher(
    type: Any, size: int, length: int, inner: int, logarithm: bool
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What computes the gradient of softmax, or its logarithm, from that of its result and the result."""
    rows = softmax.log_softmax_backward_rows if logarithm else softmax.softmax_backward_rows
    function, parts = (softmax.backward_columns, _LOGARITHM if logarithm else {}) if inner > 1 else (rows, {})
    return _launcher(function, type.numpy, size, length, inner, 2, (), **parts)


def _launcher(
    function: Any, dtype: np.dtype, size: int, length: int, inner: int, rows: int, numbers: tuple[float, ...],
    **parts: Callable[..., Any],
) -> Callable[..., np.ndarray]:
    """What runs a kernel over rows, or columns, of as many operands as there are ``rows``."""
    given = (*[dtype] * (rows - 1), length, *[inner] * (inner > 1), *numbers)
    return bound(function, dtype, None, dtype, given, [(size, dtype)], WEIGHT * size, **parts)
