"""Positions of elements: from flat indices, and a fixed number of those that are not zero."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ...core.layout import contiguous_strides
from ...core.types import int64
from ...tensors.tensor import Tensor
from ..creation.factories import full
from ..memory.copying import convert
from ..pointwise.integers import floor_divide, remainder
from ..table.checks import check, check_value
from ..table.op import check_tensors, public
from .masking import nonzero


@public(method=False)
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Return the coordinates, a tensor for each dimension, of elements at flat indices of a tensor of this shape.

    Raises:
        TypeError: the indices, or the sizes, are not integers.
        ValueError: a size is negative.

    Example:
        >>> import numgrad
        >>> numgrad.unravel_index(numgrad.tensor([4, 1]), (2, 3))
        (tensor([1, 0]), tensor([1, 1]))
    """
    if indices.dtype.kind != "i":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = tuple(map(operator.index, shape if isinstance(shape, Sequence) else (shape,)))
    check_value(not sizes or min(sizes) >= 0, "'shape' cannot have negative values, but got {}", sizes)
    flat = convert(indices, int64)
    return tuple([
        remainder(floor_divide(flat, step), size)
        for size, step in zip(sizes, contiguous_strides(sizes), strict=True)
    ])


@public
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Return the indices of the first ``size`` nonzero elements, of shape (size, dimensions).

    If there are fewer, the other rows are filled with ``fill_value``.  The shape does not depend on the elements.

    Raises:
        RuntimeError: the size is negative.

    Example:
        >>> import numgrad
        >>> numgrad.nonzero_static(numgrad.tensor([0, 3, 4]), size=3)
        tensor([[ 1],
                [ 2],
                [-1]])
    """
    check_tensors("nonzero_static", input=input)
    check(size >= 0, "nonzero_static: 'size' must be an non-negative integer, not {}", size)
    found = nonzero(input)[:size]
    result = full((size, len(input._layout.shape)), fill_value, dtype=found.dtype, device=input.device)
    result[: len(found)] = found
    return result
