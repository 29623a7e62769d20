"""Steps on flat indices on a GPU: folded from and unfolded into several dimensions, and those of nonzero elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numgrad_kernels.cpu import reductions as terms
from numgrad_kernels.cuda import flat_indices as kernels

from ...core.layout import numel
from ..buffers import DeviceBuffer
from ..common import negative_repeats
from ..plan import Buffer, Plan, Report
from .indexing import check_bounds, check_size, narrow, note_outside
from .launching import INT64, THREADS, blocks_for, launch
from .memory import as_numbers, empty_buffer
from .reports import LENGTH
from .scans import fold_pieces, scan_axis

__all__ = [
    "counts", "flatnonzero", "fold_indices", "nonzero_indices", "offsets", "repeated_indices", "triangle_indices",
]


def _each(p: Plan, function: Any, count: int, *operands: Any) -> None:
    """Add the run of a kernel over ``count`` indices."""
    p.run(function, INT64, *operands, work=count, **narrow(count))


def fold_indices(p: Plan, indices: Sequence[Buffer], sizes: tuple[int, ...], dims: tuple[int, ...]) -> Buffer:
    """Return the buffer of flat indices over dimensions of ``sizes``, given indices in each dimension.

    An index that is out of bounds is reported.
    """
    count = indices[0].size
    flat = p.new(count, INT64, zeroed=True)
    for buffer, size in zip(indices, sizes, strict=True):
        check_bounds(p, buffer, -size, size)
        p.run(kernels.fold_indices, INT64, buffer, count, size, flat, work=count)
    return flat


def _ends(p: Plan, x: Buffer, weight: Callable[..., Any]) -> tuple[Buffer | None, int]:
    """Return the buffer of the sums of the weights up to the end of each tile of elements, and the number of tiles.

    Return None for the buffer if there are no elements.
    """
    tile = THREADS * kernels.ITEMS
    blocks = -(-x.size // tile)
    if not blocks:
        return None, 0
    totals = p.new(blocks, INT64)
    fold_pieces(p, x, 1, x.size, 1, blocks, tile, 0, terms.fold, totals, weight)
    return scan_axis(p, totals, 1, blocks, 1, "sum", INT64), blocks


def _listed(x: DeviceBuffer, ends: DeviceBuffer | None, blocks: int, weight: Callable[..., Any]) -> tuple[DeviceBuffer]:
    """Return the index of each element as many times as its weight; the total is read from the GPU."""
    out = empty_buffer(0 if ends is None else ends.item(blocks - 1), INT64, x.device)
    if out.size:
        launch(kernels.weighted_indices, INT64, x, x.size, ends, out, blocks=blocks, term=weight)
    return (out,)


def flatnonzero(p: Plan, x: Buffer) -> Buffer:
    """Return the buffer of the flat indices of the nonzero elements, in order; a launch waits for their number."""
    x = as_numbers(x)
    return p.host(_listed, [p.unsized(INT64)], x, *_ends(p, x, terms.nonzero), terms.nonzero)[0]


def repeated_indices(p: Plan, counts: Buffer) -> Buffer:
    """Return the buffer that contains the index of each count as many times as the count; a launch waits for their sum.

    A launch raises RuntimeError if a count is negative, or so large that the sum could wrap around.
    """
    report = p.new(LENGTH, INT64, zeroed=True)
    note_outside(p, counts, 0, (1 << 62) // max(counts.size, 1), report)
    p.call(_check_repeats, report, counts.size)
    return p.host(_listed, [p.unsized(INT64)], counts, *_ends(p, counts, kernels.own_number), kernels.own_number)[0]


def _check_repeats(report: DeviceBuffer, count: int) -> None:
    if report.item(0):
        raise negative_repeats(count)


def nonzero_indices(p: Plan, x: Buffer, shape: tuple[int, ...]) -> Buffer:
    """Return the buffer of the indices of the nonzero elements in the first dimension, then in each other dimension."""
    return p.host(_coordinates, [p.unsized(INT64)], flatnonzero(p, x), shape)[0]


def _coordinates(flat: DeviceBuffer, shape: tuple[int, ...]) -> tuple[DeviceBuffer]:
    """Return the indices in the first dimension, then those in the next ones, for flat indices into ``shape``."""
    count, step = flat.size, numel(shape)
    out = empty_buffer(len(shape) * count, INT64, flat.device)
    if count:
        for dim, size in enumerate(shape):
            step //= size
            launch(
                kernels.coordinates, INT64, flat, count, step, size, out[dim * count : (dim + 1) * count],
                blocks=blocks_for(count), **narrow(numel(shape)),
            )
    return (out,)


def triangle_indices(height: int, width: int, offset: int, upper: bool, type: Any) -> tuple[DeviceBuffer, int]:
    """Return the rows, then the columns, of the elements on and above (or below) a diagonal, and their number."""
    before = kernels.upper_before if upper else kernels.lower_before
    kept = before(height, width, offset) if width else 0
    out = empty_buffer(2 * kept, INT64, type.device.index)
    if kept:
        count = height * width
        launch(
            kernels.triangle_indices, INT64, count, width, offset, upper, kept, out, blocks=blocks_for(count),
            **narrow(count),
        )
    return out, kept


def counts(p: Plan, indices: Buffer, size: int) -> Buffer:
    """Return the buffer of the number of occurrences of each index below ``size``, or 1 if there is none.

    Indices that are not in [0, size) are reported.
    """
    out = p.new(size, INT64, zeroed=True)
    _each(p, kernels.count_indices, indices.size, indices, indices.size, size, out, Report())
    _each(p, kernels.at_least, size, out, size, 1)
    return out


def offsets(
    p: Plan, flat: Buffer, shape: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...],
    dims: tuple[int | tuple[int, int], ...],
) -> Buffer:  # fmt: skip
    """Return the buffer of offsets of flat indices, of ``shape``, over dimensions of ``sizes`` and strides ``steps``.

    Each entry of ``dims`` describes a dimension of the result: the number of a dimension of the indices, or the extent
    and the stride of a new dimension. An index that is out of bounds is reported, and counts as 0.
    """
    total = below = numel(sizes)
    if not total:
        p.call(check_size, flat, total)
    offsets = p.new(flat.size, INT64, zeroed=True)
    for size, step in zip(sizes, steps, strict=True):
        below //= max(size, 1)
        operands = flat, flat.size, total, below, size, step, offsets, Report()
        p.run(kernels.add_offsets, INT64, *operands, work=flat.size, **narrow(total))
    if dims == tuple(range(len(shape))):
        return offsets
    extents = [shape[dim] if isinstance(dim, int) else dim[0] for dim in dims]
    count = below = numel(tuple(extents))
    out, sources = p.new(count, INT64, zeroed=True), p.new(count, INT64, zeroed=True)
    for dim, extent in zip(dims, extents, strict=True):
        below //= max(extent, 1)
        target, stride = (sources, numel(shape[dim + 1 :])) if isinstance(dim, int) else (out, dim[1])
        _each(p, kernels.add_range_offsets, count, count, below, extent, stride, target)
    _each(p, kernels.add_at, count, offsets, sources, count, out)
    return out
