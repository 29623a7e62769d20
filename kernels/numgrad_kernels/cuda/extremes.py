"""The largest or smallest elements over one axis of arrays seen as (outer, length, inner), on GPUs: which and where.

``fold`` says which of two elements counts; a launch chooses it.  A NaN counts before everything else, and of equal
elements the first.  The work is shared as in ``reductions.py``.
"""

from __future__ import annotations

import numpy as np

from ..cpu.reductions import fold
from ..facts import Out
from .adapter import cuda
from .language import quotient, rest
from .lines import PACKED, fold_pairs, position
from .reductions import read4

#: Placeholder: the dtype of the elements.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256


def index_of(indices, where, at):
    """The index of the element at ``where``, which is number ``at`` of its column: its number."""
    return at


def index_found(indices, where, at):
    """The index that was found for it before."""
    return indices[where]


def _beats(best, value):
    """Whether the value takes the place of the best before it."""
    return (best == best) & (fold(best, value) != best)


def _ties(best, value):
    """Whether neither counts before the other."""
    return (best == value) | ((best != best) & (value != value))


def _better(best, index, value, found, where, at):
    """The best of those before and of the element at ``where``, and its index."""
    if _beats(best, value):
        best = value
        index = index_of(found, where, at)
    return best, index


def _first_of(best, index, value, other):
    """The best of two elements and its index; of equal ones the first."""
    if _beats(best, value) | (_ties(best, value) & (other < index)):
        best = value
        index = other
    return best, index


def extreme_axis(x, found, columns, length, inner, shift, depth, pieces, stretch, out: Out, indices: Out):
    """``out[c, p]`` is the extreme of piece ``p`` of column ``c`` of ``x``, ``indices[c, p]`` its index.

    The numbers are those of ``reductions.fold_axis``; there is at least one element.  ``found`` has indices that were
    found before, if ``x`` is what was found.
    """
    bests = cuda.shared.array(THREADS, T)
    places = cuda.shared.array(THREADS, np.int64)
    thread = cuda.threadIdx.x
    level, slot, apart = position(thread, shift, inner == 1)
    piece = np.int64(rest(cuda.blockIdx.x, pieces))
    place = np.int64(quotient(cuda.blockIdx.x, pieces)) * (THREADS >> shift if inner == 1 else 1 << shift) + slot
    column = min(place, columns - 1)
    base = column * length
    if inner > 1:
        base = column // inner * length * inner + column % inner
    gap = 1 if PACKED else depth
    between = 1 if PACKED else inner
    last = min(length, (piece + 1) * stretch) - 1
    at = piece * stretch + level * (4 if PACKED else 1)
    index = min(at, last)  # threads without an element look at the last one
    best = x[base + index * between]
    index = index_of(found, base + index * between, index)
    while at + 3 * gap <= last:
        here = base + at * between
        a, b, c, d = read4(x, here, gap * between)
        best, index = _better(best, index, a, found, here, at)
        best, index = _better(best, index, b, found, here + gap * between, at + gap)
        best, index = _better(best, index, c, found, here + 2 * gap * between, at + 2 * gap)
        best, index = _better(best, index, d, found, here + 3 * gap * between, at + 3 * gap)
        at += 4 * depth
    for turn in range(3):
        if at + turn * gap <= last:
            here = base + (at + turn * gap) * between
            best, index = _better(best, index, x[here], found, here, at + turn * gap)
    best, index = fold_pairs(_first_of, bests, places, thread, level, depth, apart, best, index)
    if level == 0 and place < columns:
        out[place * pieces + piece] = best
        indices[place * pieces + piece] = index
