"""Views and other shapes under ``vmap``; see ``calls``."""

from __future__ import annotations

from ..batches import aligned, expanded, physical, size_of
from ..reductions.sums import sum_all, sum_dims
from ..shapes.diagonals import diagonal_op, trace_op
from ..shapes.joining import cat_op, stack_op
from ..shapes.parts import slice_op
from ..shapes.rearranging import repeat_op, roll_op
from ..shapes.views import (
    expand_op,
    permute_op,
    reshape,
    reshape_alias,
    squeeze_all,
    squeeze_dim,
    squeeze_dims,
    squeeze_result,
    t_op,
    transpose_op,
    unsafe_view,
    unsqueeze_op,
    view_as_shape,
)
from ..shapes.whole import alias
from ..shapes.windows import as_strided, as_strided_op, unfold_backward, unfold_op

__all__: list[str] = []


@reshape_alias.batched
def _(input, shape, strides):
    return view_as_shape(physical(input), (size_of(input), *shape))


@unsafe_view.batched
def _(input, shape):
    return reshape(physical(input), (size_of(input), *shape))


@permute_op.batched
def _(input, dims):
    return permute_op(physical(input), (0, *[d + 1 for d in dims]))


@transpose_op.batched
def _(input, dim0, dim1):
    return transpose_op(physical(input), dim0 + 1, dim1 + 1) if input._layout.shape else alias(physical(input))


@t_op.batched
def _(input):
    return transpose_op(physical(input), 1, 2) if len(input._layout.shape) == 2 else alias(physical(input))


@squeeze_all.batched
def _(input):
    return squeeze_dims(physical(input), tuple(range(1, len(input._layout.shape) + 1)))


@squeeze_dim.batched
def _(input, dim):
    return squeeze_dim(physical(input), dim + 1) if input._layout.shape else alias(physical(input))


@squeeze_result.batched
def _(input, dim):
    return reshape(physical(input), (size_of(input), *input._layout.shape[:dim], *input._layout.shape[dim + 1 :]))


@expand_op.batched
def _(input, shape):
    return expand_op(aligned(input, len(shape)), (size_of(input), *shape))


@repeat_op.batched
def _(input, repeats):
    return repeat_op(aligned(input, len(repeats)), (1, *repeats))


@roll_op.batched
def _(input, shifts, dims):
    if dims:
        return roll_op(physical(input), shifts, tuple([d + 1 for d in dims]))
    rows = reshape(physical(input), (size_of(input), input._layout.size))
    return reshape(roll_op(rows, shifts, (1,)), (size_of(input), *input._layout.shape))


@as_strided_op.batched
def _(input, size, stride, start, geometry):
    whole = physical(input)
    step = whole._layout.strides[0]
    return as_strided(whole, (size_of(input), *size), (step, *stride), whole._offset + start)


@cat_op.batched
def _(tensors, dim, extents):
    if None in extents:
        kept = [pair for pair in zip(tensors, extents, strict=True) if pair[1] is not None]
        tensors, extents = [tuple(part) for part in zip(*kept, strict=True)]
    return cat_op(tuple(map(expanded, tensors)), dim + 1, extents)


@stack_op.batched
def _(tensors, dim):
    return stack_op(tuple(map(expanded, tensors)), dim + 1)


@trace_op.decomposed
def _(input):
    return sum_all(diagonal_op(input, 0, 0, 1))


@unfold_op.batched
def _(input, dimension, size, step):
    if input._layout.shape:
        return unfold_op(physical(input), dimension + 1, size, step)
    return slice_op(unsqueeze_op(physical(input), 1), 1, 0, size, 1)


@unfold_backward.batched
def _(grad_output, shape, dimension, size, step):
    if shape:
        return unfold_backward(physical(grad_output), (size_of(grad_output), *shape), dimension + 1, size, step)
    return sum_dims(physical(grad_output), (1,), False)
