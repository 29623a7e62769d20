"""Parts of a tensor: one index, a range of indices, the indices in reverse."""

from __future__ import annotations

from typing import Any

from .. import devices
from .._layout import normal_dim, normal_dims
from .._tensor import Tensor, fresh, strided
from .copying import kept_strides, write
from .shape import sizes_of, view_of
from .table import attach, operation, public

__all__ = ["flip", "narrow", "select", "slice_op"]


@operation("SelectBackward0", view=True)
def select_op(input: Tensor, dim: int, index: int) -> Tensor:
    shape, strides = input._shape, input._element_strides()
    start = input._offset + index * strides[dim]
    return view_of(input, shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :], start)


@select_op.gradient("input")
def _(grad, input_shape, dim, index):
    return select_backward(grad, input_shape, dim, index)


@operation("SelectBackwardBackward0", inputs=["grad_output"])
def select_backward(grad_output: Tensor, shape: tuple[int, ...], dim: int, index: int) -> Tensor:
    """Zeros of ``shape`` with the gradient in place of what was selected."""
    out = fresh(devices.zeros(shape, grad_output._type), shape, grad_output._type)
    write(select_op.function(out, dim, index), grad_output)
    return out


@select_backward.gradient("grad_output")
def _(grad, dim, index):
    return select_op(grad, dim, index)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The part of the tensor at one index of a dimension, which goes.

    Raises:
        IndexError: there is no such dimension or index.
    """
    rank = len(input._shape)
    if rank == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normal_dim(dim, rank)
    extent = input._shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {extent}")
    return select_op(input, dim, index % extent)


@operation("SliceBackward0", view=True)
def slice_op(input: Tensor, dim: int, start: int, stop: int, step: int) -> Tensor:
    shape, strides = list(input._shape), list(input._element_strides())
    offset = input._offset + start * strides[dim]
    shape[dim] = len(range(start, stop, step))
    strides[dim] *= step
    return view_of(input, shape, strides, offset if shape[dim] else input._offset)


@slice_op.gradient("input")
def _(grad, input_shape, dim, start, stop, step):
    return slice_backward(grad, input_shape, dim, start, stop, step)


@operation("SliceBackwardBackward0", inputs=["grad_output"])
def slice_backward(
    grad_output: Tensor, shape: tuple[int, ...], dim: int, start: int, stop: int, step: int
) -> Tensor:
    """Zeros of ``shape`` with the gradient in place of the slice."""
    out = fresh(devices.zeros(shape, grad_output._type), shape, grad_output._type)
    write(slice_op.function(out, dim, start, stop, step), grad_output)
    return out


@slice_backward.gradient("grad_output")
def _(grad, dim, start, stop, step):
    return slice_op(grad, dim, start, stop, step)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` indices of a dimension from ``start``.

    Raises:
        RuntimeError: they reach beyond the dimension.
    """
    if not input._shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = normal_dim(dim, len(input._shape))
    extent = input._shape[dim]
    start = start + extent if start < 0 else start
    if not (start >= 0 and length >= 0 and start + length <= extent):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({extent}).")
    return slice_op(input, dim, start, start + length, 1)


@operation("FlipBackward0")
def flip_op(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    strides = list(input._element_strides())
    start = input._offset
    for dim in dims:
        if input._shape[dim] < 2:
            continue
        start += (input._shape[dim] - 1) * strides[dim]
        strides[dim] = -strides[dim]
    backwards = strided(input._storage, input._shape, tuple(strides), start, input._type)
    out = strided(devices.empty(input._shape, input._type), input._shape, kept_strides(input), 0, input._type)
    write(out, backwards)
    return out


@flip_op.gradient("input")
def _(grad, dims):
    return flip_op(grad, dims)


def flip(input: Tensor, *dims: Any) -> Tensor:
    """A copy with the order of the indices of some dimensions reversed."""
    return flip_op(input, normal_dims(sizes_of(dims), len(input._shape)))


def _reversed_rows(self: Tensor) -> Tensor:
    return flip(self, 0) if self._shape else self


attach("__reversed__", _reversed_rows)

for _function in (select, narrow, flip):
    public(_function)
