"""Softmax and its logarithm along one axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import softmax

from ..plan import Buffer, Plan

__all__ = ["softmax_axis", "softmax_backward_axis"]

#: How much work an element is, in additions: see Note [When threads pay].
WEIGHT = 4

#: What is put for softmax's own functions in the kernels of its logarithm.
_LOGARITHM: dict[str, Callable[..., Any]] = {
    "factor": softmax.logarithm, "share": softmax.logarithm_of_share, "summed": softmax.summed_of_logarithm,
    "gradient": softmax.gradient_of_logarithm,
}


def softmax_axis(p: Plan, x: Buffer, length: int, inner: int, floor: float | None) -> Buffer:
    """Softmax along the middle axis, or with None for ``floor`` its logarithm.

    A line that is minus infinity as a whole becomes NaN, or 0 if ``floor`` is 0.
    """
    function = softmax.softmax_columns if inner > 1 else softmax.softmax_rows
    parts, number = (_LOGARITHM, -np.inf) if floor is None else ({}, float(floor))
    return _lines(p, function, (x,), length, inner, (number,), parts)


def softmax_backward_axis(
    p: Plan, grad: Buffer, output: Buffer, length: int, inner: int, logarithm: bool
) -> Buffer:
    """The gradient of softmax, or of its logarithm, from that of its result and the result."""
    rows = softmax.log_softmax_backward_rows if logarithm else softmax.softmax_backward_rows
    function, parts = (softmax.backward_columns, _LOGARITHM if logarithm else {}) if inner > 1 else (rows, {})
    return _lines(p, function, (grad, output), length, inner, (), parts)


def _lines(
    p: Plan, function: Any, operands: tuple[Buffer, ...], length: int, inner: int, numbers: tuple[float, ...],
    parts: dict[str, Any],
) -> Buffer:
    """Run a kernel over rows, or columns, of some operands."""
    out = p.new(operands[0].size, operands[0].dtype)
    sizes = (length, inner) if inner > 1 else (length,)
    p.run(function, out.dtype, *operands, *sizes, *numbers, out, work=WEIGHT * out.size, **parts)
    return out
