"""Copies of a tensor in which a part is written: an index, a range of indices, a diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.layout import Layout, normal_dim
from ...core.tensor import Tensor, tensor_of
from ..indexing.updating import updating
from ..memory.copying import repeated_zero, writer
from ..table.lookup import lookup
from ..table.planned import Planned
from .diagonals import diagonal_op, two_dims
from .parts import select_op, slice_op


def _writer(src: Layout, part: Layout, start: int) -> Callable[[Tensor, Tensor, Tensor], None]:
    """What writes to the part of a target that has this layout and begins so many elements later.

    Raises:
        RuntimeError: the source has another shape.
    """
    if src.shape != part.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(part.shape)}"
        )
    write = writer(src, part)
    return lambda _, src, target: write(src, tensor_of(part, target._storage, target._offset + start))


def _cleared(op: Planned, view: Planned, grad: Tensor, *where: int) -> Tensor:
    part, _ = view.prepare(grad._layout, *where)
    return op(grad, repeated_zero(part.shape, part.type), *where)


@updating("SelectScatterBackward0", inputs=["input", "src"], kept=True, dims=["dim"])
def select_scatter_op(input: Layout, src: Layout, dim: int, index: int) -> Any:
    part, step = select_op.prepare(input, dim, index)
    return _writer(src, part, index * step)


@select_scatter_op.gradient("input")
def _(grad, dim, index):
    """``select_scatter(grad, 0, dim, index)``."""
    return _cleared(select_scatter_op, select_op, grad, dim, index)


@select_scatter_op.gradient("src")
def _(grad, dim, index):
    return select_op(grad, dim, index)


@updating("SliceScatterBackward0", inputs=["input", "src"], kept=True, dims=["dim"])
def slice_scatter_op(input: Layout, src: Layout, dim: int, start: int, end: int, step: int) -> Any:
    part, each = slice_op.prepare(input, dim, start, end, step)
    return _writer(src, part, start * each)


@slice_scatter_op.gradient("input")
def _(grad, dim, start, end, step):
    """``slice_scatter(grad, 0, dim, start, end, step)``."""
    return _cleared(slice_scatter_op, slice_op, grad, dim, start, end, step)


@slice_scatter_op.gradient("src")
def _(grad, dim, start, end, step):
    return slice_op(grad, dim, start, end, step)


@updating("DiagonalScatterBackward0", inputs=["input", "src"], kept=True, dims=["dim1", "dim2"])
def diagonal_scatter_op(input: Layout, src: Layout, offset: int, dim1: int, dim2: int) -> Any:
    return _writer(src, *diagonal_op.prepare(input, offset, dim1, dim2))


@diagonal_scatter_op.gradient("input")
def _(grad, offset, dim1, dim2):
    """``diagonal_scatter(grad, 0, offset, dim1, dim2)``."""
    return _cleared(diagonal_scatter_op, diagonal_op, grad, offset, dim1, dim2)


@diagonal_scatter_op.gradient("src")
def _(grad, offset, dim1, dim2):
    return diagonal_op(grad, offset, dim1, dim2)


@lookup
def select_scatter(input: Layout, src: Layout, dim: int, index: int) -> Any:
    """A copy of ``input`` with ``src``, of the shape of ``input.select(dim, index)``, in that place.

    Raises:
        IndexError: there is no such dimension or index.
        RuntimeError: ``src`` has another shape.
    """
    if not input.shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normal_dim(dim, len(input.shape))
    extent = input.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    return select_scatter_op, (dim, index % extent)


@lookup
def slice_scatter(
    input: Layout, src: Layout, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """A copy of ``input`` with ``src``, of the shape of that slice of dimension ``dim``, in its place.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``src`` has another shape, or ``step`` is not positive.
    """
    if step < 1:
        raise RuntimeError("slice step must be positive")
    dim = normal_dim(dim, len(input.shape))
    first, stop, _ = slice(start, end, step).indices(input.shape[dim])
    return slice_scatter_op, (dim, first, max(stop, first), step)


@lookup
def diagonal_scatter(input: Layout, src: Layout, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy of ``input`` with ``src``, of the shape of ``input.diagonal(offset, dim1, dim2)``, in that place.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the two are the same, or ``src`` has another shape.
    """
    return diagonal_scatter_op, (offset, *two_dims(dim1, dim2, len(input.shape)))
