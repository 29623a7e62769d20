"""Helpers for operations along dimensions: which dimensions, the order of the elements, and the resulting shape."""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ...core.layout import Layout, numel
from ...core.types import dtype, int64
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import physical, size_of
from ..indexing.gathering import scatter_zeros
from ..shapes.dimensions import permute_op, unsqueeze_op
from ..shapes.views import grad_view, reshape

#: The result of preparing an operation without a plan: the layout of its result, or layouts of several, and the
#: function that computes it.
Prepared = tuple[Any, Callable[..., Any]]


def along_axis(
    p: Plan, name: str, x: TensorRef, dims: tuple[int, ...], *arguments: Any, dtype: dtype | None = None
) -> Any:
    """Add the backend's step ``name`` along some dimensions of a tensor, converted to ``dtype`` if one is given.

    The step takes the elements in row-major order, the sizes before, in and after the dimensions, and ``arguments``.
    If ``dims`` are not adjacent, the tensor is permuted.
    """
    if dims and dims[-1] - dims[0] + 1 != len(dims):
        order = tuple([d for d in range(len(x.shape)) if d not in dims]) + dims
        x = x.viewed(permute_op.prepare(x.layout, order)[0])
        dims = tuple(range(len(order) - len(dims), len(order)))
    return getattr(p.backend, name)(p, p.contiguous(x, dtype), *axis_sizes(x.shape, dims), *arguments)


def reduced_along(
    p: Plan, name: str, x: TensorRef, dims: tuple[int, ...], *arguments: Any, dtype: dtype | None = None
) -> Any:
    """Add the steps of ``along_axis`` for reductions, which may read the elements in memory order."""
    order = memory_order(x.layout)
    positions = tuple([position for position, d in enumerate(order) if d in dims])
    kept = [d for d in order if d not in dims]
    if kept == sorted(kept) and positions and positions[-1] - positions[0] + 1 == len(positions):
        x, dims = x.viewed(permute_op.prepare(x.layout, order)[0]), positions
    return along_axis(p, name, x, dims, *arguments, dtype=dtype)


@functools.lru_cache(maxsize=4096)
def memory_order(layout: Layout) -> tuple[int, ...]:
    """Return the dimensions in memory order if the elements have no gaps in memory, else in the order of the shape."""
    dims = tuple(range(len(layout.shape)))
    order = tuple(sorted(dims, key=lambda d: -layout.strides[d]))
    return order if permute_op.prepare(layout, order)[0].contiguous else dims


@functools.lru_cache(maxsize=4096)
def passes(shape: tuple[int, ...], dims: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return the sizes before, in and after each group of adjacent dimensions in ``dims``, for one pass per group.

    Each pass removes the dimensions of its group.
    """
    if len(dims) == len(shape) or 0 in shape:
        return [(math.prod([n for d, n in enumerate(shape) if d not in dims]), math.prod([shape[d] for d in dims]), 1)]
    groups: list[tuple[bool, int]] = []
    for dim, size in enumerate(shape):
        reduced = dim in dims
        if groups and groups[-1][0] == reduced:
            size *= groups.pop()[1]
        if size > 1:
            groups.append((reduced, size))
    result, outer = [], 1
    for number, (reduced, size) in enumerate(groups):
        if reduced:
            result.append((outer, size, math.prod([n for _, n in groups[number + 1 :]])))
        else:
            outer *= size
    return result or [(1, 1, numel(shape))]


def picked(
    p: Plan, name: str, input: TensorRef, dims: tuple[int, ...], shape: tuple[int, ...], *arguments: Any,
    along: Callable[..., Any] = along_axis,
) -> tuple[TensorRef, TensorRef]:
    """Add the steps that pick elements along some dimensions; return these and their indices, both of ``shape``."""
    elements, indices = along(p, name, input, dims, *arguments)
    return p.tensor(elements, input.type, shape), p.tensor(indices, input.type.with_dtype(int64), shape)


@functools.lru_cache(maxsize=4096)
def axis_sizes(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the number of elements before, in and after adjacent dimensions."""
    if len(dims) == len(shape):
        return 1, numel(shape), 1
    first, last = (dims[0], dims[-1] + 1) if dims else (0, 0)
    return numel(shape[:first]), numel(shape[first:last]), numel(shape[last:])


@functools.lru_cache(maxsize=4096)
def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """Return the shape of the result of a reduction."""
    if keepdim:
        return tuple([1 if d in dims else extent for d, extent in enumerate(shape)])
    if len(dims) == len(shape):
        return ()
    return tuple([extent for d, extent in enumerate(shape) if d not in dims])


def restored(tensor: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return a reduced tensor with its dimensions of size 1 restored."""
    if not keepdim:
        for dim in dims:
            tensor = grad_view(unsqueeze_op, tensor, dim)
    return tensor


def check_not_empty(input: Layout | TensorRef, name: str, dim: int | None) -> None:
    """Raise if there is no element to choose from, along ``dim`` or, for None, in the whole tensor.

    Raises:
        RuntimeError, IndexError: there is none.
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
    """Return a named tuple class that prints like PyTorch's ``torch.return_types``."""
    result = namedtuple(name, fields or ("values", "indices"))  # type: ignore[misc]

    def text(self: Any) -> str:
        lines = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{name}(\n{lines})"

    result.__repr__ = text  # type: ignore[method-assign]
    return result


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


# -- of all elements, under ``vmap`` ----------------------------------------------------------------------------


def dims_of_examples(input: Tensor) -> tuple[int, ...]:
    """Return the dimensions of the physical tensor other than that of the batch."""
    return tuple(range(1, len(input._layout.shape) + 1))


def rows_of_examples(input: Tensor) -> Tensor:
    """Return the physical tensor with the elements of each example as a row."""
    return reshape(physical(input), (size_of(input), input._layout.size))
