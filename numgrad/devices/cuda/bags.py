"""Rows of a table summed, or the largest of each column taken, over bags; see the CPU's."""

from __future__ import annotations

import numpy as np

from numgrad_kernels.cuda import bags

from ..plan import Buffer, Plan, Report
from .launching import THREADS, blocks_for
from .memory import optional

__all__ = ["bag_largest", "bag_sums"]

_INT64 = np.dtype(np.int64)


def bag_sums(
    p: Plan, table: Buffer, indices: Buffer, starts: Buffer, factors: Buffer | None, rows: int, width: int,
    padding: int, mean: bool,
) -> tuple[Buffer, Buffer]:
    """The sums, or the means, of the rows in each bag, and what each mean was divided by; a wrong index is reported."""
    dtype, count = table.dtype, starts.size - 1
    out, divisors = p.new(count * width, dtype), p.new(count, dtype)
    p.run(
        bags.bag_sums, dtype, table, rows, width, indices, starts, *optional(factors, dtype), padding, int(mean),
        out.size, out, divisors, Report(), grid=(blocks_for(out.size), THREADS),
    )
    return out, divisors


def bag_largest(
    p: Plan, table: Buffer, indices: Buffer, starts: Buffer, rows: int, width: int, padding: int
) -> tuple[Buffer, Buffer]:
    """The largest of each column in each bag, and their rows' numbers; a wrong index is reported."""
    dtype, size = table.dtype, (starts.size - 1) * width
    out, chosen = p.new(size, dtype), p.new(size, _INT64)
    p.run(
        bags.bag_largest, dtype, table, rows, width, indices, starts, padding, size, out, chosen, Report(),
        grid=(blocks_for(size), THREADS),
    )
    return out, chosen
