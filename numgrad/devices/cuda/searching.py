"""Counting elements by value, and finding their places in sorted rows, on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cuda import sorting

from ...core.deterministic import are_deterministic_algorithms_enabled
from ..rows import DeviceRow
from .launching import blocks_for, launch
from .memory import empty_row, zero_row
from .reductions import fold_axis
from .sorting import sort_axis

__all__ = ["bincount", "histogram", "row_searcher", "value_range"]

_INT64 = np.dtype(np.int64)


def row_searcher(
    rows: Any, values: Any, size: int, length: int, count: int, right: bool, compute: np.dtype
) -> Callable[[DeviceRow, DeviceRow], DeviceRow]:
    """What says where ``size`` values, ``count`` to a sorted row of ``length``, belong, after equals if ``right``."""

    def search(rows: DeviceRow, values: DeviceRow) -> DeviceRow:
        out = empty_row(size, _INT64, values.device)
        if size:
            blocks = blocks_for(size)
            launch(sorting.search_rows, compute, rows, length, values, size, count, right, out, blocks=blocks)
        return out

    return search


def value_range(flat: DeviceRow) -> tuple[Any, Any]:
    """The smallest and the largest element, read back as Python numbers; NaN if there is one."""
    low, high = (fold_axis(flat, 1, flat.size, 1, name, flat.dtype) for name in ("min", "max"))
    return low.item(0), high.item(0)


def bincount(flat: DeviceRow, weights: DeviceRow | None, minlength: int) -> DeviceRow | None:
    """How often each number from 0 occurs, or the sum of the weights where it does; None if a number is negative."""
    size = flat.size
    low, high = value_range(flat) if size else (0, -1)
    if low < 0:
        return None
    bins = max(high + 1, int(minlength))
    out = zero_row(bins, _INT64 if weights is None else weights.dtype, flat.device)
    if weights is None:
        _count(flat, bins, (0.0, 0.0), out)
    elif size and are_deterministic_algorithms_enabled():
        numbers, places = sort_axis(flat, 1, size, 1, False)
        launch(sorting.add_weights_in_order, weights.dtype, numbers, places, weights, size, out, blocks=bins)
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
    counts = zero_row(bins, _INT64, flat.device)
    _count(flat, bins, (low, high), counts, bin_of=sorting.bin_between)
    out = empty_row(bins, flat.dtype, flat.device)
    launch(sorting.convert_counts, flat.dtype, counts, bins, out, blocks=blocks_for(bins))
    return out
