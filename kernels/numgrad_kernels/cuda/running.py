"""Running extremes with their indices, and linear recurrences, along one axis of arrays seen as (outer, length, inner).

``columns`` is the number of lines along that axis: the pairs of an index on the outer axis and one on the inner.  If
the inner axis has one entry, they are rows.
"""

from __future__ import annotations

import numpy as np

from ..cpu.reductions import fold
from ..facts import Out
from .adapter import cuda
from .lines import column_start, wait

#: Placeholder: the dtype of the elements.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256

#: Elements of a row that a thread processes at a time: an odd number, so that threads read different memory banks.
ITEMS = 3

#: Placeholders: ``ITEMS`` elements, and two elements, for each thread of a block.
TILE = 3 * 256
TWO_EACH = 2 * 256

# -- extremes ---------------------------------------------------------------------------------------------------------
#
# ``fold`` decides whether the next element replaces the extreme so far.


def extreme_rows(x, rows, length, shift, out: Out, indices: Out):
    """The extreme so far and its index in each row; ``2 ** shift`` threads share a row, as in ``scans.scan_rows``."""
    tile = cuda.shared.array(TILE, T)
    winners = cuda.shared.array(TILE, np.int64)
    bests = cuda.shared.array(TWO_EACH, T)
    best_indices = cuda.shared.array(TWO_EACH, np.int64)
    thread = cuda.threadIdx.x
    lanes = 1 << shift
    lane, slot = thread & (lanes - 1), thread >> shift
    row = cuda.blockIdx.x * (THREADS >> shift) + slot
    base = min(row, rows - 1) * length  # threads without a row read the last one
    span = lanes * ITEMS
    carry, carried = x[base], np.int64(0)
    begin = 0
    while begin < length:
        for turn in range(ITEMS):
            k = lane + turn * lanes
            tile[np.uint64(slot * span + k)] = x[base + min(begin + k, length - 1)]
        wait(lanes)
        start = begin + lane * ITEMS
        best, index = tile[np.uint64(thread * ITEMS)], np.int64(start)
        for k in range(ITEMS):
            at = np.uint64(thread * ITEMS + k)
            value = tile[at]
            if fold(best, value):
                best, index = value, np.int64(start + k)
            tile[at] = best
            winners[at] = index
        side, apart = 0, 1
        bests[np.uint64(thread)] = best
        best_indices[np.uint64(thread)] = index
        wait(lanes)
        while apart < lanes:
            if lane >= apart:
                at = np.uint64(side + thread - apart)
                value = bests[at]
                if not fold(value, best):
                    best, index = value, best_indices[at]
            side = THREADS - side
            bests[np.uint64(side + thread)] = best
            best_indices[np.uint64(side + thread)] = index
            wait(lanes)
            apart <<= 1
        best, index = carry, carried
        if lane > 0:
            at = np.uint64(side + thread - 1)
            value = bests[at]
            if fold(best, value):
                best, index = value, best_indices[at]
        for k in range(ITEMS):
            at = np.uint64(thread * ITEMS + k)
            value = tile[at]
            if not fold(best, value):
                tile[at] = best
                winners[at] = index
        at = np.uint64(side + slot * lanes + lanes - 1)
        value = bests[at]
        if fold(carry, value):
            carry, carried = value, best_indices[at]
        wait(lanes)
        for turn in range(ITEMS):
            k = lane + turn * lanes
            if (row < rows) & (begin + k < length):
                out[base + begin + k] = tile[np.uint64(slot * span + k)]
                indices[base + begin + k] = winners[np.uint64(slot * span + k)]
        begin += span


def extreme_columns(x, columns, length, inner, out: Out, indices: Out):
    """The extreme so far and its index along the middle axis: a thread scans a column."""
    column = cuda.grid(1)
    if column < columns:
        position = column_start(column, length, inner)
        best, index = x[position], np.int64(0)
        for at in range(length):
            value = x[position]
            if fold(best, value):
                best, index = value, np.int64(at)
            out[position] = best
            indices[position] = index
            position += inner


# -- linear recurrences ------------------------------------------------------------------------------------------------
#
# One element after the other: combining several factors could overflow although the results do not.


def recurrence_rows(x, factors, rows, length, shift, backwards, out: Out):
    """``out[i] = x[i] + factors[i] * out[i - 1]`` in each row, or with ``out[i + 1]`` if backwards.

    ``2 ** shift`` threads share a row: they read and write together, and one of them computes.
    """
    tile = cuda.shared.array(TILE, T)
    times = cuda.shared.array(TILE, T)
    thread = cuda.threadIdx.x
    lanes = 1 << shift
    lane, slot = thread & (lanes - 1), thread >> shift
    own_row = cuda.blockIdx.x * (THREADS >> shift) + slot
    row = min(own_row, rows - 1)
    step = -1 if backwards else 1
    first = row * length + (length - 1 if backwards else 0)
    span = lanes * ITEMS
    carry = T(0)
    begin = 0
    while begin < length:
        for turn in range(ITEMS):
            k = lane + turn * lanes
            source = first + step * min(begin + k, length - 1)
            tile[np.uint64(slot * span + k)] = x[source]
            times[np.uint64(slot * span + k)] = factors[source]
        wait(lanes)
        if lane == 0:
            for k in range(min(span, length - begin)):
                at = np.uint64(slot * span + k)
                value = tile[at]
                if begin + k > 0:
                    value += times[at] * carry
                tile[at] = value
                carry = value
        wait(lanes)
        for turn in range(ITEMS):
            k = lane + turn * lanes
            if (own_row < rows) & (begin + k < length):
                out[first + step * (begin + k)] = tile[np.uint64(slot * span + k)]
        begin += span


def recurrence_columns(x, factors, columns, length, inner, backwards, out: Out):
    """``out[i] = x[i] + factors[i] * out[i - 1]`` along the middle axis, or with ``out[i + 1]`` if backwards."""
    column = cuda.grid(1)
    if column < columns:
        step = -inner if backwards else inner
        position = column_start(column, length, inner) + (length - 1 if backwards else 0) * inner
        value = x[position]
        out[position] = value
        for _ in range(1, length):
            position += step
            value = x[position] + factors[position] * value
            out[position] = value


# -- shifts -----------------------------------------------------------------------------------------------------------


def fill_ends(out: Out, columns, length, inner, at, fill):
    """Set element number ``at`` of each column."""
    for column in range(cuda.grid(1), columns, cuda.gridsize(1)):
        out[column_start(column, length, inner) + at * inner] = T(fill)
