"""Steps of softmax and its logarithm along the middle axis of a buffer, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import softmax

from ..plan import Buffer, Plan

__all__ = ["softmax_axis", "softmax_backward_axis"]

#: The cost of an element, in additions: see Note [When threads pay].
WEIGHT = 4

#: Functions that replace those of softmax in the kernels of its logarithm.
_LOGARITHM: dict[str, Callable[..., Any]] = {
    "factor": softmax.logarithm, "share": softmax.logarithm_of_share, "summed": softmax.summed_of_logarithm,
    "gradient": softmax.gradient_of_logarithm,
}


def softmax_axis(p: Plan, x: Buffer, length: int, inner: int, floor: float | None) -> Buffer:
    """Return the buffer of the softmax along the middle axis, or of its logarithm if ``floor`` is None.

    A line whose elements are all minus infinity becomes NaN, or 0 if ``floor`` is 0.
    """
    function = softmax.softmax_columns if inner > 1 else softmax.softmax_rows
    parts, number = (_LOGARITHM, -np.inf) if floor is None else ({}, float(floor))
    return _lines(p, function, (x,), length, inner, (number,), parts)


def softmax_backward_axis(
    p: Plan, grad: Buffer, output: Buffer, length: int, inner: int, logarithm: bool
) -> Buffer:
    """Return the buffer of the gradient of softmax, or of its logarithm, given its result and the result's gradient."""
    rows = softmax.log_softmax_backward_rows if logarithm else softmax.softmax_backward_rows
    function, parts = (softmax.backward_columns, _LOGARITHM if logarithm else {}) if inner > 1 else (rows, {})
    return _lines(p, function, (grad, output), length, inner, (), parts)


def _lines(
    p: Plan, function: Any, operands: tuple[Buffer, ...], length: int, inner: int, numbers: tuple[float, ...],
    parts: dict[str, Any],
) -> Buffer:
    """Add the run of a kernel over the rows, or columns, of some operands."""
    out = p.new(operands[0].size, operands[0].dtype)
    sizes = (length, inner) if inner > 1 else (length,)
    p.run(function, out.dtype, *operands, *sizes, *numbers, out, work=WEIGHT * out.size, **parts)
    return out
