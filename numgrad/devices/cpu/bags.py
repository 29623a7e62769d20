"""Rows of a table summed, or the largest of each column taken, over bags; see the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import bags

from ..memory import LARGE, empty_row, no_row
from .indexing import check_report
from .launching import kernel_for

__all__ = ["bag_largest_launcher", "bag_sums_launcher"]

_INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)

#: Elements that one piece of parallel work goes through, about.
_PIECE = 16384


def _chunk(count: int, bag_count: int, width: int) -> int:
    """How many bags of ``count`` indices in all are one piece of the work."""
    return max(1, _PIECE * bag_count // max(count * width, 1))


def bag_sums_launcher(
    type: Any, rows: int, width: int, count: int, bag_count: int, padding: int, mean: bool
) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """What sums rows of a table of (rows, width), or takes their means: ``launch(table, indices, starts, factors)``.

    It returns the results and what each was divided by for a mean; the factors may be None.  It raises
    OutOfBoundsError for an index that is not in [0, rows).  The starts must be right: from 0 to
    at most ``count``, the number of indices.
    """
    dtype, size = type.numpy, bag_count * width
    signature = dtype, int, int, _INT64, _INT64, dtype, int, bool, int, dtype, dtype, _BOOL
    kernel, chunk = kernel_for(bags.bag_sums, dtype, signature, count * width), _chunk(count, bag_count, width)
    new = empty_row if size * dtype.itemsize >= LARGE else np.empty

    def launch(table: Any, indices: Any, starts: Any, factors: Any) -> tuple[np.ndarray, np.ndarray]:
        out, divisors, report = new(size, dtype), np.empty(bag_count, dtype), np.zeros(1, _BOOL)
        given = no_row(dtype) if factors is None else factors
        kernel().entry(table, rows, width, indices, starts, given, padding, mean, chunk, out, divisors, report)
        check_report(report, indices, 0, rows)
        return out, divisors

    return launch


def bag_largest_launcher(
    type: Any, rows: int, width: int, count: int, bag_count: int, padding: int
) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """What takes the largest of each column: ``launch(table, indices, starts)`` returns them, and their rows' numbers.

    See :func:`bag_sums_launcher` for the arguments.
    """
    dtype, size = type.numpy, bag_count * width
    signature = dtype, int, int, _INT64, _INT64, int, int, dtype, _INT64, _BOOL
    kernel, chunk = kernel_for(bags.bag_largest, dtype, signature, count * width), _chunk(count, bag_count, width)
    new = empty_row if size * dtype.itemsize >= LARGE else np.empty

    def launch(table: Any, indices: Any, starts: Any) -> tuple[np.ndarray, np.ndarray]:
        out, chosen, report = new(size, dtype), new(size, _INT64), np.zeros(1, _BOOL)
        kernel().entry(table, rows, width, indices, starts, padding, chunk, out, chosen, report)
        check_report(report, indices, 0, rows)
        return out, chosen

    return launch
