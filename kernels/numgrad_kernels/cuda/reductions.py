"""Reductions over one axis of arrays seen as (outer, length, inner), on GPUs: sums, products, extremes, norms.

What is put together, and how, are the ``term`` and the ``fold`` of the CPU's reductions.  ``columns`` are the results
there are: the pairs of a place on the outer axis and one on the inner.  Several threads share a column, ``depth`` of
them, each with four accumulators; what they find is folded in a binary tree.  Where the inner axis has one place,
neighbouring threads read neighbouring places of the length; elsewhere they read neighbouring columns.  Where columns
are few, several blocks share them: each folds ``stretch`` places, and the same kernel folds what they find.  The order
depends on the sizes alone, so that the result is the same at every run, on every GPU.
"""

from __future__ import annotations

import numpy as np

from ..cpu.reductions import fold, term
from ..scalar import divide, isinf, log, pow, sqrt, where
from .adapter import cuda

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256

# -- the parameter of a column's terms --------------------------------------------------------------------------------


def given(parameters, number, place):
    """The one number for all columns."""
    return number


def own(parameters, number, place):
    """The column's own."""
    return parameters[place]


# -- what becomes of a column's total ---------------------------------------------------------------------------------


def finish(total, parameter, divisor):
    """It is the result."""
    return total


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


def fold_axis(
    x, columns, length, inner, shift, depth, pieces, stretch, parameters, number, initial, divisor, out
):
    """``out[c, p]`` is what piece ``p`` of column ``c`` of ``x`` folds to.

    A block has ``THREADS / depth`` columns; ``shift`` is the logarithm to the base 2 of how many of its threads lie
    next to each other in memory: those of a column if ``inner`` is 1, or else those of neighbouring columns.
    """
    part = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    near, far = thread & ((1 << shift) - 1), thread >> shift
    if inner == 1:
        level, column, apart, width = near, far, 1, THREADS >> shift
    else:
        level, column, apart, width = far, near, 1 << shift, 1 << shift
    piece = cuda.blockIdx.x % pieces
    place = cuda.blockIdx.x // pieces * width + column
    one, two, three, four = T(initial), T(initial), T(initial), T(initial)
    parameter = T(number)
    if place < columns:
        parameter = given(parameters, T(number), place)
        base = place * length
        if inner > 1:
            base = place // inner * length * inner + place % inner
        at = piece * stretch + level
        end = min(length, (piece + 1) * stretch)
        step = depth * inner
        while at + 3 * depth < end:
            here = base + at * inner
            one = fold(one, term(x[here], parameter))
            two = fold(two, term(x[here + step], parameter))
            three = fold(three, term(x[here + 2 * step], parameter))
            four = fold(four, term(x[here + 3 * step], parameter))
            at += 4 * depth
        here = base + at * inner
        if at < end:
            one = fold(one, term(x[here], parameter))
        if at + depth < end:
            two = fold(two, term(x[here + step], parameter))
        if at + 2 * depth < end:
            three = fold(three, term(x[here + 2 * step], parameter))
    part[np.uint64(thread)] = fold(fold(one, two), fold(three, four))
    half = depth >> 1
    while half:
        cuda.syncthreads()
        if level < half:
            other = np.uint64(thread + half * apart)
            part[np.uint64(thread)] = fold(part[np.uint64(thread)], part[other])
        half >>= 1
    if level == 0 and place < columns:
        out[place * pieces + piece] = finish(part[np.uint64(thread)], parameter, T(divisor))
