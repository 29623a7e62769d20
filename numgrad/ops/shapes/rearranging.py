"""Elements moved or repeated: rotations, repetitions, copies side by side."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ... import devices
from ...core.device import CPU
from ...core.layout import Layout, layout_of, normal_dim
from ...core.types import int32, int64
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import physical, same_for_all, size_of
from ..batching.physical import aligned
from ..indexing.launchers import flat_result
from ..memory.copying import RUNS_FROM, contiguous_op, convert
from ..memory.images import in_format
from ..reductions.sums import sum_dims
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import check_tensors, composite, public_functions
from .broadcasting import expand_op
from .dimensions import transpose_op, unsqueeze_op
from .parts import cut, flip_op
from .views import flatten, reshape, sizes_of


@operation("RollBackward0", direct=True, linear=True)
def roll_op(p: Plan, input: TensorRef, shifts: tuple[int, ...], dims: tuple[int, ...]) -> TensorRef:
    if not dims:
        row = p.tensor(p.contiguous(input), input.type, (input.size,))
        return roll_op.build(p, row, shifts, (0,)).viewed(layout_of(input.type, input.shape))
    out = p.new_tensor(layout_of(input.type, input.shape))
    totals = _total_shifts(input.shape, shifts, dims)
    if len(totals) == 1 and input.layout.contiguous and input.size < RUNS_FROM and input.type.device is CPU:
        devices.cpu.roll_rows(p, input, *totals.popitem(), out)
        return out
    # Along each dimension two segments are exchanged: (source, destination, length).
    segments = []
    for dim, total in totals.items():
        split = input.shape[dim] - total
        segments.append([(dim, 0, total, split), (dim, split, 0, total)])
    for choice in itertools.product(*segments):
        source = cut(input, [(dim, start, start + length) for dim, start, _, length in choice])
        p.assign(source, cut(out, [(dim, goal, goal + length) for dim, _, goal, length in choice]))
    return in_format(p, [input.layout], out)


def _total_shifts(shape: tuple[int, ...], shifts: tuple[int, ...], dims: tuple[int, ...]) -> dict[int, int]:
    """Return the shift of each dimension, as a number below its size."""
    totals: dict[int, int] = {}
    for dim, shift in zip(dims, shifts, strict=True):
        totals[dim] = (totals.get(dim, 0) + shift) % max(shape[dim], 1)
    return totals


@roll_op.batched
def _(input, shifts, dims):
    if dims:
        return roll_op(physical(input), shifts, tuple([d + 1 for d in dims]))
    rows = reshape(physical(input), (size_of(input), input._layout.size))
    return reshape(roll_op(rows, shifts, (1,)), (size_of(input), *input._layout.shape))


@roll_op.gradient("input")
def _(grad, shifts, dims):
    """``roll(grad, -shifts, dims)``."""
    return roll_op(grad, tuple([-shift for shift in shifts]), dims)


@lookup
def roll(input: Layout, shifts: Any, dims: Any = ()) -> Any:
    """Return the tensor with its elements shifted along ``dims``; elements beyond the end return to the front.

    Without ``dims``, the flattened tensor is rolled.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if the numbers of shifts and dimensions differ.

    Example:
        >>> import numgrad
        >>> numgrad.roll(numgrad.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
    """
    steps = sizes_of((), shifts if isinstance(shifts, tuple | list) else (shifts,), "roll(): argument 'shifts'")
    named = sizes_of((), dims if isinstance(dims, tuple | list) else (dims,), "roll(): argument 'dims'")
    check(steps, "`shifts` required")
    if len(steps) != len(named) and (named or len(steps) > 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(named)}")
    rank = len(input.shape)
    normal = tuple([normal_dim(d, rank) for d in named])
    return roll_op, (steps, normal if rank else ())


@operation("Rot90Backward0", direct=True, linear=True, dims=["dims"])
def rot90_op(p: Plan, input: TensorRef, k: int, dims: tuple[int, int]) -> TensorRef:
    if k == 0:
        return contiguous_op.build(p, input)
    if k == 2:
        return flip_op.build(p, input, dims)
    flipped = flip_op.build(p, input, (dims[1] if k == 1 else dims[0],))
    return flipped.viewed(transpose_op.prepare(flipped.layout, *dims)[0])


@rot90_op.gradient("input")
def _(grad, k, dims):
    return rot90_op(grad, -k % 4, dims)


@lookup
def rot90(input: Layout, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Return a copy rotated by 90 degrees, ``k`` times, from the first of two dimensions towards the second.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if there are not two of them, or they are the same.

    Example:
        >>> import numgrad
        >>> numgrad.rot90(numgrad.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    named, rank = sizes_of((), dims, "rot90(): argument 'dims'"), len(input.shape)
    check(len(named) == 2, "expected total rotation dims == 2, but got dims = {}", len(named))
    check(rank >= 2, "expected total dims >= 2, but got total dims = {}", rank)
    first, second = named
    if first == second or abs(first - second) == rank:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {first} and dim1 = {second}")
    return rot90_op, (k % 4, (normal_dim(first, rank), normal_dim(second, rank)))


# -- repetition ---------------------------------------------------------------------------------------------------


def _interleaved(shape: tuple[int, ...], repeats: tuple[int, ...]) -> tuple[int, ...]:
    """Return the number of repeats and the size of each dimension in turn."""
    padded = (1,) * (len(repeats) - len(shape)) + shape
    return tuple(itertools.chain.from_iterable(zip(repeats, padded, strict=True)))


@operation("RepeatBackward0", direct=True, linear=True)
def repeat_op(p: Plan, input: TensorRef, repeats: tuple[int, ...]) -> TensorRef:
    pairs = _interleaved(input.shape, repeats)
    shape = tuple([often * extent for often, extent in zip(pairs[::2], pairs[1::2], strict=True)])
    strides = (0,) * (len(repeats) - len(input.shape)) + input.layout.strides
    steps = [step for pair in zip((0,) * len(strides), strides, strict=True) for step in pair]
    copies = layout_of(input.type, pairs, tuple(steps))
    out = p.new_tensor(layout_of(input.type, shape))
    p.assign(input.viewed(copies), out.viewed(layout_of(input.type, pairs)))
    return out


@repeat_op.batched
def _(input, repeats):
    return repeat_op(aligned(input, len(repeats)), (1, *repeats))


@repeat_op.gradient("input")
def _(grad, input_shape, repeats):
    """``sum(copies(grad), 0)``."""
    pairs = _interleaved(input_shape, repeats)
    if not pairs:
        return grad
    summed = sum_dims(reshape(grad, pairs), tuple(range(0, len(pairs), 2)), False)
    return reshape(summed, input_shape)


def _how_repeated(input: Layout, counts: tuple[int, ...]) -> Any:
    check(
        len(counts) >= len(input.shape),
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor (repeats {}, "
        "shape {})", counts, input,
    )
    shape = [n * e for n, e in zip(counts, _interleaved(input.shape, counts)[1::2], strict=True)]
    if any(extent < 0 for extent in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {shape}")
    return repeat_op, (counts,)


@lookup(function=False)
def repeat(input: Layout, *counts: Any, repeats: Any = None) -> Any:
    """Return copies of the tensor side by side, a number of them along each dimension.

    Additional numbers in front add dimensions.

    Raises:
        RuntimeError: if there are fewer numbers than dimensions, or a negative one.
    """
    return _how_repeated(input, sizes_of(counts, repeats, "repeat(): argument 'repeats'"))


@lookup
def tile(input: Layout, *counts: Any, dims: Any = None) -> Any:
    """Return copies as ``repeat`` does; as in NumPy, leading numbers may be omitted.

    Example:
        >>> import numgrad
        >>> numgrad.tile(numgrad.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """
    repeats = sizes_of(counts, dims, "tile(): argument 'dims'")
    return _how_repeated(input, (1,) * (len(input.shape) - len(repeats)) + repeats)


@composite
def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: Any = None) -> Tensor:
    """Return the tensor with each index of a dimension repeated, all equally often or by a tensor of counts.

    Without ``dim``, the elements of the flattened tensor are repeated.  For a single tensor of counts, the result
    contains the index of each repetition.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if the numbers of counts and indices differ, a count is negative, or ``output_size`` is wrong.

    Example:
        >>> import numgrad
        >>> numgrad.repeat_interleave(numgrad.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
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
        check(repeats >= 0, "Repeats must be non-negative (got {})", repeats)
        check(
            output_size in (None, extent * repeats),
            "repeat_interleave: Invalid output_size, expected {} but got {}", extent * repeats, output_size,
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
    """Return the counts if they are a vector of integers.

    Raises:
        TypeError: if they are not a tensor.
        RuntimeError, NotImplementedError: if they have more dimensions, or another dtype.
    """
    check_tensors("repeat_interleave", repeats=repeats)
    check(len(repeats._layout.shape) <= 1, "repeats must be 0-dim or 1-dim tensor", repeats)
    if repeats.dtype not in (int32, int64):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.legacy}'")
    return repeats


def _repeated_indices(repeats: Tensor, output_size: int | None) -> Tensor:
    """Return each index, repeated by its count."""
    indices = repeated_op(same_for_all(_checked_repeats(repeats), "repeat_interleave"))
    if output_size not in (None, indices._layout.size):
        raise RuntimeError(f"allocated size does not match required size ({output_size} and {indices._layout.size})")
    return convert(indices, repeats.dtype)


@operation(
    "RepeatInterleaveBackward0", aten="repeat_interleave", inputs=["repeats"], nondifferentiable=["repeats"]
)
def repeated_op(p: Plan, repeats: TensorRef) -> Plan:
    indices = p.backend.repeated_indices(p, p.contiguous(repeats))
    return p.returns_from(flat_result, repeats.type.with_dtype(int64), indices)
