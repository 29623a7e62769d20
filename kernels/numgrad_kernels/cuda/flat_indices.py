"""Flat indices on a GPU: combined from several dimensions' indices, split into these, or found for nonzero elements."""

from __future__ import annotations

import numpy as np

from ..cpu.reductions import term
from ..facts import InOut, Out
from .adapter import cuda
from .indexing import floor_divide, note
from .language import atomic_add

#: Placeholder: the dtype that the kernel computes in.
T = np.int64

#: Threads of a block.
THREADS = 256

#: Neighbouring elements that one thread reads.
ITEMS = 8


# -- several dimensions --------------------------------------------------------------------------------------------


def fold_indices(indices, count, size, flat: InOut):
    """``flat * size + indices``, in place: extend non-negative flat indices by a further dimension of ``size``."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        index = indices[i]
        flat[i] = flat[i] * size + (index + size if index < 0 else index)


def coordinates(flat, count, step, size, out: Out):
    """The index of each flat index in the dimension of ``size`` in which neighbours are ``step`` apart."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        number = floor_divide(flat[i], step)
        out[i] = number - floor_divide(number, size) * size


def add_offsets(flat, count, total, step, size, stride, out: InOut, report: InOut):
    """Add the index in one dimension (see ``coordinates``) times ``stride``; negative ones count from the end."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        signed = flat[i]
        index = signed + total if signed < 0 else signed
        if index >= 0 and index < total:
            number = floor_divide(index, step)
            out[i] += (number - floor_divide(number, size) * size) * stride
        else:
            note(report, signed, -total, total)


def add_range_offsets(count, step, size, stride, out: InOut):
    """Add to each element its index in one dimension of the row (see ``coordinates``) times ``stride``."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        number = floor_divide(i, step)
        out[i] += (number - floor_divide(number, size) * size) * stride


def add_at(values, indices, count, out: InOut):
    """Add to each element the value at its index."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        out[i] += values[indices[i]]


def count_indices(indices, count, size, totals: InOut, report: InOut):
    """Count how often each index occurs."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        index = indices[i]
        if index >= 0 and index < size:
            atomic_add(totals, index, np.int64(1))
        else:
            note(report, index, 0, size)


def at_least(numbers: InOut, count, low):
    """Raise numbers below ``low`` to ``low``."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        numbers[i] = max(numbers[i], low)


# -- positions ---------------------------------------------------------------------------------------------------------


def own_number(value, parameter):
    """Replacement of ``term``: the value is the number of times to list the index of an element."""
    return max(T(value), T(0))


def _sums_before(part, thread, value):
    """The sum of the values of the threads before this one; ``part`` becomes the sums up to each."""
    part[thread] = value
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        other = np.int64(0)
        if thread >= step:
            other = part[thread - step]
        cuda.syncthreads()
        part[thread] += other
        cuda.syncthreads()
        step *= 2
    return part[thread] - value


def weighted_indices(x, count, ends, out: Out):
    """The index of each element, repeated ``term`` times; the indices from a block end at its entry of ``ends``.

    A block has ``THREADS * ITEMS`` elements.
    """
    part = cuda.shared.array(THREADS, np.int64)
    thread = cuda.threadIdx.x
    block = np.int64(cuda.blockIdx.x)
    first = (block * THREADS + thread) * ITEMS
    last = min(first + ITEMS, count)
    total = np.int64(0)
    for i in range(first, last):
        total += term(x[i], T(0))
    before = _sums_before(part, thread, total)
    target = ends[block] - part[THREADS - 1] + before
    for i in range(first, last):
        times = term(x[i], T(0))
        for t in range(times):
            out[target + t] = i
        target += times


# -- triangles -----------------------------------------------------------------------------------------------------


def upper_before(row, width, offset):
    """The number of elements on and above a diagonal in the rows before ``row``."""
    whole = min(max(1 - offset, 0), row)  # rows completely above the diagonal
    partly = max(min(row, width - offset) - whole, 0)
    return whole * width + partly * (width - offset - whole) - partly * (partly - 1) // 2


def lower_before(row, width, offset):
    """The number of elements on and below a diagonal in the rows before ``row``."""
    without = min(max(-offset, 0), row)
    partly = max(min(row, width - offset - 1) - without, 0)
    whole = row - without - partly
    return partly * (without + offset + 1) + partly * (partly - 1) // 2 + whole * width


def triangle_indices(count, width, offset, upper, kept, out: Out):
    """The rows, then the columns, of the ``kept`` elements of a matrix of ``count`` on one side of a diagonal."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        row = floor_divide(i, width)
        column = i - row * width
        if upper and column - row >= offset:
            target = upper_before(row, width, offset) + column - max(row + offset, 0)
            out[target] = row
            out[kept + target] = column
        elif not upper and column - row <= offset:
            target = lower_before(row, width, offset) + column
            out[target] = row
            out[kept + target] = column
