"""Running sums, products and log-sum-exps along one axis of arrays seen as (outer, length, inner), on GPUs.

``columns`` is the number of lines along that axis: the pairs of an index on the outer axis and one on the inner.  If
the inner axis has one entry, they are rows.  A scan runs forwards, or backwards from the last element.  Long columns
are split into ``pieces`` of ``piece_size`` elements: each piece is folded first, and the running results of these folds
are the starts of the pieces.  ``initial`` is the neutral element.  The order depends on the sizes alone.
"""

from __future__ import annotations

import numpy as np

from ..cpu.reductions import fold
from ..facts import Out
from ..scalar import exp, log1p, maximum, minimum, where
from .adapter import cuda
from .language import quotient, rest
from .lines import column_start, wait

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256

#: Elements of a row that a thread scans by itself: an odd number, so that threads read different memory banks.
ITEMS = 7

#: Placeholders: ``ITEMS`` elements, and two elements, for each thread of a block.
TILE = 7 * 256
TWO_EACH = 2 * 256


def log_of_sum(left, right):
    """The logarithm of the sum of the exponentials of two numbers."""
    high = maximum(left, right)
    low = minimum(left, right)
    return high + where(low == high, T(0.6931471805599453), log1p(exp(low - high)))


def _start(starts, column, piece, pieces, backwards, initial):
    """The result of the elements before a piece of a column."""
    earlier = piece + 1 if backwards else piece - 1
    start = T(initial)
    if (earlier >= 0) & (earlier < pieces):
        start = starts[column * pieces + earlier]
    return start


def scan_rows(x, rows, length, shift, pieces, piece_size, backwards, initial, starts, out: Out):
    """The running results of each row; ``2 ** shift`` threads share one.

    Their part of ``tile`` holds the elements that they scan together.  Each thread scans some contiguous ones, then the
    threads' totals are scanned (Hillis and Steele 1986), and each thread adds the totals before its own.
    """
    tile = cuda.shared.array(TILE, T)
    totals = cuda.shared.array(TWO_EACH, T)
    thread = cuda.threadIdx.x
    lanes = 1 << shift
    lane, slot = thread & (lanes - 1), thread >> shift
    piece = np.int64(rest(cuda.blockIdx.x, pieces))
    own_row = np.int64(quotient(cuda.blockIdx.x, pieces)) * (THREADS >> shift) + slot
    row = min(own_row, rows - 1)  # threads without a row read the last one
    low, high = piece * piece_size, min(length, (piece + 1) * piece_size)
    count = high - low
    step = -1 if backwards else 1
    first = row * length + (high - 1 if backwards else low)
    span = lanes * ITEMS
    carry = _start(starts, row, piece, pieces, backwards, initial)
    begin = 0
    while begin < piece_size:
        for turn in range(ITEMS):
            k = lane + turn * lanes
            value = T(x[first + step * min(begin + k, count - 1)])
            tile[np.uint64(slot * span + k)] = where(begin + k < count, value, T(initial))
        wait(lanes)
        total = T(initial)
        for k in range(ITEMS):
            at = np.uint64(thread * ITEMS + k)
            total = fold(total, tile[at])
            tile[at] = total
        side, apart = 0, 1
        totals[np.uint64(thread)] = total
        wait(lanes)
        while apart < lanes:
            if lane >= apart:
                total = fold(totals[np.uint64(side + thread - apart)], total)
            side = THREADS - side
            totals[np.uint64(side + thread)] = total
            wait(lanes)
            apart <<= 1
        before = carry
        if lane > 0:
            before = fold(carry, totals[np.uint64(side + thread - 1)])
        for k in range(ITEMS):
            at = np.uint64(thread * ITEMS + k)
            tile[at] = fold(before, tile[at])
        carry = fold(carry, totals[np.uint64(side + slot * lanes + lanes - 1)])
        wait(lanes)
        for turn in range(ITEMS):
            k = lane + turn * lanes
            if (own_row < rows) & (begin + k < count):
                out[first + step * (begin + k)] = tile[np.uint64(slot * span + k)]
        begin += span


def scan_columns(x, columns, length, inner, pieces, piece_size, backwards, initial, starts, out: Out):
    """The running results along the middle axis: a thread scans a piece of a column.

    The fold of 64 elements is kept apart from that of the elements before, so that rounding errors do not grow with the
    length.
    """
    work = cuda.grid(1)
    if work < columns * pieces:
        piece, column = work // columns, work % columns
        low, high = piece * piece_size, min(length, (piece + 1) * piece_size)
        step = -inner if backwards else inner
        i = column_start(column, length, inner) + (high - 1 if backwards else low) * inner
        many = _start(starts, column, piece, pieces, backwards, initial)
        few = T(initial)
        done = 0
        while done + 4 <= high - low:  # four are read before one is written, which could be the same element
            first, second, third, fourth = T(x[i]), T(x[i + step]), T(x[i + 2 * step]), T(x[i + 3 * step])
            few = fold(few, first)
            out[i] = fold(many, few)
            few = fold(few, second)
            out[i + step] = fold(many, few)
            few = fold(few, third)
            out[i + 2 * step] = fold(many, few)
            few = fold(few, fourth)
            out[i + 3 * step] = fold(many, few)
            i += 4 * step
            done += 4
            if done & 63 == 0:
                many = fold(many, few)
                few = T(initial)
        while done < high - low:
            few = fold(few, T(x[i]))
            out[i] = fold(many, few)
            i += step
            done += 1
