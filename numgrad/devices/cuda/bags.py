"""Steps on a GPU that reduce the rows of a table in each bag; see the functions of the CPU."""

from __future__ import annotations

from numgrad_kernels.cuda import bags

from ..plan import Buffer, Plan, Report
from .launching import INT64
from .memory import optional

__all__ = ["bag_largest", "bag_sums"]


def bag_sums(
    p: Plan, table: Buffer, indices: Buffer, starts: Buffer, factors: Buffer | None, rows: int, width: int,
    padding: int, mean: bool,
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the sums or means of the rows of a table in each bag, and of their divisors."""
    dtype, count = table.dtype, starts.size - 1
    out, divisors = p.new(count * width, dtype), p.new(count, dtype)
    p.run(
        bags.bag_sums, dtype, table, rows, width, indices, starts, *optional(factors, dtype), padding, int(mean),
        out.size, out, divisors, Report(), work=out.size,
    )
    return out, divisors


def bag_largest(
    p: Plan, table: Buffer, indices: Buffer, starts: Buffer, rows: int, width: int, padding: int
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the largest element of each column in each bag, and of their rows."""
    dtype, size = table.dtype, (starts.size - 1) * width
    out, chosen = p.new(size, dtype), p.new(size, INT64)
    operands = table, rows, width, indices, starts, padding, size, out, chosen, Report()
    p.run(bags.bag_largest, dtype, *operands, work=size)
    return out, chosen
