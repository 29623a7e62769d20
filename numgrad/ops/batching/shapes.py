"""Views and other shapes under ``vmap``; see ``calls``."""

from __future__ import annotations

from ..batches import expanded
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
from .calls import aligned, decomposed, physical, rule, size_of

__all__: list[str] = []


@rule(reshape_alias)
def _(input, shape, strides):
    return view_as_shape(physical(input), (size_of(input), *shape))


@rule(unsafe_view)
def _(input, shape):
    return reshape(physical(input), (size_of(input), *shape))


@rule(permute_op)
def _(input, dims):
    return permute_op(physical(input), (0, *[d + 1 for d in dims]))


@rule(transpose_op)
def _(input, dim0, dim1):
    return transpose_op(physical(input), dim0 + 1, dim1 + 1) if input._layout.shape else alias(physical(input))


@rule(t_op)
def _(input):
    return transpose_op(physical(input), 1, 2) if len(input._layout.shape) == 2 else alias(physical(input))


@rule(squeeze_all)
def _(input):
    return squeeze_dims(physical(input), tuple(range(1, len(input._layout.shape) + 1)))


@rule(squeeze_dim)
def _(input, dim):
    return squeeze_dim(physical(input), dim + 1) if input._layout.shape else alias(physical(input))


@rule(squeeze_result)
def _(input, dim):
    return reshape(physical(input), (size_of(input), *input._layout.shape[:dim], *input._layout.shape[dim + 1 :]))


@rule(expand_op)
def _(input, shape):
    return expand_op(aligned(input, len(shape)), (size_of(input), *shape))


@rule(repeat_op)
def _(input, repeats):
    return repeat_op(aligned(input, len(repeats)), (1, *repeats))


@rule(roll_op)
def _(input, shifts, dims):
    if dims:
        return roll_op(physical(input), shifts, tuple([d + 1 for d in dims]))
    rows = reshape(physical(input), (size_of(input), input._layout.size))
    return reshape(roll_op(rows, shifts, (1,)), (size_of(input), *input._layout.shape))


@rule(as_strided_op)
def _(input, size, stride, start, geometry):
    whole = physical(input)
    step = whole._layout.strides[0]
    return as_strided(whole, (size_of(input), *size), (step, *stride), whole._offset + start)


@rule(cat_op)
def _(tensors, dim, extents):
    if None in extents:
        kept = [pair for pair in zip(tensors, extents, strict=True) if pair[1] is not None]
        tensors, extents = [tuple(part) for part in zip(*kept, strict=True)]
    return cat_op(tuple(map(expanded, tensors)), dim + 1, extents)


@rule(stack_op)
def _(tensors, dim):
    return stack_op(tuple(map(expanded, tensors)), dim + 1)


@decomposed(trace_op)
def _(input):
    return sum_all(diagonal_op(input, 0, 0, 1))


@rule(unfold_op)
def _(input, dimension, size, step):
    if input._layout.shape:
        return unfold_op(physical(input), dimension + 1, size, step)
    return slice_op(unsqueeze_op(physical(input), 1), 1, 0, size, 1)


@rule(unfold_backward)
def _(grad_output, shape, dimension, size, step):
    if shape:
        return unfold_backward(physical(grad_output), (size_of(grad_output), *shape), dimension + 1, size, step)
    return sum_dims(physical(grad_output), (1,), False)
