"""Tensor operations that autograd needs, registered with it: see ``numgrad.autograd.operations``."""

from __future__ import annotations

from typing import Any

from .. import devices
from ..autograd.checks import is_inference
from ..autograd.grad_mode import state
from ..autograd.operations import operations
from ..autograd.thread_state import guarded
from ..core.layout import output_strides, overlaps_itself
from ..tensors.tensor import Tensor
from . import forward_mode
from .batching import calls  # noqa: F401 - it registers the calls under vmap
from .batching.batches import Batched, below, is_batched, lifted, mapped, zeros_with
from .batching.physical import expanded
from .memory import copying, overwriting
from .memory.copying import filled_of
from .pointwise import arithmetic as pointwise
from .reductions import sums as reduction
from .shapes.joining import stack
from .table.entries import Entries


def _fit(gradient: Tensor, shape: tuple[int, ...], type: Any) -> Tensor:
    if gradient._layout.type is not type:  # the gradient of a real input is the real part of a complex one
        if shape == ():  # the gradient of a 0-d tensor on another device
            gradient = reduction.sum_to_shape(gradient, shape)
        gradient = copying.to_type(gradient, type)
    return gradient if gradient._layout.shape == shape else reduction.sum_to_shape(gradient, shape)


#: Launchers that add a tensor to another of its layout.
_adders = Entries()
_recent_adders = _adders.recent


def _add_to(total: Tensor, gradient: Tensor) -> Tensor:
    """Add to a tensor in place, with few checks if recording is off and both have the same layout."""
    layout = total._layout
    if layout is not gradient._layout or total._view is not None or state.mode or is_inference(total):
        return pointwise.add.inplace(total, gradient)
    launch = _recent_adders.get(layout) or _adders.find(layout)
    if launch is None:
        if overlaps_itself(layout.shape, layout.strides):
            return pointwise.add.inplace(total, gradient)  # raises the error
        program = devices.row_adder(layout.type.numpy)
        plan = devices.pointwise_plan(program, [layout, layout], [layout], into=True)
        launch = _adders.make(layout, plan.launcher)
    launch(total, gradient, total)
    total._counter[0] += 1
    return total


def _zeros(
    shape: tuple[int, ...], type: Any, strides: tuple[int, ...] | None = None, partner: Tensor | None = None
) -> Tensor:
    others = () if partner is None else (partner,)
    return zeros_with(others, shape, type, output_strides(shape, ((shape, strides),)))


def _ones(shape: tuple[int, ...], type: Any) -> Tensor:
    return filled_of(shape, 1, type)


def _writable_with(tensor: Tensor, value: Tensor) -> Tensor:
    if is_batched(tensor) or not is_batched(value):
        return tensor
    layout = tensor._layout
    return overwriting.copy_(zeros_with((tensor, value), layout.shape, layout.type, layout.strides), tensor)


def _for_each(function: Any, batches: tuple[Tensor, ...], count: int) -> list[Tensor | None]:
    def mapped_over() -> list[Tensor | None]:
        with Batched(count) as level:
            results = function(*[mapped(level, batch) for batch in batches])
            with below(level):
                stacked = [None if result is None else expanded(lifted(level, result)) for result in results]
                seen = {id(batch._storage) for batch in batches}
                for number, whole in enumerate(stacked):  # each result needs memory of its own
                    if whole is not None:
                        if whole._flat is None or whole._view is not None or id(whole._storage) in seen:
                            stacked[number] = whole = copying.contiguous_op(whole)
                        seen.add(id(whole._storage))
        return stacked

    return guarded(mapped_over)


operations.add_ = _add_to
operations.devices = devices
operations.fit = _fit
operations.for_each = _for_each
operations.ones = _ones
operations.stack = stack
operations.writable_with = _writable_with
operations.write_tangent = forward_mode.write_tangent
operations.zeros = _zeros
