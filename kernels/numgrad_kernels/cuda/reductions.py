"""Reductions over one axis of arrays seen as (outer, length, inner), on GPUs: sums, products, extremes, norms.

What is put together, and how, are the ``term`` and the ``fold`` of the CPU's reductions.  ``columns`` are the results
there are: the pairs of a place on the outer axis and one on the inner.  Several threads share a column, ``depth`` of
them, each with four accumulators; what they find is folded in a binary tree (see ``lines.py``).  Where the inner axis
has one place, neighbouring threads read neighbouring places of the length; elsewhere they read neighbouring columns.
Where columns are few, several blocks share them: each folds ``stretch`` places, and the same kernel folds what they
find.  The order depends on the sizes, and on whether four elements can be read at once, so that the result is the same
at every run, on every GPU.
"""

from __future__ import annotations

import numpy as np

from ..cpu.reductions import fold, term
from ..facts import Out
from ..scalar import divide, isinf, log, pow, sqrt, where
from .adapter import cuda
from .language import load4, quotient, rest
from .lines import PACKED, fold_line, position

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256

# -- the parameter of a column's terms --------------------------------------------------------------------------------


def given(parameters, number, place):
    """The one number for all columns."""
    return number


def own_parameter(parameters, number, place):
    """The column's own."""
    return parameters[place]


# -- what becomes of a column's total ---------------------------------------------------------------------------------


def finish(total, parameter, divisor):
    """It is the result."""
    return total


def truth(total, parameter, divisor):
    """Whether it is not 0, as a number."""
    return T(total != 0)


def share(total, parameter, divisor):
    """The quotient, as means and variances are; NaN for nothing divided by nothing."""
    return divide(total, divisor)


def share_of_complex(total, parameter, divisor):
    """The quotient of a complex number and a real one."""
    return T(complex(divide(total.real, divisor.real), divide(total.imag, divisor.real)))


def root_of_share(total, parameter, divisor):
    """The root of the quotient, as standard deviations are."""
    return sqrt(divide(total, divisor))


def root(total, parameter, divisor):
    """The root of a sum of squares."""
    return sqrt(total)


def to_the_power(total, parameter, exponent):
    """The power of a sum of powers."""
    return pow(total, exponent)


def finite(total, parameter, divisor):
    """The largest element, by which all are lessened; 0 if it is infinite."""
    return where(isinf(total), T(0), total)


def logarithm(total, parameter, divisor):
    """The logarithm of a sum of exponentials of what exceeds the parameter."""
    return log(total) + parameter


# -- the kernel -------------------------------------------------------------------------------------------------------


def read4(x, place, step):
    """Four elements from ``place``, ``step`` apart."""
    return x[place], x[place + step], x[place + 2 * step], x[place + 3 * step]


def read4_packed(x, place, step):
    """In place of :func:`read4` where ``step`` is 1 and four elements can be read at once."""
    return load4(x, np.uint64(place) >> np.uint64(2))


def fold_axis(x, columns, length, inner, shift, depth, pieces, stretch, parameters, number, initial, divisor, out: Out):
    """``out[c, p]`` is what piece ``p`` of column ``c`` of ``x`` folds to.

    ``1 << shift`` threads of a block lie next to each other in memory: those of a column if ``inner`` is 1, or else
    those of neighbouring columns.
    """
    part = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, column, apart = position(thread, shift, inner == 1)
    piece = np.int64(rest(cuda.blockIdx.x, pieces))
    place = np.int64(quotient(cuda.blockIdx.x, pieces)) * (THREADS >> shift if inner == 1 else 1 << shift) + column
    one, two, three, four = T(initial), T(initial), T(initial), T(initial)
    parameter = T(number)
    if place < columns:
        parameter = given(parameters, T(number), place)
        base = place * length
        if inner > 1:
            base = place // inner * length * inner + place % inner
        gap = 1 if PACKED else depth
        between = 1 if PACKED else inner
        step = gap * between
        at = piece * stretch + level * (4 if PACKED else 1)
        end = min(length, (piece + 1) * stretch)
        last = end - 3 * gap
        while at + 4 * depth < last:
            a, b, c, d = read4(x, base + at * between, step)
            e, f, g, h = read4(x, base + (at + 4 * depth) * between, step)
            one = fold(fold(one, term(a, parameter)), term(e, parameter))
            two = fold(fold(two, term(b, parameter)), term(f, parameter))
            three = fold(fold(three, term(c, parameter)), term(g, parameter))
            four = fold(fold(four, term(d, parameter)), term(h, parameter))
            at += 8 * depth
        if at < last:
            a, b, c, d = read4(x, base + at * between, step)
            one = fold(one, term(a, parameter))
            two = fold(two, term(b, parameter))
            three = fold(three, term(c, parameter))
            four = fold(four, term(d, parameter))
            at += 4 * depth
        if at < end:
            one = fold(one, term(x[base + at * between], parameter))
        if at + gap < end:
            two = fold(two, term(x[base + at * between + step], parameter))
        if at + 2 * gap < end:
            three = fold(three, term(x[base + at * between + 2 * step], parameter))
    total = fold_line(fold, part, thread, level, depth, apart, fold(fold(one, two), fold(three, four)))
    if level == 0 and place < columns:
        out[place * pieces + piece] = finish(total, parameter, T(divisor))
