"""How many threads share a line, which is a row or a column, and how they stand in a block; see the kernels."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from numgrad_kernels.cuda import lines

from .launching import MOST_BLOCKS, THREADS

#: Elements of a line that a thread takes at least: two times four.
SHARE = 8

#: Lines next to each other in memory that a block takes at least: 32 bytes of each row.
NARROWEST = max(THREADS // 32, 2)

#: Blocks that keep a GPU busy, and threads that a long row gets at most where there are fewer rows: with twice as many,
#: there would not be enough registers for them.
ENOUGH, WIDEST = max(MOST_BLOCKS // 8, 2), 2 * THREADS

#: The functions and constants of kernels whose threads take four elements next to each other.
_PACKED: dict[str, Any] = {
    "read4": lines.read4_packed, "write4": lines.write4_packed, "up_to": lines.up_to_packed, "PACKED": 1
}  # fmt: skip


class Arrangement(NamedTuple):
    """What kernels over lines are told, and how many blocks of threads have them all."""

    columns: int
    depth: int
    shift: int
    along: int
    blocks: int
    threads: int


@functools.lru_cache(maxsize=4096)
def arranged(lines: int, length: int, inner: int = 1) -> Arrangement:
    """The threads for a number of lines of a length, whose elements are ``inner`` elements apart."""
    if inner < NARROWEST:
        depth = min(power_of_two(-(-length // SHARE)), WIDEST if lines < ENOUGH else THREADS)
        columns, shift = max(THREADS // depth, 1), depth.bit_length() - 1
        return Arrangement(columns, depth, shift, 1, -(-lines // columns), columns * depth)
    columns = THREADS
    while columns > NARROWEST and lines < columns * ENOUGH and THREADS // columns * SHARE < length:
        columns //= 2
    return Arrangement(columns, THREADS // columns, columns.bit_length() - 1, 0, -(-lines // columns), THREADS)


def packed(length: int) -> dict[str, Any] | None:
    """The parts of a kernel over rows of this length that take four elements at once, where every row is aligned."""
    return None if length % 4 else _PACKED


def power_of_two(number: int) -> int:
    """The smallest one that is not less."""
    return 1 << max(number - 1, 0).bit_length()
