"""Arrangement of the threads of a block over lines, which are rows or columns; see the kernels."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from numgrad_kernels.cuda import lines

from .launching import MOST_BLOCKS, THREADS

#: Least number of elements of a line for a thread: two times four.
SHARE = 8

#: Least number of adjacent lines for a block: 32 bytes of each row.
NARROWEST = max(THREADS // 32, 2)

#: Number of blocks that keep a GPU busy, and greatest number of threads for a long row if there are fewer rows: there
#: are too few registers for twice as many.
ENOUGH, WIDEST = max(MOST_BLOCKS // 8, 2), 2 * THREADS

#: The functions and constants of kernels whose threads take four adjacent elements.
_PACKED: dict[str, Any] = {
    "read4": lines.read4_packed, "write4": lines.write4_packed, "up_to": lines.up_to_packed, "PACKED": 1
}  # fmt: skip


class Arrangement(NamedTuple):
    """Operands of kernels over lines, and the grid."""

    columns: int
    depth: int
    shift: int
    along: int
    blocks: int
    threads: int


@functools.lru_cache(maxsize=4096)
def arranged(lines: int, length: int, inner: int = 1) -> Arrangement:
    """Return the arrangement of threads for lines of a length, whose elements have the stride ``inner``."""
    if inner < NARROWEST:
        depth = min(power_of_two(-(-length // SHARE)), WIDEST if lines < ENOUGH else THREADS)
        columns, shift = max(THREADS // depth, 1), depth.bit_length() - 1
        return Arrangement(columns, depth, shift, 1, -(-lines // columns), columns * depth)
    columns = THREADS
    while columns > NARROWEST and lines < columns * ENOUGH and THREADS // columns * SHARE < length:
        columns //= 2
    return Arrangement(columns, THREADS // columns, columns.bit_length() - 1, 0, -(-lines // columns), THREADS)


def packed(length: int) -> dict[str, Any] | None:
    """Return the parts of a kernel over rows that take four elements at once; None if not every row is aligned."""
    return None if length % 4 else _PACKED


def power_of_two(number: int) -> int:
    """Return the least power of two that is not less than a number."""
    return 1 << max(number - 1, 0).bit_length()
