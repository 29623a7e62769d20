"""Steps that reduce the rows of a table in each bag, to their sum or to the largest of each column; see the kernels."""

from __future__ import annotations

import numpy as np

from numgrad_kernels.cpu import bags

from ..memory import or_empty
from ..plan import Bounds, Buffer, Plan, Report

__all__ = ["bag_largest", "bag_sums"]

_INT64 = np.dtype(np.int64)

#: Approximate number of elements in a piece of parallel work.
_PIECE = 16384


def _chunk(count: int, bag_count: int, width: int) -> int:
    """Return the number of bags in a piece of the work, where all bags together have ``count`` indices."""
    return max(1, _PIECE * bag_count // max(count * width, 1))


def bag_sums(
    p: Plan, table: Buffer, indices: Buffer, starts: Buffer, factors: Buffer | None, rows: int, width: int,
    padding: int, mean: bool,
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the sums or means of the rows of a (rows, width) table in each bag, and of their divisors.

    The kernel reports an index that is not in [0, rows).  The caller ensures that the starts ascend from 0 to at most
    the number of indices.
    """
    dtype, count, work = table.dtype, starts.size - 1, indices.size * width
    out, divisors = p.new(count * width, dtype), p.new(count, dtype)
    p.run(
        bags.bag_sums, dtype, table, rows, width, indices, starts, or_empty(factors, dtype), padding, mean,
        _chunk(indices.size, count, width), out, divisors, Report(), work=work, reports=Bounds(indices, 0, rows),
    )
    return out, divisors


def bag_largest(
    p: Plan, table: Buffer, indices: Buffer, starts: Buffer, rows: int, width: int, padding: int
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the largest element of each column in each bag, and of their rows; see :func:`bag_sums`."""
    dtype, count = table.dtype, starts.size - 1
    out, chosen = p.new(count * width, dtype), p.new(count * width, _INT64)
    p.run(
        bags.bag_largest, dtype, table, rows, width, indices, starts, padding, _chunk(indices.size, count, width), out,
        chosen, Report(), work=indices.size * width, reports=Bounds(indices, 0, rows),
    )
    return out, chosen
