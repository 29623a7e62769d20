"""Parts of a tensor: one index, a range of indices, the indices in reverse."""

from __future__ import annotations

from typing import Any

from ... import devices
from ..._layout import normal_dim, normal_dims
from ..._tensor import Tensor, strided
from ..copying import kept_strides, write
from ..new import zeros_of
from ..table import attach, operation, public
from .views import sizes_of, view_of

__all__ = ["at_index", "flip", "flip_op", "narrow", "select", "select_op", "slice_op"]


@operation("SelectBackward0", view=True, dims=["dim"])
def select_op(input: Tensor, dim: int, index: int) -> Tensor:
    shape, strides = input._layout.shape, input._layout.strides
    start = input._offset + index * strides[dim]
    return view_of(input, shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :], start)


@select_op.gradient("input")
def _(grad, input_shape, dim, index):
    return select_backward(grad, input_shape, dim, index)


@operation("SelectBackwardBackward0", inputs=["grad_output"], linear=True, dims=["dim"], shapes=["shape"])
def select_backward(grad_output: Tensor, shape: tuple[int, ...], dim: int, index: int) -> Tensor:
    """Zeros of ``shape`` with the gradient in place of what was selected."""
    out = zeros_of(shape, grad_output._layout.type)
    write(select_op.function(out, dim, index), grad_output)
    return out


@select_backward.gradient("grad_output")
def _(grad, dim, index):
    return select_op(grad, dim, index)


def at_index(input: Tensor, dim: int, index: int) -> Tensor:
    """What ``tensor[index]`` gives, for an index into dimension ``dim``.

    Raises:
        IndexError: there is no such index.
    """
    if not input._layout.shape:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number")
    extent = input._layout.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {extent}")
    return select_op(input, dim, index % extent)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The part of the tensor at one index of a dimension, which goes.

    Raises:
        IndexError: there is no such dimension or index.
    """
    rank = len(input._layout.shape)
    if rank == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normal_dim(dim, rank)
    extent = input._layout.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    return select_op(input, dim, index % extent)


@operation("SliceBackward0", view=True, dims=["dim"])
def slice_op(input: Tensor, dim: int, start: int, stop: int, step: int) -> Tensor:
    shape, strides = list(input._layout.shape), list(input._layout.strides)
    offset = input._offset + start * strides[dim]
    shape[dim] = len(range(start, stop, step))
    strides[dim] *= step
    return view_of(input, shape, strides, offset if shape[dim] else input._offset)


@slice_op.gradient("input")
def _(grad, input_shape, dim, start, stop, step):
    return slice_backward(grad, input_shape, dim, start, stop, step)


@operation("SliceBackwardBackward0", inputs=["grad_output"], linear=True, dims=["dim"], shapes=["shape"])
def slice_backward(
    grad_output: Tensor, shape: tuple[int, ...], dim: int, start: int, stop: int, step: int
) -> Tensor:
    """Zeros of ``shape`` with the gradient in place of the slice."""
    out = zeros_of(shape, grad_output._layout.type)
    write(slice_op.function(out, dim, start, stop, step), grad_output)
    return out


@slice_backward.gradient("grad_output")
def _(grad, dim, start, stop, step):
    return slice_op(grad, dim, start, stop, step)


def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` indices of a dimension from ``start``, an int or a 0-d tensor of one.

    Raises:
        IndexError: there is no such dimension or start.
        RuntimeError: the indices reach beyond the dimension, or there would be fewer than none.
    """
    if not input._layout.shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor):
        if start._layout.shape or start.dtype.kind != "i":
            raise RuntimeError(
                f"start must be an 0-dim integral Tensor. (shape {list(start.shape)}, {start.dtype})"
            )
        start = start.item()
    dim = normal_dim(dim, len(input._layout.shape))
    extent = input._layout.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -extent <= start <= extent:
        raise IndexError(f"start out of range (expected to be in range of [{-extent}, {extent}], but got {start})")
    start = start + extent if start < 0 else start
    if start + length > extent:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({extent}).")
    return slice_op(input, dim, start, start + length, 1)


@operation("FlipBackward0", linear=True, dims=["dims"])
def flip_op(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    layout = input._layout
    strides = list(layout.strides)
    start = input._offset
    for dim in dims:
        if layout.shape[dim] < 2:
            continue
        start += (layout.shape[dim] - 1) * strides[dim]
        strides[dim] = -strides[dim]
    backwards = strided(input._storage, layout.shape, tuple(strides), start, layout.type)
    out = strided(devices.empty(layout.shape, layout.type), layout.shape, kept_strides(input), 0, layout.type)
    write(out, backwards)
    return out


@flip_op.gradient("input")
def _(grad, dims):
    return flip_op(grad, dims)


def flip(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """A copy with the order of the indices of some dimensions reversed.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: a dimension is named twice.
    """
    named = sizes_of(order, dims, "flip(): argument 'dims'")
    return flip_op(input, normal_dims(named, len(input._layout.shape)) if named else ())


def fliplr(input: Tensor) -> Tensor:
    """A copy with the columns (dimension 1) in reverse order.

    Raises:
        RuntimeError: the tensor has fewer than two dimensions.
    """
    if len(input._layout.shape) < 2:
        raise RuntimeError(f"Input must be >= 2-d. (shape {list(input.shape)})")
    return flip_op(input, (1,))


def flipud(input: Tensor) -> Tensor:
    """A copy with the rows (dimension 0) in reverse order.

    Raises:
        RuntimeError: the tensor has no dimension.
    """
    if not input._layout.shape:
        raise RuntimeError("Input must be >= 1-d. (shape [])")
    return flip_op(input, (0,))


def _reversed_rows(self: Tensor) -> Tensor:
    return flip(self, 0) if self._layout.shape else self


attach("__reversed__", _reversed_rows)

for _function in (select, narrow, flip, fliplr, flipud):
    public(_function)
