"""Reading and writing at indices under ``vmap``: the batch becomes one more indexed dimension."""

from __future__ import annotations

from ... import devices
from ..._layout import contiguous_strides, numel
from ..._tensor import Tensor
from ..._types import int64
from ..batches import aligned, expanded, is_shared, physical, physical_of, size_of
from ..copying import contiguous_op, convert, row_of
from ..creation.ranges import arange
from ..indexing.advanced import index_backward, index_op, index_put_op
from ..indexing.gathering import embedding_dense_backward, embedding_op
from ..indexing.masking import masked_fill_number, masked_fill_tensor, masked_select_op
from ..indexing.selecting import (
    index_add_op,
    index_copy_op,
    index_fill_number,
    index_fill_tensor,
    index_select_op,
    take_op,
)
from ..indexing.updating import number_as
from ..matrices.matmul import times
from ..pointwise.arithmetic import add
from ..pointwise.comparison import choose, eq, lt
from ..shapes.views import expand_op, permute_op, reshape, unsqueeze_op
from .calls import each_example

__all__: list[str] = []


def _order(rank: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The order of a physical tensor's dimensions in which ``dims`` of the examples come first after the batch."""
    return (0, *[d + 1 for d in dims], *[d + 1 for d in range(rank) if d not in dims])


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([order.index(d) for d in range(len(order))])


def _first(dims: tuple[int, ...]) -> int:
    """Where in the part the dimensions of the places begin."""
    return dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else 0


def _places_first(part: Tensor, dims: tuple[int, ...], rank: int) -> Tensor:
    """A physical part with the dimensions of the places, ``rank`` many, moved to the front of the examples."""
    return permute_op(part, _order(len(part._layout.shape) - 1, tuple(range(_first(dims), _first(dims) + rank))))


def _places_back(part: Tensor, dims: tuple[int, ...], rank: int) -> Tensor:
    """The reverse of ``_places_first``."""
    order = _order(len(part._layout.shape) - 1, tuple(range(_first(dims), _first(dims) + rank)))
    return permute_op(part, _inverse(order))


def _own_places(places: Tensor, count: int, negative: bool = True) -> Tensor:
    """The places of all examples, each of ``count`` elements, as places among those of all examples.

    Raises:
        OutOfBoundsError: one leads outside of its example, or is below 0 and may not be ``negative``.
    """
    found = expanded(places)
    _check(places, count, negative)
    found = choose(lt(found, 0), add(found, count), found)  # indices may be negative
    starts = arange(found._layout.shape[0], device=found.device) * count
    return add(found, reshape(starts, (found._layout.shape[0], *(1,) * len(places._layout.shape))))


def _check(index: Tensor, size: int, negative: bool) -> None:
    wrong = devices.outside(row_of(convert(physical_of(index), int64)), -size if negative else 0, size)
    if wrong is not None:
        raise devices.OutOfBoundsError(wrong, size)


def _indexed(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The batch dimension and those of the places, which follow it."""
    return tuple(range(len(dims) + 1))


def _row_major(part: Tensor) -> Tensor:
    """A physical part that lies as it would without ``vmap``: what follows may be a view of its memory."""
    return part if part._layout.strides == contiguous_strides(part._layout.shape) else contiguous_op(part)


@index_op.batched
def _(input, places, dims, distinct):
    shape, rank = input._layout.shape, len(places._layout.shape)
    if is_shared(input):
        part = index_op(physical(input), physical(places), dims, False)
        first = _first(dims)
        return _row_major(permute_op(part, (first, *[d for d in range(len(part._layout.shape)) if d != first])))
    turned = permute_op(expanded(input), _order(len(shape), dims))
    if is_shared(places):
        part = index_op(turned, physical(places), tuple(range(1, len(dims) + 1)), distinct)
    else:
        own = _own_places(places, numel(tuple([shape[d] for d in dims])))
        part = index_op(turned, own, _indexed(dims), distinct)
    return _row_major(_places_back(part, dims, rank))


@index_backward.batched
def _(grad_output, places, shape, dims, distinct):
    order = _order(len(shape), dims)
    wide = (size_of(grad_output), *shape)
    turned = tuple([wide[d] for d in order])
    grads = _places_first(expanded(grad_output), dims, len(places._layout.shape))
    if is_shared(places):
        result = index_backward(grads, physical(places), turned, tuple(range(1, len(dims) + 1)), distinct)
    else:
        own = _own_places(places, numel(tuple([shape[d] for d in dims])))
        result = index_backward(grads, own, turned, _indexed(dims), distinct)
    return permute_op(result, _inverse(order))


@index_put_op.batched
def _(input, places, values, dims, accumulate, distinct):
    shape, rank = input._layout.shape, len(places._layout.shape)
    order = _order(len(shape), dims)
    rest = tuple([extent for d, extent in enumerate(shape) if d not in dims])
    first = _first(dims)
    part = rest[:first] + places._layout.shape + rest[first:]
    given = aligned(values, len(part))
    if is_shared(values):
        given = unsqueeze_op(given, 0)
    given = _places_first(expand_op(given, (size_of(input), *part)), dims, rank)
    own = _own_places(places, numel(tuple([shape[d] for d in dims])))
    turned = permute_op(expanded(input), order)
    return permute_op(index_put_op(turned, own, given, _indexed(dims), accumulate, distinct), _inverse(order))


@take_op.decomposed
def _(input, index):
    return index_op(reshape(input, (input._layout.size,)), index, (0,), False)


def _as_row(input: Tensor) -> Tensor:
    return input if input._layout.shape else reshape(input, (1,))


@index_select_op.decomposed
def _(input, index, dim):
    input_row = _as_row(input)
    _check(index, input_row._layout.shape[dim], False)
    found = index_op(input_row, _as_row(index), (dim,), False)
    return found if input._layout.shape else reshape(found, ())


def _written(
    input: Tensor, index: Tensor, values: Tensor, dim: int, accumulate: bool, negative: bool = False
) -> Tensor:
    if not input._layout.shape:
        return reshape(_written(_as_row(input), index, values, 0, accumulate, negative), ())
    _check(index, input._layout.shape[dim], negative)
    return index_put_op(input, _as_row(index), values, (dim,), accumulate, False)


@index_add_op.decomposed
def _(input, index, source, dim, alpha):
    return _written(input, index, times(source, alpha), dim, True)


@index_copy_op.decomposed
def _(input, index, source, dim):
    return _written(input, index, source, dim, False)


@index_fill_tensor.decomposed
def _(input, index, value, dim):
    return _written(input, index, value, dim, False, True)


@index_fill_number.decomposed
def _(input, index, dim, value):
    return _written(input, index, number_as(value, input), dim, False, True)


@embedding_op.batched
def _(weight, indices, padding_idx, scale_grad_by_freq, sparse=False):
    count, width = weight._layout.shape
    return index_op(reshape(physical(weight), (-1, width)), _own_places(indices, count, False), (0,), False)


@embedding_dense_backward.batched
def _(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    grads, own = expanded(grad_output), _own_places(indices, num_weights)
    size, width = size_of(indices), grads._layout.shape[-1]
    if padding_idx >= 0:
        padded = aligned(indices, len(indices._layout.shape))
        grads = masked_fill_number(grads, unsqueeze_op(eq(padded, padding_idx), len(padded._layout.shape)), 0)
    result = embedding_dense_backward(grads, own, size * num_weights, -1, scale_grad_by_freq)
    return reshape(result, (size, num_weights, width))


@masked_fill_number.batched
def _(input, mask, value):
    rank = max(len(input._layout.shape), len(mask._layout.shape))
    given = aligned(input, rank)
    return masked_fill_number(given if not is_shared(input) else expanded(input), aligned(mask, rank), value)


@masked_fill_tensor.decomposed
def _(input, mask, value):
    return choose(mask, convert(value, input.dtype), input)


@masked_select_op.batched
def _(input, mask):
    if is_shared(mask):
        return each_example(masked_select_op, input._mapped.level, (input, mask))
    raise RuntimeError(
        "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
        "each batch this would return a differently shaped Tensor. Use where() to keep the shape."
    )
