"""The gradient of a picked element, shared evenly among the elements that equal it."""

from __future__ import annotations

from ..memory.copying import convert
from ..pointwise.arithmetic import div, mul
from ..pointwise.comparison import eq, isnan, where
from ..shapes.views import expand
from .axes import restored
from .sums import sum_all, sum_dims


def shared_evenly(grad, input, out):
    """The gradient of one element picked from all, shared among those that equal it; a NaN equals a NaN."""
    mask = where(expand(isnan(out), input._layout.shape), isnan(input), eq(input, out))
    return where(mask, div(grad, sum_all(convert(mask, input.dtype))), 0)


def shared_evenly_over(grad, input, out, dims, keepdim):
    """The gradient shared among the elements that equal the one picked; where none does, it was a NaN, it is NaN."""
    mask = convert(eq(input, restored(out, dims, keepdim)), input.dtype)
    return mul(mask, div(restored(grad, dims, keepdim), sum_dims(mask, dims, True)))
