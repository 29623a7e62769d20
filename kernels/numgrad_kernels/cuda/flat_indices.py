"""Flat indices on a GPU: made of indices of several dimensions, taken apart into these, found where elements are not 0.
"""

from __future__ import annotations

import numpy as np

from ..facts import InOut, Out
from .adapter import cuda
from .indexing import floor_divide, note
from .language import atomic_add

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Threads of a block.
THREADS = 256

#: Neighbouring elements that one thread looks at.
ITEMS = 8


# -- several dimensions --------------------------------------------------------------------------------------------


def fold_indices(indices, count, size, flat: InOut):
    """``flat * size + indices``, in place: a further dimension, of ``size``, of flat indices that are not negative."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        index = indices[i]
        flat[i] = flat[i] * size + (index + size if index < 0 else index)


def coordinates(flat, count, step, size, out: Out):
    """The index in the dimension of ``size`` in which neighbours are ``step`` apart, of each flat index."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        number = floor_divide(flat[i], step)
        out[i] = number - floor_divide(number, size) * size


def add_offsets(flat, count, total, step, size, stride, out: InOut, report: InOut):
    """Add the index in one dimension (see ``coordinates``) times ``stride``; below 0 it counts from the end."""
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
    """Raise numbers below ``low`` to that."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        numbers[i] = max(numbers[i], low)


# -- where something is --------------------------------------------------------------------------------------------


def total_weights(x, count, totals: Out):
    """The sum of the weights of each ``THREADS * ITEMS`` elements, which are one block's."""
    part = cuda.shared.array(THREADS, np.int64)
    thread = cuda.threadIdx.x
    block = np.int64(cuda.blockIdx.x)
    first = (block * THREADS + thread) * ITEMS
    total = np.int64(0)
    for i in range(first, min(first + ITEMS, count)):
        total += weight(x[i])
    part[thread] = total
    _sums_before(part, thread, total)
    if thread == THREADS - 1:
        totals[block] = part[thread]


def weight(value):
    """How often the index of an element is wanted: once if it is not zero."""
    return np.int64(1) if value != T(0) else np.int64(0)


def own_number(value):
    """As often as the element says."""
    return max(np.int64(value), np.int64(0))


def _sums_before(part, thread, own):
    """The sum of what the threads before this one have in ``part``, which then has the sums up to each."""
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
    return part[thread] - own


def scan_totals(totals: InOut, count):
    """Each total becomes the sum of those before it, and the one after the last that of all; by one block."""
    part = cuda.shared.array(THREADS, np.int64)
    thread = cuda.threadIdx.x
    length = (count + THREADS - 1) // THREADS
    first = min(thread * length, count)
    last = min(first + length, count)
    total = np.int64(0)
    for i in range(first, last):
        total += totals[i]
    part[thread] = total
    before = _sums_before(part, thread, total)
    for i in range(first, last):
        own = totals[i]
        totals[i] = before
        before += own
    if thread == THREADS - 1:
        totals[count] = before


def weighted_indices(x, count, starts, out: Out):
    """The index of each element as often as its weight; those of a block's elements begin at its ``starts``."""
    part = cuda.shared.array(THREADS, np.int64)
    thread = cuda.threadIdx.x
    block = np.int64(cuda.blockIdx.x)
    first = (block * THREADS + thread) * ITEMS
    last = min(first + ITEMS, count)
    total = np.int64(0)
    for i in range(first, last):
        total += weight(x[i])
    part[thread] = total
    target = starts[block] + _sums_before(part, thread, total)
    for i in range(first, last):
        times = weight(x[i])
        for t in range(times):
            out[target + t] = i
        target += times


# -- triangles -----------------------------------------------------------------------------------------------------


def upper_before(row, width, offset):
    """How many elements on and above a diagonal the rows before one have."""
    whole = min(max(1 - offset, 0), row)  # rows of which all is above it
    partly = max(min(row, width - offset) - whole, 0)
    return whole * width + partly * (width - offset - whole) - partly * (partly - 1) // 2


def lower_before(row, width, offset):
    """How many elements on and below a diagonal the rows before one have."""
    without = min(max(-offset, 0), row)
    partly = max(min(row, width - offset - 1) - without, 0)
    whole = row - without - partly
    return partly * (without + offset + 1) + partly * (partly - 1) // 2 + whole * width


def triangle_rows(count, width, offset, upper, kept, out: Out):
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
