"""Splitting a tensor into pieces along a dimension, all of them views."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...core.layout import Layout, layout_of, normal_dim
from ...tensors.tensor import Tensor
from ..memory.copying import zeros_of
from ..table.arguments import Dim
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import attach, composite
from ..table.planned import Planned
from ..table.public_signatures import Several
from .joining import cat_op
from .parts import slice_op

#: Number of pieces that a tensor may be split into even if it has fewer elements.
MOST_EMPTY = 1 << 20


def _pieces(input: Layout, sizes: tuple[int, ...], dim: int) -> tuple[tuple[Layout, ...], tuple[int, ...]]:
    """Return the layouts of adjacent ranges of indices of these lengths, and their offsets."""
    shape, strides = input.shape, input.strides
    starts = tuple([start * strides[dim] for start in itertools.accumulate(sizes[:-1], initial=0)])
    layouts = [layout_of(input.type, (*shape[:dim], size, *shape[dim + 1 :]), strides) for size in sizes]
    return tuple(layouts), starts[: len(sizes)]


def _check_count(input: Layout, count: int) -> None:
    """Raise unless there may be this number of pieces: as many as the tensor has elements, or a million.

    Raises:
        RuntimeError: if there would be more.
    """
    check(count <= max(MOST_EMPTY, input.size), "a tensor of shape {} cannot be split into {} pieces", input, count)


def _even(extent: int, size: int) -> tuple[int, ...]:
    """Return ``extent`` in pieces of ``size``, the last of which may be smaller."""
    whole, remainder = divmod(extent, size) if size else (1, 0)
    return (size,) * whole + ((remainder,) if remainder or not whole else ())


def _joined(grad: Any, sizes: tuple[int, ...], dim: int) -> Tensor:
    """Return the joined gradients of the pieces, None for pieces that have none."""
    grads = grad if isinstance(grad, list) else [grad]
    example = next(g for g in grads if g is not None)
    shape = example._layout.shape
    parts = [
        zeros_of((*shape[:dim], size, *shape[dim + 1 :]), example._layout.type) if g is None else g
        for g, size in zip(grads, sizes, strict=True)
    ]
    return cat_op(tuple(parts), dim, sizes)


@operation("SplitBackward0", view=True, dims=["dim"])
def split_op(input: Layout, split_size: int, dim: int) -> Any:
    return _pieces(input, _even(input.shape[dim], split_size), dim)


@operation("UnsafeSplitBackward0", public=True, view=True, connected=False)
def unsafe_split_op(input: Layout, split_size: int, dim: Dim = 0) -> Several:
    """Return pieces as ``split`` does; autograd treats them as copies and misses their in-place changes."""
    _check_size(input, split_size, dim)
    return _pieces(input, _even(input.shape[dim], split_size), dim)


@split_op.gradient("input")
@unsafe_split_op.gradient("input")
def _(grad, input_shape, split_size, dim):
    """``cat(grad, dim)``."""
    return _joined(grad, _even(input_shape[dim], split_size), dim)


@operation("SplitWithSizesBackward0", aten="split_with_sizes", view=True, dims=["dim"])
def split_sizes_op(input: Layout, sizes: tuple[int, ...], dim: int) -> Any:
    return _pieces(input, sizes, dim)


@operation("UnsafeSplitWithSizesBackward0", aten="unsafe_split_with_sizes", view=True, connected=False, dims=["dim"])
def unsafe_split_sizes_op(input: Layout, sizes: tuple[int, ...], dim: int) -> Any:
    """Return pieces on the input's memory, which autograd treats as copies."""
    return _pieces(input, sizes, dim)


@split_sizes_op.gradient("input")
@unsafe_split_sizes_op.gradient("input")
def _(grad, sizes, dim):
    """``cat(grad, dim)``."""
    return _joined(grad, sizes, dim)


def _check_size(input: Layout, split_size: int, dim: int) -> None:
    """Raise unless a dimension can be split into pieces of this size."""
    check(input.shape, "split expects at least a 1-dimensional tensor")
    check(split_size >= 0, "split expects split_size be non-negative, but got split_size={}", split_size)
    check(
        split_size != 0 or not input.shape[dim],
        "split_size can only be 0 if dimension size is 0, but got dimension size of {}", input.shape[dim],
    )


def _checked_sizes(input: Layout, split_sizes: Any, dim: int) -> tuple[tuple[int, ...], int]:
    """Return the sizes and the dimension, if the dimension can be split into pieces of these sizes."""
    if not isinstance(split_sizes, tuple | list):
        kind = type(split_sizes).__name__
        raise TypeError(f"split_with_sizes(): argument 'split_sizes' must be tuple of ints, not {kind}")
    shape = input.shape
    check(shape, "split expects at least a 1-dimensional tensor")
    dim = normal_dim(dim, len(shape))
    sizes = tuple([size.__index__() for size in split_sizes])
    check(
        all(size >= 0 for size in sizes),
        "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={}", sizes,
    )
    check(
        sum(sizes) == shape[dim],
        "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at dimension {}), but got "
        "split_sizes={}", shape[dim], dim, sizes,
    )
    return sizes, dim


@lookup
def split_with_sizes(input: Layout, split_sizes: Sequence[int], dim: int = 0) -> Several:
    """Return pieces of the given sizes.

    Raises:
        RuntimeError: if the sizes do not add up to that of the dimension.

    Example:
        >>> import numgrad
        >>> numgrad.split_with_sizes(numgrad.arange(5), [2, 3])
        (tensor([0, 1]), tensor([2, 3, 4]))
    """
    return split_sizes_op, _checked_sizes(input, split_sizes, dim)


def _split_method(self: Layout, split_size: Any, dim: int = 0) -> Several:
    """Return pieces of one size, or of the given sizes: see ``numgrad.split``."""
    if not isinstance(split_size, int):
        return split_sizes_op, _checked_sizes(self, split_size, dim)
    dim = normal_dim(dim, len(self.shape))
    _check_size(self, split_size, dim)
    return split_op, (split_size, dim)


@lookup(method=False)
def split(tensor: Layout, split_size_or_sections: Any, dim: int = 0) -> Several:
    """Return pieces of one size, the last of which may be smaller, or of the given sizes.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if the sizes do not add up to that of the dimension.

    Example:
        >>> import numgrad
        >>> numgrad.split(numgrad.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _split_method(tensor, split_size_or_sections, dim)


@lookup
def unsafe_split_with_sizes(input: Layout, split_sizes: Sequence[int], dim: int = 0) -> Several:
    """Return pieces as ``split_with_sizes`` does; autograd treats them as copies."""
    return unsafe_split_sizes_op, _checked_sizes(input, split_sizes, dim)


def _chunks(input: Layout, chunks: int, dim: int, into_equal: Planned, into_sizes: Planned) -> Any:
    """Return the operation that makes chunks of one size; for an empty dimension, the one for given sizes."""
    check(input.shape, "chunk expects at least a 1-dimensional tensor")
    check(chunks > 0, "chunk expects `chunks` to be greater than 0, got: {}", chunks)
    dim = normal_dim(dim, len(input.shape))
    size = -(-input.shape[dim] // chunks)
    if not size:
        _check_count(input, chunks)
    return (into_equal, (size, dim)) if size else (into_sizes, ((0,) * chunks, dim))


@lookup
def chunk(input: Layout, chunks: int, dim: int = 0) -> Several:
    """Return at most ``chunks`` pieces of one size; the last may be smaller.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if there would be no piece.

    Example:
        >>> import numgrad
        >>> numgrad.chunk(numgrad.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    return _chunks(input, chunks, dim, split_op, split_sizes_op)


@lookup
def unsafe_chunk(input: Layout, chunks: int, dim: int = 0) -> Several:
    """Return pieces as ``chunk`` does; autograd treats them as copies."""
    return _chunks(input, chunks, dim, unsafe_split_op, unsafe_split_sizes_op)


@composite
def tensor_split(input: Tensor, indices_or_sections: int | Sequence[int] | Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return a given number of nearly equal pieces, or the pieces between given indices.

    Of nearly equal pieces, the first ones may be larger by one.

    Raises:
        RuntimeError: if the tensor has no dimensions, or there would be no piece, or far more than it has elements.

    Example:
        >>> import numgrad
        >>> numgrad.tensor_split(numgrad.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    check(input._layout.shape, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = normal_dim(dim, len(input._layout.shape))
    extent = input._layout.shape[dim]
    sections = indices_or_sections
    if isinstance(sections, Tensor):
        check(
            sections.dtype.kind == "i" and sections.dtype.itemsize == 8,
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got {}",
            sections.dtype.legacy, sections,
        )
        check(
            len(sections._layout.shape) <= 1,
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
            "got a tensor with {} dims", len(sections._layout.shape),
        )
        sections = sections.tolist()
    if isinstance(sections, int):
        check(sections >= 1, "number of sections must be larger than 0, got {}", sections)
        _check_count(input._layout, sections)
        size, larger = divmod(extent, sections)
        bounds = [n * size + min(n, larger) for n in range(1, sections)]
    else:
        bounds = [index.__index__() for index in sections]
    starts, stops = [0, *bounds], [*bounds, extent]
    pieces = []
    for start, stop in zip(starts, stops, strict=True):
        first, last, _ = slice(start, stop).indices(extent)
        pieces.append(slice_op(input, dim, first, max(first, last), 1))
    return tuple(pieces)


def _split_along(input: Tensor, sections: Any, dim: int, name: str, rank: int) -> tuple[Tensor, ...]:
    """Return ``tensor_split`` into equal pieces, for a tensor of at least ``rank`` dimensions."""
    shape = input._layout.shape
    check(
        len(shape) >= rank,
        "torch.{} requires a tensor with at least {} dimension, but got a tensor with {} dimensions!",
        name, rank, input.dim(),
    )
    if isinstance(sections, int) and (sections == 0 or shape[dim] % sections):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{shape[dim]} is not divisible by the split_size {sections}!"
        )
    return tensor_split(input, sections, dim)


@composite
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Return equal pieces, or those between indices, along the columns (of a vector, its elements).

    Example:
        >>> import numgrad
        >>> numgrad.hsplit(numgrad.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """
    return _split_along(input, indices_or_sections, 0 if len(input._layout.shape) == 1 else 1, "hsplit", 1)


@composite
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Return equal pieces, or those between indices, along the rows.

    Example:
        >>> import numgrad
        >>> numgrad.vsplit(numgrad.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _split_along(input, indices_or_sections, 0, "vsplit", 2)


@composite
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Return equal pieces, or those between indices, along dimension 2.

    Example:
        >>> import numgrad
        >>> [part.shape for part in numgrad.dsplit(numgrad.ones(1, 2, 4), 2)]
        [torch.Size([1, 2, 2]), torch.Size([1, 2, 2])]
    """
    return _split_along(input, indices_or_sections, 2, "dsplit", 3)


_split_method.__name__ = "split"
attach("split", lookup(_split_method, export=False))
