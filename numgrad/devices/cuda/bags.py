"""Rows of a table summed, or the largest of each column taken, over bags: the CPU's launchers, on rows of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cuda import bags

from ..rows import DeviceRow
from .launching import blocks_for, launch
from .memory import empty_row, optional
from .reports import report_row

__all__ = ["bag_largest_launcher", "bag_sums_launcher"]

_INT64 = np.dtype(np.int64)


def bag_sums_launcher(
    type: Any, rows: int, width: int, count: int, bag_count: int, padding: int, mean: bool
) -> Callable[..., tuple[DeviceRow, DeviceRow]]:
    """What sums rows of a table, or takes their means; a wrong index is reported.  See the CPU's."""
    dtype, size = type.numpy, bag_count * width

    def run(table: Any, indices: Any, starts: Any, factors: Any) -> tuple[DeviceRow, DeviceRow]:
        out, divisors = empty_row(size, dtype, table.device), empty_row(bag_count, dtype, table.device)
        launch(
            bags.bag_sums, dtype, table, rows, width, indices, starts, *optional(factors, dtype), padding, int(mean),
            size, out, divisors, report_row(table.device), blocks=blocks_for(size),
        )
        return out, divisors

    return run


def bag_largest_launcher(
    type: Any, rows: int, width: int, count: int, bag_count: int, padding: int
) -> Callable[..., tuple[DeviceRow, DeviceRow]]:
    """What takes the largest of each column, and tells their rows' numbers; a wrong index is reported.  See the CPU's.
    """
    dtype, size = type.numpy, bag_count * width

    def run(table: Any, indices: Any, starts: Any) -> tuple[DeviceRow, DeviceRow]:
        out, chosen = empty_row(size, dtype, table.device), empty_row(size, _INT64, table.device)
        launch(
            bags.bag_largest, dtype, table, rows, width, indices, starts, padding, size, out, chosen,
            report_row(table.device), blocks=blocks_for(size),
        )
        return out, chosen

    return run
