"""Steps of softmax and its logarithm along the middle axis of a buffer, seen as (outer, length, inner), on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu.softmax import gradient_of_logarithm, logarithm, summed_of_logarithm
from numgrad_kernels.cuda import softmax

from ..plan import Buffer, Plan
from .lines import arranged, packed

__all__ = ["softmax_axis", "softmax_backward_axis"]

#: Functions that replace those of softmax in the kernels of its logarithm.
_LOGARITHM: dict[str, Callable[..., Any]] = {
    "factor": logarithm, "share": softmax.logarithm_of_share, "summed": summed_of_logarithm,
    "gradient": gradient_of_logarithm,
}


def softmax_axis(p: Plan, x: Buffer, length: int, inner: int, floor: float | None) -> Buffer:
    """Return the buffer of the softmax along the middle axis, or of its logarithm if ``floor`` is None.

    A line whose elements are all minus infinity becomes NaN, or 0 if ``floor`` is 0.
    """
    parts = _LOGARITHM if floor is None else {}
    return _lines(p, softmax.softmax_lines, (x,), length, inner, (-np.inf if floor is None else float(floor),), parts)


def softmax_backward_axis(
    p: Plan, grad: Buffer, output: Buffer, length: int, inner: int, logarithm: bool
) -> Buffer:
    """Return the buffer of the gradient of softmax, or of its logarithm, given its result and the result's gradient."""
    return _lines(p, softmax.backward_lines, (grad, output), length, inner, (), _LOGARITHM if logarithm else {})


def _lines(
    p: Plan, function: Any, operands: tuple[Buffer, ...], length: int, inner: int, numbers: tuple[float, ...],
    parts: dict[str, Any],
) -> Buffer:
    """Add the run of a kernel over lines of some operands."""
    out = p.new(operands[0].size, operands[0].dtype)
    lines = out.size // length if out.size else 0
    *arrangement, blocks, threads = arranged(lines, length, inner)
    p.run(
        function, out.dtype, *operands, lines, length, inner, *arrangement, *numbers, out, grid=(blocks, threads),
        aligned=packed(length) if inner == 1 else None, **parts,
    )
    return out
