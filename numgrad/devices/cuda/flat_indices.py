"""Flat indices on a GPU: made of indices of several dimensions, taken apart into these, found where elements are not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numgrad_kernels.cpu import reductions as terms
from numgrad_kernels.cuda import flat_indices as kernels

from ...core.layout import numel
from ..common import negative_repeats
from ..plan import Buffer, Plan, Report
from ..rows import DeviceRow
from .indexing import check_bounds, check_size, narrow, note_outside
from .launching import INT64, THREADS, blocks_for, launch
from .memory import as_numbers, empty_row
from .reports import LENGTH
from .scans import fold_pieces, scan_axis

__all__ = [
    "counts", "flatnonzero", "fold_indices", "nonzero_rows", "offsets", "repeated_indices", "triangle_rows",
]


def _each(p: Plan, function: Any, count: int, *operands: Any) -> None:
    """Add a kernel over ``count`` indices."""
    p.run(function, INT64, *operands, grid=(blocks_for(count), THREADS), **narrow(count))


def fold_indices(p: Plan, indices: Sequence[Buffer], sizes: tuple[int, ...], dims: tuple[int, ...]) -> Buffer:
    """Flat indices over dimensions of ``sizes`` made of indices for each of them.

    An index that is out of bounds is reported.
    """
    count = indices[0].size
    flat = p.new(count, INT64, zeroed=True)
    for one, size in zip(indices, sizes, strict=True):
        check_bounds(p, one, -size, size)
        p.run(kernels.fold_indices, INT64, one, count, size, flat, grid=(blocks_for(count), THREADS))
    return flat


def _ends(p: Plan, x: Buffer, weight: Callable[..., Any]) -> tuple[Buffer | None, int]:
    """The sums of the weights up to the end of each tile of elements; None if there is no element.  And the tiles."""
    tile = THREADS * kernels.ITEMS
    blocks = -(-x.size // tile)
    if not blocks:
        return None, 0
    totals = p.new(blocks, INT64)
    fold_pieces(p, x, 1, x.size, 1, blocks, tile, 0, terms.fold, totals, weight)
    return scan_axis(p, totals, 1, blocks, 1, "sum", INT64), blocks


def _listed(x: DeviceRow, ends: DeviceRow | None, blocks: int, weight: Callable[..., Any]) -> tuple[DeviceRow]:
    """The index of each element as often as its weight; reads back how many there are."""
    out = empty_row(0 if ends is None else ends.item(blocks - 1), INT64, x.device)
    if out.size:
        launch(kernels.weighted_indices, INT64, x, x.size, ends, out, blocks=blocks, term=weight)
    return (out,)


def flatnonzero(p: Plan, x: Buffer) -> Buffer:
    """The flat indices of the elements that are not zero, in order; a launch waits for the GPU to count them."""
    x = as_numbers(x)
    return p.host(_listed, [p.unsized(INT64)], x, *_ends(p, x, terms.nonzero), terms.nonzero)[0]


def repeated_indices(p: Plan, counts: Buffer) -> Buffer:
    """The index of each count as often as that; a launch waits for the GPU to add them.

    It raises RuntimeError if one is negative, or so large that the sum could wrap around.
    """
    report = p.new(LENGTH, INT64, zeroed=True)
    note_outside(p, counts, 0, (1 << 62) // max(counts.size, 1), report)
    p.call(_check_repeats, report, counts.size)
    return p.host(_listed, [p.unsized(INT64)], counts, *_ends(p, counts, kernels.own_number), kernels.own_number)[0]


def _check_repeats(report: DeviceRow, count: int) -> None:
    if report.item(0):
        raise negative_repeats(count)


def nonzero_rows(p: Plan, x: Buffer, shape: tuple[int, ...]) -> Buffer:
    """For each dimension the indices of the elements that are not zero, one after the other."""
    return p.host(_coordinates, [p.unsized(INT64)], flatnonzero(p, x), shape)[0]


def _coordinates(flat: DeviceRow, shape: tuple[int, ...]) -> tuple[DeviceRow]:
    """The index in each dimension of flat indices of a tensor of ``shape``, one after the other."""
    count, step = flat.size, numel(shape)
    rows = empty_row(len(shape) * count, INT64, flat.device)
    if count:
        for dim, size in enumerate(shape):
            step //= size
            launch(
                kernels.coordinates, INT64, flat, count, step, size, rows[dim * count : (dim + 1) * count],
                blocks=blocks_for(count), **narrow(numel(shape)),
            )
    return (rows,)


def triangle_rows(height: int, width: int, offset: int, upper: bool, type: Any) -> tuple[DeviceRow, int]:
    """The rows, then the columns, of the elements of a matrix above, or below, a diagonal and on it; and how many."""
    before = kernels.upper_before if upper else kernels.lower_before
    kept = before(height, width, offset) if width else 0
    out = empty_row(2 * kept, INT64, type.device.index)
    if kept:
        count = height * width
        launch(
            kernels.triangle_rows, INT64, count, width, offset, upper, kept, out, blocks=blocks_for(count),
            **narrow(count),
        )
    return out, kept


def counts(p: Plan, indices: Buffer, size: int) -> Buffer:
    """How often each index below ``size`` occurs, 1 for one that does not; indices not in [0, size) are reported."""
    out = p.new(size, INT64, zeroed=True)
    _each(p, kernels.count_indices, indices.size, indices, indices.size, size, out, Report())
    _each(p, kernels.at_least, size, out, size, 1)
    return out


def offsets(
    p: Plan, flat: Buffer, shape: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...],
    dims: tuple[int | tuple[int, int], ...],
) -> Buffer:  # fmt: skip
    """Offsets of flat indices, of ``shape``, over dimensions of ``sizes`` that are stepped through by ``steps``.

    ``dims`` are the dimensions of the result: dimensions of the indices, by number, and others (extent, step).
    An index that is out of bounds is reported, and counts as 0.
    """
    total = below = numel(sizes)
    if not total:
        p.call(check_size, flat, total)
    own = p.new(flat.size, INT64, zeroed=True)
    for size, step in zip(sizes, steps, strict=True):
        below //= max(size, 1)
        p.run(
            kernels.add_offsets, INT64, flat, flat.size, total, below, size, step, own, Report(),
            grid=(blocks_for(flat.size), THREADS), **narrow(total),
        )
    if dims == tuple(range(len(shape))):
        return own
    extents = [shape[dim] if isinstance(dim, int) else dim[0] for dim in dims]
    count = below = numel(tuple(extents))
    out, sources = p.new(count, INT64, zeroed=True), p.new(count, INT64, zeroed=True)
    for dim, extent in zip(dims, extents, strict=True):
        below //= max(extent, 1)
        target, stride = (sources, numel(shape[dim + 1 :])) if isinstance(dim, int) else (out, dim[1])
        _each(p, kernels.add_range_offsets, count, count, below, extent, stride, target)
    _each(p, kernels.add_at, count, own, sources, count, out)
    return out
