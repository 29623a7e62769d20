"""Gradients of a leaf are added up in its ``grad``, and forgotten again."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from typing import Any

from ..core.layout import Layout, contiguous_strides, output_strides
from .grad_mode import GRAD, LEVELS, state
from .operations import operations

#: One lock for all tensors: they may be shared by graphs that are recorded, or run backward, in several threads.
accumulating = threading.RLock()


def accumulate(variable: Any, gradient: Any) -> None:
    """Add ``gradient`` to ``variable.grad``: in place, unless the sum is to be recorded.

    The first gradient becomes the ``grad`` itself, where it is nobody else's and lies in memory as it should.
    """
    present = variable._grad
    if present is None:
        variable._grad = _own(variable, gradient)
        return
    if state.mode & GRAD:
        present = variable._grad = operations.add(present, gradient)
    else:
        operations.add_(present, gradient)
    if not (present._layout.row_major and variable._layout.contiguous) and state.warn_of_layouts:
        _warn_of_other_strides(variable, present)


def _own(variable: Any, gradient: Any) -> Any:
    """The gradient as a tensor of the leaf's own, with its strides if it is dense, else row-major."""
    layout, given = variable._layout, gradient._layout
    wanted = None if layout.contiguous else _dense_strides(layout)
    if wanted is None:
        if not given.contiguous or state.mode & LEVELS:  # under ``vmap`` its memory may be somebody else's
            return operations.copy(gradient)
    elif not _agree(given.shape, given.strides, wanted):
        laid_out = operations.zeros(given.shape, given.type, wanted)
        operations.overwrite(laid_out, gradient)
        return laid_out
    return operations.clone(gradient) if gradient._shared or gradient._view is not None else gradient


def forget_gradients(tensors: Iterable[Any], set_to_none: bool = True) -> None:
    """Drop the gradients of tensors, or cut them from their graphs and overwrite them with zeros."""
    for tensor in tensors:
        gradient = tensor._grad
        if gradient is None:
            continue
        if set_to_none:
            tensor._grad = None
            continue
        if gradient.grad_fn is not None:
            gradient.detach_()
        else:
            gradient.requires_grad_(False)
        gradient.zero_()


_warned = False


def _warn_of_other_strides(variable: Any, gradient: Any) -> None:
    """Warn, once in a process, if what a program has put into ``grad`` lies in memory in another way than the leaf."""
    global _warned
    layout = variable._layout
    shape = layout.shape
    wanted = (None if layout.contiguous else _dense_strides(layout)) or contiguous_strides(shape)
    if _warned or _agree(shape, gradient._layout.strides, wanted):
        return
    _warned = True
    warnings.warn(
        "grad and param do not obey the gradient layout contract. This is not an error, but may impair performance.\n"
        f"grad.sizes() = {list(gradient.shape)}, strides() = {list(gradient._layout.strides)}\n"
        f"param.sizes() = {list(shape)}, strides() = {list(variable._layout.strides)}",
        UserWarning,
        stacklevel=2,
    )


def _dense_strides(layout: Layout) -> tuple[int, ...] | None:
    """The strides of a tensor whose elements fill their memory, each element once, in whatever order; else None."""
    dense = output_strides(layout.shape, ((layout.shape, layout.strides),))
    return dense if _agree(layout.shape, layout.strides, dense) else None


def _agree(shape: tuple[int, ...], strides: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return all(extent == 1 or stride == other for extent, stride, other in zip(shape, strides, others, strict=True))
