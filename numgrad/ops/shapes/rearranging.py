"""Elements moved around or repeated: rotations, repetitions, copies side by side."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ... import devices
from ..._layout import normal_dim, numel
from ..._tensor import Tensor, fresh
from ..._types import int32, int64, tensor_type
from ..batches import same_for_all
from ..copying import contiguous, contiguous_op, convert, row_of, write
from ..new import empty_of
from ..reductions.sums import sum_dims
from ..table import attach, check_tensors, operation, public, public_functions
from .dimensions import flatten
from .parts import flip_op, slice_op
from .views import expand_op, reshape, sizes_of, transpose_op, unsqueeze_op, view_as_shape, view_of

__all__ = ["repeat", "repeat_interleave", "roll", "rot90", "tile"]


@operation("RollBackward0", linear=True)
def roll_op(input: Tensor, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    layout = input._layout
    if not dims:
        row = view_as_shape(contiguous(input), (layout.size,))
        return fresh(roll_op.function(row, shifts, (0,))._flat, layout.shape, layout.type)
    out = empty_of(layout.shape, layout.type)
    # Along each dimension two stretches change places: (where it starts, where it goes, how long it is).
    stretches = []
    for dim, total in _total_shifts(layout.shape, shifts, dims).items():
        rest = layout.shape[dim] - total
        stretches.append([(dim, 0, total, rest), (dim, rest, 0, total)])
    for choice in itertools.product(*stretches):
        source, target = input, out
        for dim, start, goal, length in choice:
            source = slice_op.function(source, dim, start, start + length, 1)
            target = slice_op.function(target, dim, goal, goal + length, 1)
        if target._layout.size:
            write(target, source)
    return out


def _total_shifts(shape: tuple[int, ...], shifts: tuple[int, ...], dims: tuple[int, ...]) -> dict[int, int]:
    """By how much each dimension is rolled, as a number below its size."""
    totals: dict[int, int] = {}
    for dim, shift in zip(dims, shifts, strict=True):
        totals[dim] = (totals.get(dim, 0) + shift) % max(shape[dim], 1)
    return totals


@roll_op.gradient("input")
def _(grad, shifts, dims):
    """``roll(grad, -shifts, dims)``."""
    return roll_op(grad, tuple([-shift for shift in shifts]), dims)


def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """The elements moved on by ``shifts`` places along ``dims``, those at the end to the front.

    Without ``dims`` the tensor is rolled as one row.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: there are not as many shifts as dimensions.
    """
    steps = sizes_of((), shifts if isinstance(shifts, tuple | list) else (shifts,), "roll(): argument 'shifts'")
    named = sizes_of((), dims if isinstance(dims, tuple | list) else (dims,), "roll(): argument 'dims'")
    if not steps:
        raise RuntimeError("`shifts` required")
    if len(steps) != len(named) and (named or len(steps) > 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(named)}")
    rank = len(input._layout.shape)
    places = tuple([normal_dim(d, rank) for d in named])
    return roll_op(input, steps, places if rank else ())


@operation("Rot90Backward0", linear=True, dims=["dims"])
def rot90_op(input: Tensor, k: int, dims: tuple[int, int]) -> Tensor:
    if k == 0:
        return contiguous_op.function(input)
    if k == 2:
        return flip_op.function(input, dims)
    return transpose_op.function(flip_op.function(input, (dims[1] if k == 1 else dims[0],)), *dims)


@rot90_op.gradient("input")
def _(grad, k, dims):
    return rot90_op(grad, -k % 4, dims)


def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """A copy turned by 90 degrees, ``k`` times, from the first of two dimensions towards the second.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: there are not two of them, or they are the same.
    """
    named, rank = sizes_of((), dims, "rot90(): argument 'dims'"), len(input._layout.shape)
    if len(named) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(named)}")
    if rank < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {rank}")
    first, second = named
    if first == second or abs(first - second) == rank:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {first} and dim1 = {second}")
    return rot90_op(input, k % 4, (normal_dim(first, rank), normal_dim(second, rank)))


# -- repetition ---------------------------------------------------------------------------------------------------


def _interleaved(shape: tuple[int, ...], repeats: tuple[int, ...]) -> tuple[int, ...]:
    """How often, and how many, for each dimension in turn."""
    padded = (1,) * (len(repeats) - len(shape)) + shape
    return tuple(itertools.chain.from_iterable(zip(repeats, padded, strict=True)))


@operation("RepeatBackward0", linear=True)
def repeat_op(input: Tensor, repeats: tuple[int, ...]) -> Tensor:
    layout = input._layout
    pairs = _interleaved(layout.shape, repeats)
    shape = tuple([often * extent for often, extent in zip(pairs[::2], pairs[1::2], strict=True)])
    out = empty_of(shape, layout.type)
    if numel(shape):
        own = (0,) * (len(repeats) - len(layout.shape)) + layout.strides
        steps = [step for pair in zip((0,) * len(own), own, strict=True) for step in pair]
        write(view_as_shape.function(out, pairs), view_of(input, pairs, steps))
    return out


@repeat_op.gradient("input")
def _(grad, input_shape, repeats):
    """``sum(copies(grad), 0)``."""
    pairs = _interleaved(input_shape, repeats)
    if not pairs:
        return grad
    summed = sum_dims(reshape(grad, pairs), tuple(range(0, len(pairs), 2)), False)
    return reshape(summed, input_shape)


def repeat(input: Tensor, *counts: Any, repeats: Any = None) -> Tensor:
    """Copies of the tensor side by side, so many along each dimension; further dimensions are added in front.

    Raises:
        RuntimeError: there are fewer numbers than dimensions, or a negative one.
    """
    given = sizes_of(counts, repeats, "repeat(): argument 'repeats'")
    if len(given) < len(input._layout.shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor "
            f"(repeats {list(given)}, shape {list(input.shape)})"
        )
    shape = [n * e for n, e in zip(given, _interleaved(input._layout.shape, given)[1::2], strict=True)]
    if any(extent < 0 for extent in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {shape}")
    return repeat_op(input, given)


def tile(input: Tensor, *counts: Any, dims: Any = None) -> Tensor:
    """``repeat``, in which numbers may be left out in front, as in NumPy."""
    given = sizes_of(counts, dims, "tile(): argument 'dims'")
    return repeat(input, (1,) * (len(input._layout.shape) - len(given)) + given)


def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: Any = None) -> Tensor:
    """Each index of a dimension repeated: all as often, or each as often as a tensor says.

    Without ``dim`` the elements are repeated, as one row.  Given a single tensor of counts, the result says which
    index each of the repetitions belongs to.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: there are not as many counts as indices, one is negative, or ``output_size`` is wrong.
    """
    if repeats is None:
        return _repeated_indices(input, output_size)
    if dim is None:
        input, dim = flatten(input), 0
    elif not input._layout.shape:
        input = flatten(input)
    sizes = input._layout.shape
    dim = normal_dim(dim, len(sizes))
    extent = sizes[dim]
    if isinstance(repeats, int | np.integer):
        if repeats < 0:
            raise RuntimeError(f"Repeats must be non-negative (got {repeats})")
        if output_size not in (None, extent * repeats):
            raise RuntimeError(
                f"repeat_interleave: Invalid output_size, expected {extent * repeats} but got {output_size}"
            )
        shape = (*sizes[: dim + 1], int(repeats), *sizes[dim + 1 :])
        return flatten(contiguous_op(expand_op(unsqueeze_op(input, dim + 1), shape)), dim, dim + 1)
    counts = _checked_repeats(repeats)
    if counts._layout.shape in ((), (1,)):
        counts = expand_op(counts, (extent,))
    elif counts._layout.shape != (extent,):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts._layout.shape[0]} and input.size({dim}) = {extent}"
        )
    return public_functions["index_select"](input, dim, _repeated_indices(counts, output_size))


def _checked_repeats(repeats: Any) -> Tensor:
    """The counts, if they are a row of integers.

    Raises:
        TypeError: they are no tensor.
        RuntimeError, NotImplementedError: they have more dimensions, or another dtype.
    """
    check_tensors("repeat_interleave", repeats=repeats)
    if len(repeats._layout.shape) > 1:
        raise RuntimeError(f"repeats must be 0-dim or 1-dim tensor (shape {list(repeats.shape)})")
    if repeats.dtype not in (int32, int64):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.legacy}'")
    return repeats


def _repeated_indices(repeats: Tensor, output_size: int | None) -> Tensor:
    """Each index as often as the counts say."""
    row = devices.repeated_places(row_of(same_for_all(_checked_repeats(repeats), "repeat_interleave").detach()))
    if row is None:
        raise RuntimeError(f"repeats can not be negative (shape {list(repeats.shape)})")
    if output_size not in (None, row.size):
        raise RuntimeError(f"allocated size does not match required size ({output_size} and {row.size})")
    return convert(fresh(row, (row.size,), tensor_type(int64, repeats._layout.type.device)), repeats.dtype)


for _function in (roll, rot90, tile, repeat_interleave):
    public(_function)
attach("repeat", repeat)
