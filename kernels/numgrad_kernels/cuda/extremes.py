"""The largest or smallest elements over one axis of arrays seen as (outer, length, inner), with their indices, on GPUs;
the largest elements of windows.

A launch chooses ``fold``, which returns the winner of two elements.  A NaN wins over everything else, and of equal
elements the first wins.  The work is shared as in ``reductions.py``.
"""

from __future__ import annotations

import numpy as np

from ..cpu.extremes import largest_of_window
from ..cpu.reductions import fold
from ..facts import Out
from .adapter import cuda
from .lines import column_start, fold_pairs
from .reductions import elements, read4, share_of_column

#: Placeholder: the dtype of the elements.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256


def index_of(indices, where, at):
    """The index of an element in its column: ``at``."""
    return at


def index_found(indices, where, at):
    """The index that an earlier launch stored for the element."""
    return indices[where]


def _beats(best, value):
    """True if the value replaces the best before it."""
    return (best == best) & (fold(best, value) != best)


def _ties(best, value):
    """True if neither wins over the other."""
    return (best == value) | ((best != best) & (value != value))


def _better(best, index, value, earlier, where, at):
    """The better of the best so far and the element at ``where``, and its index."""
    if _beats(best, value):
        best = value
        index = index_of(earlier, where, at)
    return best, index


def _first_of(best, index, value, other):
    """The better of two elements and its index; of equal ones the first."""
    if _beats(best, value) | (_ties(best, value) & (other < index)):
        best = value
        index = other
    return best, index


def extreme_axis(x, earlier, columns, length, inner, shift, depth, pieces, piece_size, out: Out, indices: Out):
    """``out[c, p]`` is the extreme of piece ``p`` of column ``c`` of ``x``, ``indices[c, p]`` its index.

    The numbers are those of ``reductions.fold_axis``; there is at least one element.  If ``x`` contains the results of
    an earlier launch, ``earlier`` contains their indices.
    """
    bests = cuda.shared.array(THREADS, T)
    found_indices = cuda.shared.array(THREADS, np.int64)
    thread = cuda.threadIdx.x
    level, apart, column, piece = share_of_column(thread, shift, inner, pieces)
    base = column_start(min(column, columns - 1), length, inner)  # threads without a column read the last one
    at, gap, end, between = elements(level, depth, inner, length, piece, piece_size)
    last = end - 1
    index = min(at, last)  # threads without an element read the last one
    best = x[base + index * between]
    index = index_of(earlier, base + index * between, index)
    while at + 3 * gap <= last:
        position = base + at * between
        a, b, c, d = read4(x, position, gap * between)
        best, index = _better(best, index, a, earlier, position, at)
        best, index = _better(best, index, b, earlier, position + gap * between, at + gap)
        best, index = _better(best, index, c, earlier, position + 2 * gap * between, at + 2 * gap)
        best, index = _better(best, index, d, earlier, position + 3 * gap * between, at + 3 * gap)
        at += 4 * depth
    for turn in range(3):
        if at + turn * gap <= last:
            position = base + (at + turn * gap) * between
            best, index = _better(best, index, x[position], earlier, position, at + turn * gap)
    best, index = fold_pairs(_first_of, bests, found_indices, thread, level, depth, apart, best, index)
    if level == 0 and column < columns:
        out[column * pieces + piece] = best
        indices[column * pieces + piece] = index


def max_pool(
    x, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x, padding_z, padding_y,
    padding_x, dilation_z, dilation_y, dilation_x, layers, rows, columns, lowest, count, out: Out, indices: Out
):  # fmt: skip
    """The largest elements of all ``count`` windows, and their indices, with a thread for each, as on the CPU."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        line = i // columns
        best, index = largest_of_window(
            x, line // (layers * rows) * depth * height * width, line // rows % layers, line % rows, i % columns, depth,
            height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x, padding_z, padding_y, padding_x,
            dilation_z, dilation_y, dilation_x, lowest,
        )  # fmt: skip
        out[i] = best
        indices[i] = index
