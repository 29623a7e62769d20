"""Operations along some dimensions: which they are, how the elements are read, what shape is left."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ...core.layout import Layout, layout_of, numel
from ...core.tensor import Tensor, fresh, tensor_of
from ...core.types import dtype, int64, tensor_type
from ..batching.batches import physical, size_of
from ..indexing.gathering import scatter_zeros
from ..memory.copying import row_reader
from ..shapes.dimensions import permute_op, unsqueeze_op
from ..shapes.views import passed_on, reshape

#: What an operation decides: the layout of its result and what computes that, or those of several.
Prepared = tuple[Any, Callable[..., Any]]


def axis_reader(
    input: Layout, dims: tuple[int, ...], dtype: dtype | None = None
) -> tuple[Callable[[Tensor], Any], int, int, int]:
    """What gives the elements of a tensor as one row, converted to any ``dtype`` given, and the row's ``axis_sizes``.

    Copies tensors that are not contiguous, and where ``dims`` are not neighbours.
    """
    if dims and dims[-1] - dims[0] + 1 != len(dims):
        order = tuple([d for d in range(len(input.shape)) if d not in dims]) + dims
        view, _ = permute_op.prepare(input, order)
        read = row_reader(view, dtype)
        sizes = axis_sizes(view.shape, tuple(range(len(order) - len(dims), len(order))))
        return lambda tensor: read(tensor_of(view, tensor._storage, tensor._offset)), *sizes
    return row_reader(input, dtype), *axis_sizes(input.shape, dims)


def axis_launcher(
    name: str, input: Layout, dims: tuple[int, ...], *arguments: Any, dtype: dtype | None = None
) -> Callable[[Tensor], Any]:
    """What calls a device's function along ``dims`` of tensors of this layout, converted to ``dtype`` if that is given.

    The function takes what ``axis_reader`` gives, and then ``arguments``.
    """
    read, *sizes = axis_reader(input, dims, dtype)
    type = input.type if dtype is None else tensor_type(dtype, input.type.device)
    return type.backend.axis_launcher(name, read, type, tuple(sizes), *arguments)


def picked(name: str, input: Layout, dim: int, keepdim: bool, *arguments: Any) -> Prepared:
    """A device's function that picks an element of each line along ``dim``: elements and their indices."""
    return picked_of_shape(name, input, (dim,), reduced_shape(input.shape, (dim,), keepdim), *arguments)


def picked_of_shape(
    name: str, input: Layout, dims: tuple[int, ...], shape: tuple[int, ...], *arguments: Any
) -> Prepared:
    """The same of several elements of each line, where a result has this shape."""
    layouts = layout_of(input.type, shape), layout_of(tensor_type(int64, input.type.device), shape)
    return layouts, axis_launcher(name, input, dims, *arguments)


@functools.lru_cache(maxsize=4096)
def axis_sizes(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, int, int]:
    """The number of elements before, in and after neighbouring dimensions."""
    if len(dims) == len(shape):
        return 1, numel(shape), 1
    first, last = (dims[0], dims[-1] + 1) if dims else (0, 0)
    return numel(shape[:first]), numel(shape[first:last]), numel(shape[last:])


@functools.lru_cache(maxsize=4096)
def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape that is left."""
    if keepdim:
        return tuple([1 if d in dims else extent for d, extent in enumerate(shape)])
    if len(dims) == len(shape):
        return ()
    return tuple([extent for d, extent in enumerate(shape) if d not in dims])


def restored(tensor: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """A reduced tensor with its dimensions of size 1 put back."""
    if not keepdim:
        for dim in dims:
            tensor = passed_on(unsqueeze_op, tensor, dim)
    return tensor


def check_not_empty(input: Layout, name: str, dim: int | None) -> None:
    """Raise if there is nothing to choose from: along ``dim``, or anywhere.

    Raises:
        RuntimeError, IndexError: there is not.
    """
    if dim is None:
        if input.size == 0:
            error = IndexError if name.startswith("arg") else RuntimeError  # as in PyTorch
            raise error(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                f"with the 'dim' argument (shape {list(input.shape)})."
            )
    elif input.shape and input.shape[dim] == 0:
        raise IndexError(
            f"{name}(): Expected reduction dim {dim} to have non-zero size (shape {list(input.shape)})."
        )


def return_type(name: str, *fields: str) -> Any:
    """A named tuple that prints as PyTorch's ``torch.return_types``."""
    made = namedtuple(name, fields or ("values", "indices"))  # type: ignore[misc]

    def text(self: Any) -> str:
        lines = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{name}(\n{lines})"

    made.__repr__ = text  # type: ignore[method-assign]
    return made


def moved_gradient(grad: Tensor, indices: Tensor, input_shape: tuple[int, ...], dim: int) -> Tensor:
    """``scatter_zeros(grad, indices, input_shape, dim)``.

    The gradient of an operation that takes elements at ``indices`` along ``dim``.
    """
    return scatter_zeros(grad, indices, input_shape, dim) if input_shape else grad


def picked_gradient(
    grad: Tensor, indices: Tensor, input_shape: tuple[int, ...], dim: int, keepdim: bool
) -> Tensor:
    """``scatter_zeros(grad, indices, input_shape, dim)``.

    The gradient of an operation that takes one element of each line along ``dim``.
    """
    if not input_shape:
        return grad
    return scatter_zeros(restored(grad, (dim,), keepdim), restored(indices, (dim,), keepdim), input_shape, dim)


def index_tensor(row: Any, shape: tuple[int, ...], input: Tensor) -> Tensor:
    """Indices that a device function has found in ``input``, as a tensor."""
    return fresh(row, shape, tensor_type(int64, input.device))


# -- of all elements, under ``vmap`` ----------------------------------------------------------------------------


def dims_of_examples(input: Tensor) -> tuple[int, ...]:
    """The physical tensor's dimensions but that of the batch."""
    return tuple(range(1, len(input._layout.shape) + 1))


def rows_of_examples(input: Tensor) -> Tensor:
    """The physical tensor with the elements of each example as a row."""
    return reshape(physical(input), (size_of(input), input._layout.size))
