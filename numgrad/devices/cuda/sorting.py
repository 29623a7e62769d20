"""Sorting and what rests on it, on a GPU: the middle axis of a row of elements seen as (outer, length, inner).

A NaN counts as larger than everything.  Equal elements stay in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cuda import sorting, unique

from ...core.deterministic import are_deterministic_algorithms_enabled
from ..plan import on_memory
from ..rows import DeviceRow
from . import executing
from .launching import INT64, THREADS, blocks_for, launch
from .memory import as_numbers, empty_pair, empty_row, no_row, zero_row
from .reductions import fold_axis
from .scans import scan_axis

__all__ = [
    "bincount", "consecutive_rows", "histogram", "kth_axis", "median_axis", "mode_axis", "row_searcher",
    "sort_axis", "unique_elements", "unique_rows", "value_range",
]


#: Elements that one block sorts.
TILE = 4 * THREADS

#: Blocks among which one line is divided at most where its longest run is looked for.
PARTS = 256


def _sorted_lines(
    flat: DeviceRow, outer: int, length: int, inner: int, descending: bool = False, count: int | None = None
) -> tuple[DeviceRow, DeviceRow, int]:
    """The sorted lines one after the other, at least their first ``count`` elements; where they stood; their length.

    Of the chunks of which a block sorts one, or several short ones, only ``count`` elements are kept, as long as that
    makes lines much shorter.
    """
    lines = outer * inner
    order: dict[str, Any] = {"before": sorting.descending if descending else sorting.before}
    values, origins, own = flat, no_row(INT64), sorting.own_origin
    while True:
        chunk = min(length, TILE)
        chunks = -(-length // chunk)
        keep = chunk if count is None or (count > chunk // 2 and chunks > 1) else min(count, chunk)
        kept = (chunks - 1) * keep + min(keep, length - (chunks - 1) * chunk)
        shift = (chunk - 1).bit_length()
        out, out_origins = empty_pair(lines * kept, flat)
        launch(
            sorting.sort_tiles, flat.dtype, values, origins, lines, length, inner, chunk, shift, keep, kept, out,
            out_origins, blocks=-(-lines * chunks // (TILE >> shift)), TILE=TILE, TWO_TILES=2 * TILE, own_origin=own,
            **order,
        )
        values, origins, length, inner, own = out, out_origins, kept, 1, sorting.given_origin
        if chunks == 1:
            return values, origins, length
        if keep == chunk:
            break
    width = chunk
    while width < length:
        out, out_origins = empty_pair(values.size, flat)
        launch(
            sorting.merge_runs, flat.dtype, values, origins, values.size, length, width, out, out_origins,
            blocks=blocks_for(values.size), **order,
        )
        values, origins, width = out, out_origins, 2 * width
    return values, origins, length


def sort_axis(
    flat: DeviceRow, outer: int, length: int, inner: int, descending: bool, count: int | None = None
) -> tuple[DeviceRow, DeviceRow]:
    """The sorted elements, or the first ``count`` of them, and where they stood."""
    count = length if count is None else int(count)
    size = outer * count * inner
    if not size:
        return empty_pair(0, flat)
    values, origins, kept = _sorted_lines(as_numbers(flat), outer, length, inner, descending, count)
    if inner > 1 or kept > count:
        out, indices = empty_pair(size, values)
        launch(
            sorting.take_first, values.dtype, values, origins, size, kept, count, inner, out, indices,
            blocks=blocks_for(size),
        )
        values, origins = out, indices
    return values.view(flat.dtype), origins


def _picked(
    kernel: Any, flat: DeviceRow, outer: int, length: int, inner: int, number: int, count: int | None = None
) -> tuple[DeviceRow, DeviceRow]:
    """What a kernel, given a number, picks from the sorted lines, of which it needs the first ``count`` elements."""
    lines = outer * inner
    out, indices = empty_pair(lines, flat)
    if lines:
        values, origins, kept = _sorted_lines(as_numbers(flat), outer, length, inner, count=count)
        launch(
            kernel, values.dtype, values, origins, lines, kept, number, as_numbers(out), indices,
            blocks=blocks_for(lines),
        )
    return out, indices


def kth_axis(flat: DeviceRow, outer: int, length: int, inner: int, k: int) -> tuple[DeviceRow, DeviceRow]:
    """The elements that ``k`` others come before, and where they first stand."""
    return _picked(sorting.take_kth, flat, outer, length, inner, int(k), int(k) + 1)


def median_axis(
    flat: DeviceRow, outer: int, length: int, inner: int, past_nan: bool
) -> tuple[DeviceRow, DeviceRow]:
    """The lower of the middle elements, and where they first stand; with ``past_nan`` of those that are not NaN.

    Otherwise a NaN is the median of the line that it stands on.
    """
    if flat.dtype.kind != "f":
        return kth_axis(flat, outer, length, inner, (length - 1) // 2)
    return _picked(sorting.take_median, flat, outer, length, inner, past_nan)


def mode_axis(flat: DeviceRow, outer: int, length: int, inner: int) -> tuple[DeviceRow, DeviceRow]:
    """The smallest of the most frequent elements, and where they last stand."""
    lines = outer * inner
    out, indices = empty_pair(lines, flat)
    if lines:
        values, origins, _ = _sorted_lines(as_numbers(flat), outer, length, inner)
        parts = min(-(-length // TILE), PARTS)
        runs, ends = (empty_row(lines * parts, INT64, flat.device) for _ in range(2))
        launch(sorting.longest_runs, values.dtype, values, length, parts, runs, ends, blocks=lines * parts)
        launch(
            sorting.take_mode, values.dtype, values, origins, lines, length, parts, runs, ends, as_numbers(out),
            indices, blocks=blocks_for(lines),
        )
    return out, indices


# -- different elements -----------------------------------------------------------------------------------------------


def unique_elements(flat: DeviceRow) -> tuple[DeviceRow, DeviceRow, DeviceRow]:
    """The different elements, sorted; for each element which it is; how many there are.  No NaN equals another."""
    values, origins = sort_axis(flat, 1, flat.size, 1, False)
    return _runs(values, 1, flat.size, 1, _numbers(flat.size, flat.device), origins)


def unique_rows(flat: DeviceRow, outer: int, length: int, inner: int) -> tuple[DeviceRow, DeviceRow, DeviceRow]:
    """The same for the slices along the middle axis, sorted by their elements in turn."""
    x, order, width = as_numbers(flat), _numbers(length, flat.device), 1
    while width < length:
        merged = empty_row(length, INT64, flat.device)
        launch(
            unique.merge_slices, x.dtype, x, order, outer, length, inner, width, merged, blocks=blocks_for(length)
        )
        order, width = merged, 2 * width
    return _runs(flat, outer, length, inner, order, order)


def consecutive_rows(
    flat: DeviceRow, outer: int, length: int, inner: int
) -> tuple[DeviceRow, DeviceRow, DeviceRow]:
    """The slices along the middle axis that differ from the one before; for each slice which; how many in a row."""
    order = _numbers(length, flat.device)
    return _runs(flat, outer, length, inner, order, order)


def _numbers(count: int, device: int) -> DeviceRow:
    """The numbers from 0."""
    out = empty_row(count, INT64, device)
    launch(unique.count_up, INT64, out, count, blocks=blocks_for(count))
    return out


def _runs(
    flat: DeviceRow, outer: int, length: int, inner: int, order: DeviceRow, origin: DeviceRow
) -> tuple[DeviceRow, DeviceRow, DeviceRow]:
    """The slices that differ from the one before in the order; for each slice, by its origin, which; their runs.

    Reads back how many there are.
    """
    x, blocks, device = as_numbers(flat), blocks_for(length), flat.device
    changes, inverse, first, begins = (empty_row(length, INT64, device) for _ in range(4))
    launch(unique.mark_changes, x.dtype, x, order, outer, length, inner, changes, blocks=blocks)
    numbers = on_memory(executing, device, scan_axis, ((length, INT64),), 1, length, 1, "sum", INT64)(changes)
    launch(unique.list_runs, INT64, numbers, order, origin, length, first, begins, inverse, blocks=blocks)
    runs = numbers.item(length - 1) + 1 if length else 0
    counts = empty_row(runs, INT64, device)
    launch(unique.count_runs, INT64, begins, runs, length, counts, blocks=blocks_for(runs))
    size = outer * runs * inner
    out = empty_row(size, x.dtype, device)
    launch(unique.take_slices, x.dtype, x, first, size, length, runs, inner, out, blocks=blocks_for(size))
    return out.view(flat.dtype), inverse, counts


def row_searcher(
    rows: Any, values: Any, size: int, length: int, count: int, right: bool, compute: np.dtype
) -> Callable[[DeviceRow, DeviceRow], DeviceRow]:
    """What says where ``size`` values, ``count`` to a sorted row of ``length``, belong, after equals if ``right``."""

    def search(rows: DeviceRow, values: DeviceRow) -> DeviceRow:
        out = empty_row(size, INT64, values.device)
        blocks = blocks_for(size)
        launch(sorting.search_rows, compute, rows, length, values, size, count, right, out, blocks=blocks)
        return out

    return search


def value_range(flat: DeviceRow) -> tuple[Any, Any]:
    """The smallest and the largest element, read back as Python numbers; NaN if there is one."""
    row = flat.size, flat.dtype
    low, high = (
        on_memory(executing, flat.device, fold_axis, (row,), 1, flat.size, 1, name, flat.dtype)(flat)
        for name in ("min", "max")
    )
    return low.item(0), high.item(0)


def bincount(flat: DeviceRow, weights: DeviceRow | None, minlength: int) -> DeviceRow | None:
    """How often each number from 0 occurs, or the sum of the weights where it does; None if a number is negative."""
    size = flat.size
    low, high = value_range(flat) if size else (0, -1)
    if low < 0:
        return None
    bins = max(high + 1, int(minlength))
    out = zero_row(bins, INT64 if weights is None else weights.dtype, flat.device)
    if weights is None:
        _count(flat, bins, (0.0, 0.0), out)
    elif size and are_deterministic_algorithms_enabled():
        numbers, origins = sort_axis(flat, 1, size, 1, False)
        launch(sorting.add_weights_in_order, weights.dtype, numbers, origins, weights, size, out, blocks=bins)
    else:
        launch(sorting.add_weights, weights.dtype, flat, weights, size, out, blocks=blocks_for(size))
    return out


def _count(flat: DeviceRow, bins: int, ends: tuple[float, float], counts: DeviceRow, **parts: Any) -> None:
    """Count elements in bins."""
    low, high = ends
    launch(
        sorting.count_few if bins <= sorting.FEW else sorting.count_many, flat.dtype, flat, flat.size, bins,
        low, high, high - low, counts, blocks=blocks_for(flat.size), **parts,
    )


def histogram(flat: DeviceRow, bins: int, low: float, high: float) -> DeviceRow:
    """How many elements there are in each of equally wide bins; the last one takes ``high``, too."""
    bins = int(bins)
    counts = zero_row(bins, INT64, flat.device)
    _count(flat, bins, (low, high), counts, bin_of=sorting.bin_between)
    out = empty_row(bins, flat.dtype, flat.device)
    launch(sorting.convert_counts, flat.dtype, counts, bins, out, blocks=blocks_for(bins))
    return out
