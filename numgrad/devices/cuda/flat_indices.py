"""Flat indices on a GPU: made of indices of several dimensions, taken apart into these, found where elements are not 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numgrad_kernels.cpu import reductions as terms
from numgrad_kernels.cuda import flat_indices as kernels

from ...core.layout import numel
from ..plan import Buffer, Plan, on_memory
from ..rows import DeviceRow
from . import executing
from .indexing import check_inside, check_size, find_outside, narrow
from .launching import INT64, THREADS, blocks_for, launch
from .memory import as_numbers, empty_row, zero_row
from .reports import LENGTH, report_row
from .scans import fold_pieces, scan_axis

__all__ = [
    "coordinates", "counts", "flatnonzero", "index_folder", "nonzero_rows", "offsets", "repeated_indices",
    "triangle_rows",
]


def _each(function: Any, count: int, *arguments: Any) -> None:
    """Run a kernel over ``count`` indices."""
    launch(function, INT64, *arguments, blocks=blocks_for(count), **narrow(count))


def index_folder(count: int, sizes: tuple[int, ...], dims: tuple[int, ...], type: Any) -> Callable[..., DeviceRow]:
    """What makes flat indices over dimensions of ``sizes`` of rows of ``count`` indices, one for each dimension.

    An index that is out of bounds is reported.
    """

    def fold(*rows: DeviceRow) -> DeviceRow:
        flat = zero_row(count, INT64, rows[0].device)
        for row, size in zip(rows, sizes, strict=True):
            check_inside(row, -size, size)
            launch(kernels.fold_indices, INT64, row, count, size, flat, blocks=blocks_for(count))
        return flat

    return fold


def coordinates(flat: DeviceRow, shape: tuple[int, ...]) -> list[DeviceRow]:
    """The index in each dimension of flat indices of a tensor of ``shape``, one row for each."""
    count, rest = flat.size, numel(shape)
    rows = _taken_apart(flat, shape)
    return [rows[dim * count : (dim + 1) * count] for dim in range(len(shape))] if rest else [flat] * len(shape)


def _taken_apart(flat: DeviceRow, shape: tuple[int, ...]) -> DeviceRow:
    """The same as one row."""
    count, step = flat.size, numel(shape)
    rows = empty_row(len(shape) * count, INT64, flat.device)
    if count:
        for dim, size in enumerate(shape):
            step //= size
            launch(
                kernels.coordinates, INT64, flat, count, step, size, rows[dim * count : (dim + 1) * count],
                blocks=blocks_for(count), **narrow(numel(shape)),
            )
    return rows


def _weighted_indices(x: DeviceRow, weight: Callable[..., Any]) -> DeviceRow:
    """The index of each element as often as its weight."""
    tile = THREADS * kernels.ITEMS
    blocks = -(-x.size // tile)
    if not blocks:
        return empty_row(0, INT64, x.device)
    ends = on_memory(executing, x.device, _ends, ((x.size, x.dtype),), blocks, tile, weight)(x)
    out = empty_row(ends.item(blocks - 1), INT64, x.device)
    launch(kernels.weighted_indices, INT64, x, x.size, ends, out, blocks=blocks if out.size else 0, term=weight)
    return out


def _ends(p: Plan, x: Buffer, blocks: int, tile: int, weight: Callable[..., Any]) -> Buffer:
    """The sums of the weights up to the end of each tile."""
    totals = p.new(blocks, INT64)
    fold_pieces(p, x, 1, x.size, 1, blocks, tile, 0, terms.fold, totals, weight)
    return scan_axis(p, totals, 1, blocks, 1, "sum", INT64)


def flatnonzero(array: DeviceRow) -> DeviceRow:
    """The flat indices of the elements that are not zero, in order; waits for the GPU to count them."""
    return _weighted_indices(as_numbers(array), terms.nonzero)


def repeated_indices(counts: DeviceRow) -> DeviceRow | None:
    """The index of each count as often as that, or None if one is negative, or so large that the sum could wrap around.

    It waits for the GPU to add them.
    """
    report = zero_row(LENGTH, INT64, counts.device)
    find_outside(counts, 0, (1 << 62) // max(counts.size, 1), report)
    return None if report.item(0) else _weighted_indices(counts, kernels.own_number)


def nonzero_rows(row: DeviceRow, shape: tuple[int, ...]) -> tuple[DeviceRow, int]:
    """For each dimension the indices of the elements that are not zero, one after the other, and how many there are."""
    flat = flatnonzero(row)
    return _taken_apart(flat, shape), flat.size


def triangle_rows(height: int, width: int, offset: int, upper: bool, type: Any) -> tuple[DeviceRow, int]:
    """The rows, then the columns, of the elements of a matrix above, or below, a diagonal and on it; and how many."""
    before = kernels.upper_before if upper else kernels.lower_before
    kept = before(height, width, offset) if width else 0
    out = empty_row(2 * kept, INT64, type.device.index)
    if kept:
        count = height * width
        _each(kernels.triangle_rows, count, count, width, offset, upper, kept, out)
    return out, kept


def counts(indices: DeviceRow, size: int) -> DeviceRow:
    """How often each index below ``size`` occurs, 1 for one that does not; indices not in [0, size) are reported."""
    out = zero_row(size, INT64, indices.device)
    _each(kernels.count_indices, indices.size, indices, indices.size, size, out, report_row(indices.device))
    _each(kernels.at_least, size, out, size, 1)
    return out


def offsets(
    flat: DeviceRow, shape: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...],
    dims: tuple[int | tuple[int, int], ...],
) -> DeviceRow:  # fmt: skip
    """Offsets of flat indices, of ``shape``, over dimensions of ``sizes`` that are stepped through by ``steps``.

    ``dims`` are the dimensions of the result, a row: dimensions of the indices, by number, and others (extent, step).
    An index that is out of bounds is reported, and counts as 0.
    """
    total = numel(sizes)
    check_size(flat, total)
    own = zero_row(flat.size, INT64, flat.device)
    below, report = total, report_row(flat.device)
    for size, step in zip(sizes, steps, strict=True):
        below //= max(size, 1)
        launch(
            kernels.add_offsets, INT64, flat, flat.size, total, below, size, step, own, report,
            blocks=blocks_for(flat.size), **narrow(total),
        )
    if dims == tuple(range(len(shape))):
        return own
    extents = [shape[dim] if isinstance(dim, int) else dim[0] for dim in dims]
    count = numel(tuple(extents))
    out, sources = zero_row(count, INT64, flat.device), zero_row(count, INT64, flat.device)
    below = count
    for dim, extent in zip(dims, extents, strict=True):
        below //= max(extent, 1)
        target, stride = (sources, numel(shape[dim + 1 :])) if isinstance(dim, int) else (out, dim[1])
        _each(kernels.add_range_offsets, count, count, below, extent, stride, target)
    _each(kernels.add_at, count, own, sources, count, out)
    return out
