"""Dimensions repeated without copying: expand, broadcast_to; and dimensions added up to a minimum number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...core import layout as layouts
from ...core import types
from ...core.layout import Layout, broadcast_strides, layout_of
from ...core.types import Size
from ...tensors.tensor import Tensor
from ..batching.batches import physical, size_of
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import check_tensors, composite, named, public
from ..table.public_signatures import OneOrSeveral
from .dimensions import unsqueeze_op
from .views import reshape, sizes_of


@operation("ExpandBackward0", view=True, passed=["input"])
def expand_op(input: Layout, shape: tuple[int, ...]) -> tuple[Layout, int]:
    missing = len(shape) - len(input.shape)
    strides = list(broadcast_strides(input.shape, input.strides, shape))
    for dim in range(missing - 1, -1, -1):
        if shape[dim] == 1:
            strides[dim] = shape[dim + 1] * strides[dim + 1] if dim + 1 < len(shape) else 1
    return layout_of(input.type, shape, tuple(strides)), 0


@expand_op.batched
def _(input, shape):
    size, inner = size_of(input), input._layout.shape
    return expand_op(reshape(physical(input), (size, *(1,) * (len(shape) - len(inner)), *inner)), (size, *shape))


@lookup(function=False)
def expand(input: Layout, *sizes: Any, size: Any = None) -> Any:
    """Return the tensor repeated along dimensions of size 1, or new ones in front, without copying; -1 keeps a size.

    Raises:
        RuntimeError: if a size other than 1 would have to change.
    """
    target = sizes_of(sizes, size, "expand(): argument 'size'")
    missing = len(target) - len(input.shape)
    check(
        missing >= 0,
        "expand({}{{{}}}, size={}): the number of sizes provided ({}) must be greater or equal to the number of "
        "dimensions in the tensor ({})", input.type.name, input, target, len(target), len(input.shape),
    )
    shape = []
    for position, goal in enumerate(target):
        extent = input.shape[position - missing] if position >= missing else None
        check(
            goal >= 0 or extent is not None,
            "The expanded size of the tensor ({}) isn't allowed in a leading, non-existing dimension {}",
            goal, position,
        )
        if goal != -1 and (goal < 0 or extent not in (None, 1, goal)):
            raise RuntimeError(
                f"The expanded size of the tensor ({goal}) must match the existing size ({extent}) at non-singleton "
                f"dimension {position}.  Target sizes: {list(target)}.  Tensor sizes: {list(input.shape)}"
            )
        shape.append(extent if goal == -1 else goal)
    return expand_op, (tuple(shape),)


@composite(function=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the tensor expanded to the shape of ``other``."""
    return expand(input, other._layout.shape)


@composite
def broadcast_to(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """Return the tensor expanded to a shape: ``expand``, with NumPy's name.

    Example:
        >>> import numgrad
        >>> numgrad.broadcast_to(numgrad.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return expand(input, sizes_of(sizes, size, "broadcast_to(): argument 'size'"))


@composite(method=False)
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the tensors, given one by one or as one sequence, expanded to their common shape.

    Raises:
        RuntimeError: if they have none.

    Example:
        >>> import numgrad
        >>> numgrad.broadcast_tensors(numgrad.tensor([1, 2]), numgrad.tensor([[3]]))
        (tensor([[1, 2]]), tensor([[3, 3]]))
    """
    several: Any = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    check(several, "expected a non-empty list of Tensors")
    shape = layouts.broadcast_shapes(*[tensor._layout.shape for tensor in several])
    return tuple([tensor if tensor._layout.shape == shape else expand_op(tensor, shape) for tensor in several])


@public(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that tensors of these shapes broadcast to; an int stands for one dimension.

    Raises:
        RuntimeError: if there is none.
        ValueError: if a size is negative.

    Example:
        >>> import numgrad
        >>> numgrad.broadcast_shapes((2, 1), (3,))
        torch.Size([2, 3])
    """
    normal = [(shape,) if isinstance(shape, int) else tuple(map(operator.index, shape)) for shape in shapes]
    if any(extent < 0 for shape in normal for extent in shape):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    result = [1] * max(map(len, normal), default=0)
    for number, shape in enumerate(normal):
        for position in range(-1, -len(shape) - 1, -1):
            if result[position] == 1:
                result[position] = shape[position]
            elif shape[position] not in (1, result[position]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[position]} at {position}! "
                    f"Mismatching argument at index {number} had {shape}; but expected shape should be broadcastable "
                    f"to {result}"
                )
    return types.size_of(tuple(result))


# -- more dimensions ----------------------------------------------------------------------------------------------


def _for_each(function: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """Decorate a function of one tensor to return a tuple for several tensors, or for a sequence of them."""
    name = function.__name__

    def call(*tensors: Any) -> OneOrSeveral:
        several = len(tensors) != 1 or isinstance(tensors[0], tuple | list)
        arguments = tensors[0] if several and len(tensors) == 1 else tensors
        for tensor in arguments:
            check_tensors(name, input=tensor)
        results = tuple([function(tensor) for tensor in arguments])
        return results if several else results[0]

    return composite(named(call, name, function.__doc__), method=False)


@_for_each
def atleast_1d(input: Tensor) -> Tensor:
    """Return the tensor with at least one dimension; a tuple for several tensors, also given as a sequence.

    Example:
        >>> import numgrad
        >>> numgrad.atleast_1d(numgrad.tensor(2.0))
        tensor([2.])
    """
    return input if input._layout.shape else reshape(input, (1,))


@_for_each
def atleast_2d(input: Tensor) -> Tensor:
    """Return the tensor with at least two dimensions, new ones in front; a tuple for several tensors.

    Example:
        >>> import numgrad
        >>> numgrad.atleast_2d(numgrad.tensor([1, 2]))
        tensor([[1, 2]])
    """
    if not input._layout.shape:
        return reshape(input, (1, 1))
    return unsqueeze_op(input, 0) if len(input._layout.shape) == 1 else input


@_for_each
def atleast_3d(input: Tensor) -> Tensor:
    """Return the tensor with at least three dimensions: (1, n, 1) for a vector, (n, m, 1) for a matrix.

    Example:
        >>> import numgrad
        >>> numgrad.atleast_3d(numgrad.ones(2)).shape
        torch.Size([1, 2, 1])
    """
    if not input._layout.shape:
        return reshape(input, (1, 1, 1))
    if len(input._layout.shape) == 1:
        return unsqueeze_op(unsqueeze_op(input, 0), 2)
    return unsqueeze_op(input, 2) if len(input._layout.shape) == 2 else input
