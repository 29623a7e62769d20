"""Rows of a table summed, or the largest of each column taken, over bags; see the kernels."""

from __future__ import annotations

import numpy as np

from numgrad_kernels.cpu import bags

from ..memory import no_row
from ..plan import Bounds, Buffer, Plan, Report

__all__ = ["bag_largest", "bag_sums"]

_INT64 = np.dtype(np.int64)

#: Elements that one piece of parallel work goes through, about.
_PIECE = 16384


def _chunk(count: int, bag_count: int, width: int) -> int:
    """How many bags of ``count`` indices in all are one piece of the work."""
    return max(1, _PIECE * bag_count // max(count * width, 1))


def bag_sums(
    p: Plan, table: Buffer, indices: Buffer, starts: Buffer, factors: Buffer | None, rows: int, width: int,
    padding: int, mean: bool,
) -> tuple[Buffer, Buffer]:
    """The sums, or the means, of the rows of a table of (rows, width) in each bag, and what each mean was divided by.

    An index that is not in [0, rows) is reported.  The starts must be right: from 0 to at most the number of indices.
    """
    dtype, count, work = table.dtype, starts.size - 1, indices.size * width
    out, divisors = p.new(count * width, dtype), p.new(count, dtype)
    p.run(
        bags.bag_sums, dtype, table, rows, width, indices, starts, no_row(dtype) if factors is None else factors,
        padding, mean, _chunk(indices.size, count, width), out, divisors, Report(), work=work,
        reports=Bounds(indices, 0, rows),
    )
    return out, divisors


def bag_largest(
    p: Plan, table: Buffer, indices: Buffer, starts: Buffer, rows: int, width: int, padding: int
) -> tuple[Buffer, Buffer]:
    """The largest of each column in each bag, and their rows' numbers; see :func:`bag_sums` for the arguments."""
    dtype, count = table.dtype, starts.size - 1
    out, chosen = p.new(count * width, dtype), p.new(count * width, _INT64)
    p.run(
        bags.bag_largest, dtype, table, rows, width, indices, starts, padding, _chunk(indices.size, count, width), out,
        chosen, Report(), work=indices.size * width, reports=Bounds(indices, 0, rows),
    )
    return out, chosen
