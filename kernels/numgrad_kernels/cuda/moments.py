"""Variances and means over one axis of arrays seen as (outer, length, inner), on GPUs, in one pass.

A thread finds the mean of four elements and their squared distances from it, and joins them with what it found before
(Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).  The work
is shared as in ``reductions.py``.  The means that are given come from sums: they are infinite where elements are.
"""

from __future__ import annotations

import numpy as np

from ..facts import Out
from ..scalar import divide
from .adapter import cuda
from .language import quotient, rest
from .lines import PACKED, position, wait
from .reductions import finish, read4

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256

#: Placeholder: whether one block has all of a column.
WHOLE = 1


def _join(count, centre, spread, more, middle, around):
    """The number, the mean and the squared distances of two sets of elements together."""
    both = count + more
    share = divide(more, both)
    distance = middle - centre
    beyond = distance * distance * (count * share) + (distance - distance)  # NaN where either is infinite
    return both, centre + distance * share, spread + around + beyond


def _of_four(a, b, c, d):
    """The sum of four elements, their mean and their squared distances from it."""
    total = (a + b) + (c + d)
    middle = total * T(0.25)
    a, b, c, d = a - middle, b - middle, c - middle, d - middle
    return total, middle, (a * a + b * b) + (c * c + d * d)


def _tree(counts, centres, spreads, totals, thread, level, depth, apart, count, centre, spread, total):
    """What a column's threads found together, for the first of them: squared distances, mean, sum."""
    own = np.uint64(thread)
    counts[own], centres[own], spreads[own], totals[own] = count, centre, spread, total
    half = depth >> 1
    while half:
        wait(depth * apart)
        if level < half:
            other = np.uint64(thread + half * apart)
            if counts[other] > T(0):
                count, centre, spread = _join(count, centre, spread, counts[other], centres[other], spreads[other])
                total += totals[other]
                counts[own], centres[own], spreads[own], totals[own] = count, centre, spread, total
        half >>= 1
    return spread, centre, total


def moments_axis(x, columns, length, inner, shift, depth, pieces, stretch, divisor, out: Out, means: Out):
    """The variance and the mean of each column if ``WHOLE``.

    Otherwise ``out[c, p]`` is three numbers for piece ``p`` of column ``c``: squared distances, mean and sum.
    """
    counts = cuda.shared.array(THREADS, T)
    centres = cuda.shared.array(THREADS, T)
    spreads = cuda.shared.array(THREADS, T)
    totals = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, column, apart = position(thread, shift, inner == 1)
    piece = np.int64(rest(cuda.blockIdx.x, pieces))
    place = np.int64(quotient(cuda.blockIdx.x, pieces)) * (THREADS >> shift if inner == 1 else 1 << shift) + column
    count, centre, spread, total = T(0), T(0), T(0), T(0)
    gap = 1 if PACKED else depth
    between = 1 if PACKED else inner
    at = piece * stretch + level * (4 if PACKED else 1)
    end = min(length, (piece + 1) * stretch)
    if place < columns and at < end:
        base = place * length
        if inner > 1:
            base = place // inner * length * inner + place % inner
        centre = x[base + at * between]  # near the mean: squares of distances from 0 could overflow
        while at + 3 * gap < end:
            a, b, c, d = read4(x, base + at * between, gap * between)
            sum4, middle, around = _of_four(a, b, c, d)
            count, centre, spread = _join(count, centre, spread, T(4), middle, around)
            total += sum4
            at += 4 * depth
        for turn in range(3):
            if at + turn * gap < end:
                a = x[base + (at + turn * gap) * between]
                count, centre, spread = _join(count, centre, spread, T(1), a, T(0))
                total += a
    spread, centre, total = _tree(
        counts, centres, spreads, totals, thread, level, depth, apart, count, centre, spread, total
    )
    if level == 0 and place < columns:
        if WHOLE:
            out[place] = finish(spread, T(0), T(divisor))
            means[place] = divide(total, T(length))
        else:
            here = (place * pieces + piece) * 3
            out[here], out[here + 1], out[here + 2] = spread, centre, total


def join_moments(found, columns, length, pieces, stretch, shift, depth, divisor, out: Out, means: Out):
    """The variance and the mean of each column from those of its pieces, the last of which may be shorter."""
    counts = cuda.shared.array(THREADS, T)
    centres = cuda.shared.array(THREADS, T)
    spreads = cuda.shared.array(THREADS, T)
    totals = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, column, apart = position(thread, shift, 1)
    place = cuda.blockIdx.x * (THREADS >> shift) + column
    count, centre, spread, total = T(0), T(0), T(0), T(0)
    if place < columns and level < pieces:
        centre = found[(place * pieces + level) * 3 + 1]
        for piece in range(level, pieces, depth):
            here = (place * pieces + piece) * 3
            more = T(min(length - piece * stretch, stretch))
            count, centre, spread = _join(count, centre, spread, more, found[here + 1], found[here])
            total += found[here + 2]
    spread, centre, total = _tree(
        counts, centres, spreads, totals, thread, level, depth, apart, count, centre, spread, total
    )
    if level == 0 and place < columns:
        out[place] = finish(spread, T(0), T(divisor))
        means[place] = divide(total, T(length))
