"""Sharing of lines by a block's threads: rows, columns, or other elements a fixed step apart in memory.

``depth`` threads share a line, a power of two; a block has ``columns`` lines.  Its threads form a rectangle with rows
of ``1 << shift`` threads.  Neighbours in a row are threads of one line if ``along``, else of neighbouring lines, so
that neighbours read neighbouring elements.  A thread takes four elements at a time.  They are ``depth`` elements of the
line apart or, if all lines begin at multiples of 16 bytes, contiguous and read at once.

The results of the threads are combined pairwise, in an order that depends on the sizes alone.
"""

from __future__ import annotations

import numpy as np

from .adapter import cuda
from .language import load4, store4

#: Placeholder: true if a thread's four elements are contiguous.
PACKED = 0

#: Threads of a warp, and the mask of all of them.
WARP, ALL = 32, 0xFFFFFFFF


def position(thread, shift, along):
    """The thread's number in its line, the line's number in the block, and the distance between threads of a line."""
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
    """Wait for the warp's other threads if ``reach`` neighbours fit into a warp, else for those of the block."""
    if reach > WARP:
        cuda.syncthreads()
    else:
        cuda.syncwarp()


def wait_for_block(reach):
    """Replacement of :func:`wait` for lines that are columns, which the threads of all warps share."""
    cuda.syncthreads()


def fold_line(combine, part, thread, level, depth, apart, value):
    """Combine the values of a line's threads pairwise; the first of them receives the result."""
    return _tree(wait, combine, part, thread, level, depth, apart, value)


def _tree(waiting, combine, part, thread, level, depth, apart, value):
    index = np.uint64(thread)
    part[index] = value
    half = depth >> 1
    while half:
        waiting(depth * apart)
        if level < half:
            value = combine(value, part[np.uint64(thread + half * apart)])
            part[index] = value
        half >>= 1
    return value


def fold_pairs(combine, firsts, seconds, thread, level, depth, apart, first, second):
    """Combine pairs like ``fold_line``: ``combine`` takes two numbers and two more, and returns two."""
    return _tree_of_pairs(wait, combine, firsts, seconds, thread, level, depth, apart, first, second)


def _tree_of_pairs(waiting, combine, firsts, seconds, thread, level, depth, apart, first, second):
    index = np.uint64(thread)
    firsts[index], seconds[index] = first, second
    half = depth >> 1
    while half:
        waiting(depth * apart)
        if level < half:
            other = np.uint64(thread + half * apart)
            first, second = combine(first, second, firsts[other], seconds[other])
            firsts[index], seconds[index] = first, second
        half >>= 1
    return first, second


def pair_of_line(combine, firsts, seconds, thread, level, depth, apart, first, second):
    """Combine pairs like ``fold_pairs``; all threads of the line receive the result.

    Neighbours in a warp exchange their pairs without memory.  The arrays can be reused after a barrier.
    """
    if apart == 1:
        half = min(depth, WARP) >> 1
        while half:
            third, fourth = cuda.shfl_xor_sync(ALL, first, half), cuda.shfl_xor_sync(ALL, second, half)
            first, second = combine(first, second, third, fourth)
            half >>= 1
        if depth > WARP:
            if level % WARP == 0:
                slot = np.uint64(thread // WARP)
                firsts[slot], seconds[slot] = first, second
            cuda.syncthreads()
            begin = (thread - level) // WARP
            first, second = firsts[np.uint64(begin)], seconds[np.uint64(begin)]
            for warp in range(begin + 1, begin + depth // WARP):
                first, second = combine(first, second, firsts[np.uint64(warp)], seconds[np.uint64(warp)])
        else:  # lanes may differ in the last bit, as each combines its own pair with another
            lane = thread % WARP - level
            first, second = cuda.shfl_sync(ALL, first, lane), cuda.shfl_sync(ALL, second, lane)
    else:
        _tree_of_pairs(wait_for_block, combine, firsts, seconds, thread, level, depth, apart, first, second)
        cuda.syncthreads()
        origin = np.uint64(thread - level * apart)
        first, second = firsts[origin], seconds[origin]
    return first, second


def line_total(part, thread, level, depth, apart, value):
    """The sum of the values of a line's threads, for all of them; otherwise like ``pair_of_line``."""
    if apart == 1:
        half = min(depth, WARP) >> 1
        while half:
            value += cuda.shfl_xor_sync(ALL, value, half)
            half >>= 1
        if depth > WARP:
            if level % WARP == 0:
                part[np.uint64(thread // WARP)] = value
            cuda.syncthreads()
            begin = (thread - level) // WARP
            value = part[np.uint64(begin)]
            for warp in range(begin + 1, begin + depth // WARP):
                value += part[np.uint64(warp)]
    else:
        _tree(wait_for_block, sum_of, part, thread, level, depth, apart, value)
        cuda.syncthreads()
        value = part[np.uint64(thread - level * apart)]
    return value


def line_totals(parts, others, thread, level, depth, apart, value, other):
    """The sums of the values and of the other values of a line's threads, for all of them; see ``pair_of_line``."""
    return pair_of_line(_sums, parts, others, thread, level, depth, apart, value, other)


def sum_of(first, second):
    """The sum of two numbers."""
    return first + second


def _sums(first, second, third, fourth):
    return first + third, second + fourth


def read4(x, offset, step, last):
    """Four elements, ``step`` apart, starting at ``offset``; elements beyond ``last`` are replaced by the last one."""
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
    """Replacement of :func:`read4` for contiguous elements."""
    return load4(x, np.uint64(offset) >> np.uint64(2))


def write4_packed(out, offset, step, last, a, b, c, d):
    """Replacement of :func:`write4` for contiguous elements."""
    store4(out, np.uint64(offset) >> np.uint64(2), a, b, c, d)


def up_to(last, offset, value, instead):
    """The value of an element, or ``instead`` beyond the last element."""
    return value if offset <= last else instead


def up_to_packed(last, offset, value, instead):
    """Replacement of :func:`up_to` if no index is beyond the last element."""
    return value


def up_to4(last, offset, step, a, b, c, d, instead):
    """Four values, ``step`` apart, starting at ``offset``; ``instead`` replaces values beyond the last."""
    return (
        a, up_to(last, offset + step, b, instead), up_to(last, offset + 2 * step, c, instead),
        up_to(last, offset + 3 * step, d, instead),
    )  # fmt: skip
