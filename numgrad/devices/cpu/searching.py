"""Counting elements by value, and finding their places in sorted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import sorting

from ..memory import check_countable, empty_row, reports_memory
from .launching import bound, launch
from .threads import PARALLEL_FROM

__all__ = ["bincount", "histogram", "row_searcher", "value_range"]

_INT64 = np.dtype(np.int64)


def row_searcher(
    rows: Any, values: Any, size: int, length: int, count: int, right: bool, compute: np.dtype
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What says where ``size`` values, ``count`` to each sorted row of ``length``, belong, after equals if ``right``.

    The rows and the values are of these types.
    """
    if 0 < size < PARALLEL_FROM:
        given, outs = (length, values.numpy, count, right), [(size, _INT64)]
        return bound(sorting.search_rows, compute, None, rows.numpy, given, outs)

    def search(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        out = empty_row(size, _INT64)
        if size:
            launch(sorting.search_rows, compute, rows, length, values, count, right, out, size=size)
        return out

    return search


def value_range(flat: np.ndarray) -> tuple[Any, Any]:
    """The smallest and the largest element as Python numbers; NaN if there is one."""
    return flat.min().item(), flat.max().item()


@reports_memory
def bincount(flat: np.ndarray, weights: np.ndarray | None, minlength: int) -> np.ndarray | None:
    """How often each number from 0 occurs, or the sum of the weights where it does; None if a number is negative."""
    if (flat < 0).any():
        return None
    check_countable((max(int(flat.max(initial=0)) + 1, minlength),), _INT64)
    counts = np.bincount(flat, weights, minlength)
    return counts if weights is None or weights.dtype != np.float32 else counts.astype(np.float32)


@reports_memory
def histogram(flat: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    """How many elements there are in each of equally wide bins; the last one takes ``high``, too."""
    check_countable((bins,), _INT64)
    kind = flat.dtype.type
    kept = flat[(flat >= low) & (flat <= high)]
    places = ((kept - kind(low)) * kind(bins) / kind(high - low)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(flat.dtype)
