"""How a block's threads share lines: rows, columns, or what else lies a fixed step apart in memory.

``depth`` threads share a line, a power of two; a block has ``columns`` lines.  Its threads stand in a rectangle, of
which ``1 << shift`` lie next to each other: if ``along`` those of one line, else those of neighbouring lines, so that
neighbours read neighbouring elements.  A thread takes four elements at a time: they are ``depth`` elements of the line
apart or, where all lines begin at multiples of 16 bytes, next to each other, to be read at once.

What the threads find is put together in a binary tree, in an order that depends on the sizes alone.
"""

from __future__ import annotations

import numpy as np

from .adapter import cuda
from .language import load4, store4

#: Placeholder: whether a thread's four elements lie next to each other.
PACKED = 0


def position(thread, shift, along):
    """The thread's number among those of its line, the line's number in the block, and how far apart the former are."""
    near = thread & ((1 << shift) - 1)
    far = thread >> shift
    level = near if along else far
    column = far if along else near
    apart = 1 if along else 1 << shift
    return level, column, apart


def column_start(column, length, inner):
    """The offset of the first element of a column of an array seen as (outer, length, inner), or of a row of it."""
    return column * length if inner == 1 else column // inner * length * inner + column % inner


def wait(reach):
    """Wait for the other threads among ``reach`` neighbouring ones, or for those of the block."""
    if reach > 32:
        cuda.syncthreads()
    else:
        cuda.syncwarp()


def fold_line(combine, part, thread, level, depth, apart, value):
    """What the values of a line's threads are combined to, two by two, for the first of them."""
    own = np.uint64(thread)
    part[own] = value
    half = depth >> 1
    while half:
        wait(depth * apart)
        if level < half:
            value = combine(value, part[np.uint64(thread + half * apart)])
            part[own] = value
        half >>= 1
    return value


def fold_pairs(combine, firsts, seconds, thread, level, depth, apart, first, second):
    """The same of pairs: ``combine`` takes two numbers and two more, and gives two."""
    own = np.uint64(thread)
    firsts[own], seconds[own] = first, second
    half = depth >> 1
    while half:
        wait(depth * apart)
        if level < half:
            other = np.uint64(thread + half * apart)
            first, second = combine(first, second, firsts[other], seconds[other])
            firsts[own], seconds[own] = first, second
        half >>= 1
    return first, second


def pair_of_line(combine, firsts, seconds, thread, level, depth, apart, first, second):
    """The same, for all threads of the line."""
    if depth > 1:
        fold_pairs(combine, firsts, seconds, thread, level, depth, apart, first, second)
        wait(depth * apart)
        origin = np.uint64(thread - level * apart)
        first, second = firsts[origin], seconds[origin]
        wait(depth * apart)
    return first, second


def line_total(part, thread, level, depth, apart, value):
    """The sum of the values of a line's threads, for all of them."""
    if depth > 1:
        fold_line(_sum, part, thread, level, depth, apart, value)
        wait(depth * apart)
        value = part[np.uint64(thread - level * apart)]
        wait(depth * apart)
    return value


def line_totals(parts, others, thread, level, depth, apart, value, other):
    """The sums of the values and of the other values of a line's threads, for all of them."""
    return pair_of_line(_sums, parts, others, thread, level, depth, apart, value, other)


def _sum(one, other):
    return one + other


def _sums(one, two, three, four):
    return one + three, two + four


def read4(x, offset, step, last):
    """Four elements from ``offset``, ``step`` apart; the one at ``last`` in place of those beyond it."""
    return x[offset], x[min(offset + step, last)], x[min(offset + 2 * step, last)], x[min(offset + 3 * step, last)]


def write4(out, offset, step, last, a, b, c, d):
    """Write four elements from ``offset``, ``step`` apart, up to ``last``."""
    out[offset] = a
    if offset + step <= last:
        out[offset + step] = b
    if offset + 2 * step <= last:
        out[offset + 2 * step] = c
    if offset + 3 * step <= last:
        out[offset + 3 * step] = d


def read4_packed(x, offset, step, last):
    """In place of :func:`read4`: the four next to each other."""
    return load4(x, np.uint64(offset) >> np.uint64(2))


def write4_packed(out, offset, step, last, a, b, c, d):
    """In place of :func:`write4`: the four next to each other."""
    store4(out, np.uint64(offset) >> np.uint64(2), a, b, c, d)


def up_to(last, offset, value, instead):
    """The value of an element, or what counts ``instead`` of one beyond the last."""
    return value if offset <= last else instead


def up_to_packed(last, offset, value, instead):
    """In place of :func:`up_to`: there is none beyond the last."""
    return value


def up_to4(last, offset, step, a, b, c, d, instead):
    """Four values from ``offset``, ``step`` apart, or what counts ``instead`` of those beyond the last."""
    return (
        a, up_to(last, offset + step, b, instead), up_to(last, offset + 2 * step, c, instead),
        up_to(last, offset + 3 * step, d, instead),
    )  # fmt: skip
