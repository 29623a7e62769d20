"""Grids and products of sets: every combination of the elements of several vectors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import devices
from ...core.device import CPU
from ...core.layout import layout_of
from ...core.types import int64, tensor_type
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor, check_one_device
from ..memory.copying import convert, from_buffer, zeros_of
from ..table.checks import check
from ..table.lookup import operation
from ..table.op import composite, public_functions
from ..table.promotion import promote_types
from .broadcasting import expand_op
from .joining import checked_tensors, stack
from .parts import slice_op
from .views import flatten, reshape, view


def _sequence(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a tuple of the tensors, passed separately or as one sequence."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors


@composite(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinates of the points of a grid: each vector repeated along the others' dimensions.

    With ``indexing="ij"`` (the default) the first vector runs along the rows, with ``"xy"`` along the columns.

    Raises:
        RuntimeError: if there are none, one is not a vector, or their dtypes differ.

    Example:
        >>> import numgrad
        >>> numgrad.meshgrid(numgrad.tensor([1, 2]), numgrad.tensor([3, 4]), indexing="ij")
        (tensor([[1, 1],
                [2, 2]]), tensor([[3, 4],
                [3, 4]]))
    """
    vectors = checked_tensors("meshgrid", _sequence(tensors))
    check(vectors, "meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for vector in vectors:
        check(
            len(vector._layout.shape) <= 1,
            "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape {}", vector,
        )
        if vector._layout.type is not vectors[0]._layout.type:
            check_one_device(*vectors)
            raise RuntimeError(
                "meshgrid expects all tensors to have the same dtype "
                f"(got {', '.join([str(v.dtype) for v in vectors])})"
            )
    swapped = indexing == "xy" and len(vectors) > 1
    if swapped:
        vectors = (vectors[1], vectors[0], *vectors[2:])
    shape = tuple([vector._layout.size for vector in vectors])
    grids = []
    for dim, vector in enumerate(vectors):
        view_shape = [1] * len(shape)
        view_shape[dim] = -1
        grids.append(expand_op(view(vector, view_shape), shape))
    if swapped:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


def _vector(input: Any) -> Tensor:
    check(len(input._layout.shape) == 1, "Expect a 1D vector, but got shape {}", input)
    return input


@composite(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """Return rows of all combinations of one element of each vector; for a single vector, the vector itself.

    Raises:
        RuntimeError: if one is not a vector.

    Example:
        >>> import numgrad
        >>> numgrad.cartesian_prod(numgrad.tensor([1, 2]), numgrad.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    vectors = [_vector(tensor) for tensor in checked_tensors("cartesian_prod", _sequence(tensors))]
    if len(vectors) == 1:
        return vectors[0]
    return stack([flatten(grid) for grid in meshgrid(vectors, indexing="ij")], 1)


@composite(method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return rows of all choices of ``r`` elements of a vector, in their order.

    Raises:
        RuntimeError: if the tensor is not a vector, or ``r`` is negative.

    Example:
        >>> import numgrad
        >>> numgrad.combinations(numgrad.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    count = _vector(input)._layout.shape[0]
    check(r >= 0, "Expect a non-negative number, but got {}", r)
    if r == 0:
        return zeros_of((0,), input._layout.type)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = math.comb(count + r - 1, r) if with_replacement and count else math.comb(count, r)
    with devices.allocating((rows, r), tensor_type(int64, CPU)):  # fromiter allocates all rows at once
        choices = choose(range(count), r) if rows else ()
        row = np.fromiter(itertools.chain.from_iterable(choices), np.int64, rows * r)
    chosen = public_functions["index_select"](input, 0, from_buffer(row, row.shape, tensor_type(int64, input.device)))
    return reshape(chosen, (rows, r))


@operation("BlockDiagBackward0", inputs=["tensors"], sequence=True, linear=True)
def block_diag_op(p: Plan, tensors: tuple[TensorRef, ...], shapes: tuple[tuple[int, ...], ...]) -> TensorRef:
    blocks = list(_blocks(shapes))
    row, column, height, width = blocks[-1]
    out = p.new_tensor(layout_of(tensors[0].type, (row + height, column + width)), True)
    for tensor, (top, left, *shape) in zip(tensors, blocks, strict=True):
        part = layout_of(out.type, tuple(shape), out.layout.strides)
        p.assign(tensor, out.viewed(part, top * out.shape[1] + left))
    return out


@block_diag_op.gradient("tensors")
def _(grad, shapes):
    """``grad[rows, columns]``, the block that the tensor was put at."""
    return [
        reshape(slice_op(slice_op(grad, 0, row, row + height, 1), 1, column, column + width, 1), shape)
        for shape, (row, column, height, width) in zip(shapes, _blocks(shapes), strict=True)
    ]


def _blocks(shapes: tuple[tuple[int, ...], ...]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the row, column, height and width of each block, given the blocks' shapes."""
    row = column = 0
    for shape in shapes:
        height, width = (1,) * (2 - len(shape)) + shape
        yield row, column, height, width
        row, column = row + height, column + width


@composite(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """Return a matrix with the given matrices along its diagonal and zeros elsewhere.

    A vector counts as a row, and a 0-d tensor as a 1x1 matrix.

    Raises:
        RuntimeError: if a tensor has more than two dimensions.

    Example:
        >>> import numgrad
        >>> numgrad.block_diag(numgrad.ones(1, 1), numgrad.ones(1, 2))
        tensor([[1., 0., 0.],
                [0., 1., 1.]])
    """
    matrices = checked_tensors("block_diag", _sequence(tensors))
    if not matrices:
        return public_functions["empty"](1, 0)
    dtype = matrices[0].dtype
    for number, tensor in enumerate(matrices):
        check(
            len(tensor._layout.shape) <= 2,
            "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {} has {} dimensions",
            number, len(tensor._layout.shape), tensor,
        )
        dtype = promote_types(dtype, tensor.dtype)
    return block_diag_op(tuple([convert(t, dtype) for t in matrices]), tuple([t._layout.shape for t in matrices]))
