"""The few operations that the engine needs, handed to it."""

from __future__ import annotations

from typing import Any

from .. import devices
from .._layout import contiguous_strides, numel, output_strides, overlaps_itself
from .._tensor import Tensor, fresh, strided
from ..autograd.grad_mode import state
from ..autograd.inference_tensors import is_inference
from ..autograd.operations import operations
from . import copying, overwriting
from .new import filled_of
from .pointwise import arithmetic as pointwise
from .pointwise import comparison
from .reductions import sums as reduction
from .shapes.joining import stack
from .shapes.views import primal_of
from .shapes.windows import as_strided
from .transforms import transformed

__all__: list[str] = []


def _fit(gradient: Tensor, shape: tuple[int, ...], type: Any) -> Tensor:
    if gradient._type is not type:  # a real input's gradient is the real part of a complex one
        gradient = copying.to_type(gradient, type)
    return gradient if gradient._shape == shape else reduction.sum_to_shape(gradient, shape)


def _add_to(total: Tensor, gradient: Tensor) -> Tensor:
    """Add to a tensor in place; where recording is off and both lie in rows, without asking much."""
    row, other = total._flat, gradient._flat
    if (
        row is None
        or other is None
        or total._view is not None
        or total._type is not gradient._type
        or total._shape != gradient._shape
        or state.mode
        or is_inference(total)
    ):
        return pointwise.add.inplace(total, gradient)
    devices.add_rows(row, other)
    total._counter[0] += 1
    return total


def _zeros(shape: tuple[int, ...], type: Any, strides: tuple[int, ...] | None = None) -> Tensor:
    return strided(devices.zeros(shape, type), shape, output_strides(shape, ((shape, strides),)), 0, type)


def _ones(shape: tuple[int, ...], type: Any) -> Tensor:
    return filled_of(shape, 1, type)


#: Elements up to which a gradient that repeats one value is written out: a short row is worth more than its memory.
_SHORT = 4096


def _row_of(gradient: Tensor) -> Any:
    if gradient._flat is not None:
        return gradient._flat
    shape = gradient._shape
    if numel(shape) > _SHORT:
        return None
    value = devices.as_number(gradient)
    return None if value is None else devices.filled(shape, value, gradient._type)


def _overwrite(view: Tensor, value: Tensor | None) -> None:
    # To elements that share memory nothing but filling may have written: their gradient is zero.
    if value is None or (view._strides is not None and overlaps_itself(view._shape, view._strides)):
        overwriting.zero_(view)
    else:
        overwriting.copy_(view, value)


def _regarded(tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> Tensor:
    return as_strided(tensor, shape, contiguous_strides(shape) if strides is None else strides)


def _laid_out_as(tensor: Tensor, tangent: Tensor) -> Tensor:
    from .forward import laid_out_as  # which few programs need

    return laid_out_as(tensor, tangent)


def _first_bad(tensor: Tensor, nan: bool, infinite: bool) -> tuple[int, ...] | None:
    elements = tensor._array()
    if elements.dtype.kind not in "fc" or not (nan or infinite):
        return None
    bad = ~np.isfinite(elements) if nan and infinite else np.isnan(elements) if nan else np.isinf(elements)
    first = int(bad.argmax()) if bad.size else 0
    if not bad.size or not bad.flat[first]:
        return None
    return tuple([int(place) for place in np.unravel_index(first, bad.shape)])


def _element(tensor: Tensor, index: tuple[int, ...]) -> Any:
    return tensor._array()[index].item()


def _snapshot(tensor: Tensor) -> Tensor:
    return public_functions["from_numpy"](tensor._array().copy())


operations.add = pointwise.add
operations.add_ = _add_to
operations.add_rows = devices.add_rows
operations.clone = copying.clone
operations.copy = copying.contiguous_op
operations.element = _element
operations.first_bad = _first_bad
operations.fit = _fit
operations.laid_out_as = _laid_out_as
operations.ones = _ones
operations.overwrite = _overwrite
operations.primal = primal_of
operations.regarded = _regarded
operations.row_class = devices.Row
operations.row_of = _row_of
operations.snapshot = _snapshot
operations.stack = stack
operations.tensor = fresh
operations.transformed = transformed
operations.zeros = _zeros
