"""Reductions over one axis of arrays seen as (outer, length, inner), on GPUs: sums, products, extremes, norms,
variances.

``term`` and ``fold`` are those of the CPU's reductions.  ``columns`` is the number of results: the pairs of an index on
the outer axis and one on the inner.  ``depth`` threads share a column, each with four accumulators, and fold their
results in a binary tree (see ``lines.py``).  If the inner axis has one entry, neighbouring threads read neighbouring
elements of a column; otherwise they read neighbouring columns.

If there are few columns, several blocks share each: a block folds ``piece_size`` elements, and the same kernel folds
the results of the blocks.  The order depends on the sizes, and on whether four elements can be read at once, so that
the result is the same in every run, on every GPU.
"""

from __future__ import annotations

import numpy as np

from ..cpu.reductions import fold, is_doubtful, term
from ..facts import InOut, Out
from ..scalar import abs, divide, isinf, log, maximum, pow, sqrt, where
from .adapter import cuda
from .language import load4, quotient, rest
from .lines import PACKED, column_start, fold_line, position, sum_of, wait

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256

# -- the parameter of a column's terms --------------------------------------------------------------------------------


def given(parameters, number, column):
    """The one number for all columns."""
    return number


def own_parameter(parameters, number, column):
    """The column's own parameter."""
    return parameters[column]


# -- finishes: the final result of a column ----------------------------------------------------------------------------


def finish(total, parameter, divisor):
    """The total itself."""
    return total


def truth(total, parameter, divisor):
    """1 if the total is not 0, else 0."""
    return T(total != 0)


def share(total, parameter, divisor):
    """The quotient, as for means and variances; NaN for 0 divided by 0."""
    return divide(total, divisor)


def share_of_complex(total, parameter, divisor):
    """The quotient of a complex number and a real one."""
    return T(complex(divide(total.real, divisor.real), divide(total.imag, divisor.real)))


def root_of_share(total, parameter, divisor):
    """The root of the quotient, as for standard deviations."""
    return sqrt(divide(total, divisor))


def root(total, parameter, divisor):
    """The root of a sum of squares."""
    return sqrt(total)


def to_the_power(total, parameter, exponent):
    """The power of a sum of powers."""
    return pow(total, exponent)


def finite(total, parameter, divisor):
    """The largest element, which is subtracted from all; 0 if it is infinite."""
    return where(isinf(total), T(0), total)


def logarithm(total, parameter, divisor):
    """The logarithm of a sum of exponentials of elements minus the parameter."""
    return log(total) + parameter


# -- sums, products, extremes, norms ----------------------------------------------------------------------------------


def sure_norms(x, columns, length, inner, order, least, norms: InOut):
    """Recompute the doubtful norms from the elements divided by the largest.

    A block has as many columns as threads, and its threads share each doubtful one.
    """
    part = cuda.shared.array(THREADS, T)
    thread = np.int64(cuda.threadIdx.x)
    begin = np.int64(cuda.blockIdx.x) * THREADS
    at = begin + thread
    doubtful = np.int32(1) if at < columns and is_doubtful(norms[min(at, columns - 1)], T(least)) else np.int32(0)
    if cuda.syncthreads_or(doubtful):
        for column in range(begin, min(columns, begin + THREADS)):
            if is_doubtful(norms[column], T(least)):
                first = column_start(column, length, inner)
                top = T(0)
                for i in range(thread, length, THREADS):
                    top = maximum(top, abs(T(x[first + i * inner])))
                fold_line(maximum, part, thread, thread, THREADS, 1, top)
                cuda.syncthreads()
                top = part[np.uint64(0)]
                cuda.syncthreads()
                total = T(0)
                for i in range(thread, length, THREADS):
                    total += pow(abs(T(x[first + i * inner])) / top, T(order))
                total = fold_line(sum_of, part, thread, thread, THREADS, 1, total)
                cuda.syncthreads()
                if thread == 0 and top > T(0) and top < T(np.inf):
                    norms[column] = top * pow(total, T(1) / T(order))


def read4(x, offset, step):
    """Four elements from ``offset``, ``step`` apart."""
    return x[offset], x[offset + step], x[offset + 2 * step], x[offset + 3 * step]


def read4_packed(x, offset, step):
    """Replacement of :func:`read4` for a ``step`` of 1 and four elements that can be read at once."""
    return load4(x, np.uint64(offset) >> np.uint64(2))


def share_of_column(thread, shift, inner, pieces):
    """The number of a thread among the threads of its column, their distance, the column, and the piece."""
    level, near, apart = position(thread, shift, inner == 1)
    group = np.int64(quotient(cuda.blockIdx.x, pieces))
    column = group * (THREADS >> shift if inner == 1 else 1 << shift) + near
    return level, apart, column, np.int64(rest(cuda.blockIdx.x, pieces))


def elements(level, depth, inner, length, piece, piece_size):
    """The first index, the step and the end of a thread's elements, and the distance of neighbours in memory.

    The thread takes elements from number ``at``, four that are ``gap`` apart, up to the ``end``.
    """
    at = piece * piece_size + level * (4 if PACKED else 1)
    return at, 1 if PACKED else depth, min(length, (piece + 1) * piece_size), 1 if PACKED else inner


def fold_axis(
    x, columns, length, inner, shift, depth, pieces, piece_size, parameters, number, initial, divisor, out: Out
):
    """``out[c, p]`` is the fold of piece ``p`` of column ``c`` of ``x``.

    ``1 << shift`` threads of a block are neighbours in memory: those of a column if ``inner`` is 1, else those of
    neighbouring columns.
    """
    part = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, apart, column, piece = share_of_column(thread, shift, inner, pieces)
    first, second, third, fourth = T(initial), T(initial), T(initial), T(initial)
    parameter = T(number)
    if column < columns:
        parameter = given(parameters, T(number), column)
        base = column_start(column, length, inner)
        at, gap, end, between = elements(level, depth, inner, length, piece, piece_size)
        step = gap * between
        last = end - 3 * gap
        while at + 4 * depth < last:
            a, b, c, d = read4(x, base + at * between, step)
            e, f, g, h = read4(x, base + (at + 4 * depth) * between, step)
            first = fold(fold(first, term(a, parameter)), term(e, parameter))
            second = fold(fold(second, term(b, parameter)), term(f, parameter))
            third = fold(fold(third, term(c, parameter)), term(g, parameter))
            fourth = fold(fold(fourth, term(d, parameter)), term(h, parameter))
            at += 8 * depth
        if at < last:
            a, b, c, d = read4(x, base + at * between, step)
            first = fold(first, term(a, parameter))
            second = fold(second, term(b, parameter))
            third = fold(third, term(c, parameter))
            fourth = fold(fourth, term(d, parameter))
            at += 4 * depth
        if at < end:
            first = fold(first, term(x[base + at * between], parameter))
        if at + gap < end:
            second = fold(second, term(x[base + at * between + step], parameter))
        if at + 2 * gap < end:
            third = fold(third, term(x[base + at * between + 2 * step], parameter))
    total = fold_line(fold, part, thread, level, depth, apart, fold(fold(first, second), fold(third, fourth)))
    if level == 0 and column < columns:
        out[column * pieces + piece] = finish(total, parameter, T(divisor))


# -- variances and means, in one pass ----------------------------------------------------------------------------------
#
# A thread computes the mean of four elements and their squared distances from it, and joins them with those so far
# (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).  The
# returned means are computed from sums: they are infinite where elements are.

#: Placeholder: true if one block has all of a column.
WHOLE = 1


def _join(count, centre, spread, more, middle, around):
    """The number, the mean and the squared distances of the union of two sets of elements."""
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
    """The joint result of a column's threads, for the first of them: squared distances, mean, sum."""
    index = np.uint64(thread)
    counts[index], centres[index], spreads[index], totals[index] = count, centre, spread, total
    half = depth >> 1
    while half:
        wait(depth * apart)
        if level < half:
            other = np.uint64(thread + half * apart)
            if counts[other] > T(0):
                count, centre, spread = _join(count, centre, spread, counts[other], centres[other], spreads[other])
                total += totals[other]
                counts[index], centres[index], spreads[index], totals[index] = count, centre, spread, total
        half >>= 1
    return spread, centre, total


def moments_axis(x, columns, length, inner, shift, depth, pieces, piece_size, divisor, out: Out, means: Out):
    """The variance and the mean of each column if ``WHOLE``.

    Otherwise ``out[c, p]`` is three numbers for piece ``p`` of column ``c``: squared distances, mean and sum.
    """
    counts = cuda.shared.array(THREADS, T)
    centres = cuda.shared.array(THREADS, T)
    spreads = cuda.shared.array(THREADS, T)
    totals = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, apart, column, piece = share_of_column(thread, shift, inner, pieces)
    count, centre, spread, total = T(0), T(0), T(0), T(0)
    at, gap, end, between = elements(level, depth, inner, length, piece, piece_size)
    if column < columns and at < end:
        base = column_start(column, length, inner)
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
    if level == 0 and column < columns:
        if WHOLE:
            out[column] = finish(spread, T(0), T(divisor))
            means[column] = divide(total, T(length))
        else:
            target = (column * pieces + piece) * 3
            out[target], out[target + 1], out[target + 2] = spread, centre, total


def join_moments(
    moments, columns, length, pieces, piece_size, members, first, step, shift, depth, divisor, out: Out, means: Out
):  # fmt: skip
    """The variance and the mean of sets of columns of ``length`` elements, from those of the columns' pieces.

    The last piece of a column may be shorter.  Set ``r`` has ``members`` columns, from number ``r * first`` on by
    ``step``.
    """
    counts = cuda.shared.array(THREADS, T)
    centres = cuda.shared.array(THREADS, T)
    spreads = cuda.shared.array(THREADS, T)
    totals = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, apart, column, _ = share_of_column(thread, shift, 1, 1)
    count, centre, spread, total = T(0), T(0), T(0), T(0)
    if column < columns:
        for part in range(level, members * pieces, depth):
            member = np.int64(quotient(part, pieces))
            piece = part - member * pieces
            source = ((column * first + member * step) * pieces + piece) * 3
            more = T(min(length - piece * piece_size, piece_size))
            if part == level:
                centre = moments[source + 1]
            count, centre, spread = _join(count, centre, spread, more, moments[source + 1], moments[source])
            total += moments[source + 2]
    spread, centre, total = _tree(
        counts, centres, spreads, totals, thread, level, depth, apart, count, centre, spread, total
    )
    if level == 0 and column < columns:
        out[column] = finish(spread, T(0), T(divisor))
        means[column] = divide(total, T(members * length))
