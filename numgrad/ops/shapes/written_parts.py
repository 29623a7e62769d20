"""Copies of a tensor in which a part is written: an index, a range of indices, a diagonal."""

from __future__ import annotations

from ..._layout import normal_dim
from ..._tensor import Tensor
from ..arguments import checked
from ..batches import empty_beside, is_mapped
from ..copying import clone_op
from ..overwriting import copy_
from ..table import public
from .diagonals import diagonal
from .parts import select, slice_op

__all__ = ["diagonal_scatter", "select_scatter", "slice_scatter"]


def _copy(input: Tensor, src: Tensor) -> Tensor:
    """A copy of ``input`` that ``src`` can be written to: one for each example, if ``src`` stands for several."""
    if not is_mapped(src):
        return clone_op(input)
    return copy_(empty_beside((input, src), input._layout.shape, input._layout.type), input)


def _written(copy: Tensor, part: Tensor, src: Tensor) -> Tensor:
    """The copy with ``src`` in this part, a view of it."""
    if src._layout.shape != part._layout.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(part.shape)}"
        )
    copy_(part, src)
    return copy


@checked
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of ``input`` with ``src``, of the shape of ``input.select(dim, index)``, in that place.

    Raises:
        IndexError: there is no such dimension or index.
        RuntimeError: ``src`` has another shape.
    """
    copy = _copy(input, src)
    return _written(copy, select(copy, dim, index), src)


@checked
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of ``input`` with ``src``, of the shape of that slice of dimension ``dim``, in its place.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``src`` has another shape.
        ValueError: ``step`` is not positive.
    """
    if step < 1:
        raise ValueError("slice step must be positive")
    copy = _copy(input, src)
    dim = normal_dim(dim, len(input._layout.shape))
    first, stop, _ = slice(start, end, step).indices(input._layout.shape[dim])
    return _written(copy, slice_op(copy, dim, first, max(stop, first), step), src)


@checked
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of ``input`` with ``src``, of the shape of ``input.diagonal(offset, dim1, dim2)``, in that place.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the two are the same, or ``src`` has another shape.
    """
    copy = _copy(input, src)
    return _written(copy, diagonal(copy, offset, dim1, dim2), src)


for _function in (select_scatter, slice_scatter, diagonal_scatter):
    public(_function)
