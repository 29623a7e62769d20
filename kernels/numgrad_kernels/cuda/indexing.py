"""Reading and writing the elements at given indices, on a GPU; see ``cpu/indexing.py`` for the parameters.

A kernel over rows of ``inner`` contiguous elements has ``1 << shift`` threads for each, as many as the row has elements
or half of that, so that neighbouring threads access neighbouring elements of long rows and of short ones.  Inner loops
do not use ``range``, which would divide to compute its length.

An index that is out of range is not used: it is noted in ``report``, as (flag, index, bounds), and the element that
it would have read is 0.
"""

from __future__ import annotations

import numpy as np

from ..facts import InOut, Out
from .adapter import cuda
from .language import as_number, as_word, atomic_add, compare_and_swap, quotient

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def floor_divide(number, divisor):
    """``number // divisor`` of non-negative numbers."""
    return np.int64(np.uint64(number) // np.uint64(divisor))


def floor_divide32(number, divisor):
    """``number // divisor`` of non-negative numbers below 2**32, in a fraction of the time."""
    return np.int64(quotient(np.uint64(number), np.uint64(divisor)))


def note(report, index, low, high):
    """Report an index that is not in [low, high), unless there is a report already."""
    if report[0] == 0:
        report[1] = index
        report[2] = low
        report[3] = high
        cuda.threadfence_system()
        report[0] = 1


def find_outside(indices, count, low, high, report: InOut):
    """Report indices that are not in [low, high)."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        index = np.int64(indices[i])
        if index < low or index >= high:
            note(report, index, low, high)


def take_rows(
    x, start, outer_step, indices, index_step, low, size, inner_step, rows, count, inner, shift, out: Out, report: InOut
):  # fmt: skip
    """``out[o, j, c]`` is the element of ``x`` at index number ``j``; there are ``rows`` pairs of ``o`` and ``j``.

    Indices are in [low, size); negative ones count from the end.
    """
    lanes = 1 << shift
    lane = cuda.grid(1) & (lanes - 1)
    for row in range(cuda.grid(1) >> shift, rows, cuda.gridsize(1) >> shift):
        o = floor_divide(row, count)
        signed = indices[row - o * count]
        index = signed + size if signed < 0 else signed
        target = row * inner
        if signed >= low and signed < size:
            source = start + o * outer_step + index * index_step
            c = lane
            while c < inner:
                out[target + c] = x[source + c * inner_step]
                c += lanes
        else:
            c = lane
            while c < inner:
                out[target + c] = T(0)
                c += lanes
            if lane == 0:
                note(report, signed, low, size)


def put_rows(
    values, value_outer, value_step, value_inner, start, outer_step, indices, index_step, low, size, inner_step, rows,
    count, inner, shift, out: InOut, report: InOut
):  # fmt: skip
    """``put`` ``values[o * value_outer + j * value_step + c * value_inner]`` at index number ``j`` of ``out``.

    Indices are in [low, size); negative ones count from the end.
    """
    lanes = 1 << shift
    lane = cuda.grid(1) & (lanes - 1)
    for row in range(cuda.grid(1) >> shift, rows, cuda.gridsize(1) >> shift):
        o = floor_divide(row, count)
        j = row - o * count
        signed = indices[j]
        index = signed + size if signed < 0 else signed
        if signed >= low and signed < size:
            target = start + o * outer_step + index * index_step
            source = o * value_outer + j * value_step
            c = lane
            while c < inner:
                put(out, target + c * inner_step, values[source + c * value_inner])
                c += lanes
        elif lane == 0:
            note(report, signed, low, size)


def put(out, offset, value):
    """Overwrite an element."""
    out[offset] = T(value)


def add(out, offset, value):
    """Add to an element that no other thread writes to."""
    out[offset] = T(out[offset] + value)


def add_together(out, offset, value):
    """Add to an element that other threads may be adding to."""
    atomic_add(out, offset, T(value))


def add_parts_together(out, offset, value):
    """Add a complex number, as two parts, to one in ``out``, a row of real numbers."""
    number = T(value)
    atomic_add(out, 2 * offset, number.real)
    atomic_add(out, 2 * offset + 1, number.imag)


def fold_together(out, offset, value):
    """Combine an element and a value by ``together``, while other threads may do the same.

    ``out`` has the elements' bits.  The update is retried until no other thread has changed the element meanwhile.
    """
    number = T(value)
    seen = out[offset]
    going = True
    while going:
        replacement = as_word(together(as_number(seen, T), number))
        going = replacement != seen
        if going:
            previous = compare_and_swap(out, offset, seen, replacement)
            going = previous != seen
            seen = previous


def wrap_indices(indices, count, size, out: Out, report: InOut):
    """The indices counted from the front; ``size`` for one that is out of range."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        signed = indices[i]
        index = signed + size if signed < 0 else signed
        if index >= 0 and index < size:
            out[i] = index
        else:
            out[i] = size
            note(report, signed, -size, size)


def put_in_order(
    values, value_outer, value_step, value_inner, start, outer_step, indices, order, index_step, size, inner_step,
    rows, count, inner, shift, out: InOut
):  # fmt: skip
    """``out`` at each index is combined by ``together`` with the values for that index, from the first to the last.

    The ``indices`` are sorted; ``order`` contains the position that each had before.  Those of ``size`` or more are
    skipped.
    """
    lanes = 1 << shift
    lane = cuda.grid(1) & (lanes - 1)
    for row in range(cuda.grid(1) >> shift, rows, cuda.gridsize(1) >> shift):
        o = floor_divide(row, count)
        first = row - o * count
        index = indices[first]
        begins = index < size
        if first > 0 and indices[first - 1] == index:
            begins = False
        if begins:
            last = _run_end(indices, first, count)
            target = start + o * outer_step + index * index_step
            c = lane
            while c < inner:
                source = o * value_outer + c * value_inner
                total = T(out[target + c * inner_step])
                for j in range(first, last):
                    total = together(total, T(values[source + order[j] * value_step]))
                out[target + c * inner_step] = total
                c += lanes


def _run_end(indices, first, count):
    """The end of the run of equal indices that begins at ``first``; most runs are short, but some may be very long."""
    index = indices[first]
    low, high, step = first + 1, first + 1, 1
    while high < count and indices[high] == index:
        low = high + 1
        step *= 2
        high += step
    high = min(high, count)
    while low < high:
        middle = (low + high) // 2
        if indices[middle] == index:
            low = middle + 1
        else:
            high = middle
    return low


def together(total, value):
    """The sum."""
    return T(total + value)


def multiplied(total, value):
    """The product."""
    return T(total * value)


def later(total, value):
    """The second one."""
    return value


def larger(total, value):
    """The larger one; NaN is larger than everything."""
    return value if value != value or value > total else total


def smaller(total, value):
    """The smaller one; NaN is smaller than everything."""
    return value if value != value or value < total else total


def axis_offset(i, index, length, width, inner):
    """The offset of the element of (outer, length, inner) for index number ``i`` of (outer, width, inner) indices."""
    o = floor_divide(i, width * inner)
    c = np.int64(0) if inner == 1 else i - floor_divide(i, inner) * inner
    return (o * length + index) * inner + c


def gather_axis(x, indices, count, length, width, inner, out: Out, report: InOut):
    """``out[o, j, c]`` is ``x[o, indices[o, j, c], c]``; ``length`` and ``width`` are extents of the middle axis."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        index = indices[i]
        if index >= 0 and index < length:
            out[i] = x[axis_offset(i, index, length, width, inner)]
        else:
            out[i] = T(0)
            note(report, index, 0, length)


def scatter_axis(values, value_step, indices, count, length, width, inner, out: InOut, report: InOut):
    """``put`` ``values[o, j, c]`` at ``out[o, indices[o, j, c], c]``; a ``value_step`` of 0 is for a single value."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        index = indices[i]
        if index >= 0 and index < length:
            put(out, axis_offset(i, index, length, width, inner), values[i * value_step])
        else:
            note(report, index, 0, length)


def scatter_offsets(indices, count, length, width, inner, size, out: Out, report: InOut):
    """The offset of each index of ``scatter_axis`` in the row of ``size`` elements; ``size`` if it is out of range."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        index = indices[i]
        if index >= 0 and index < length:
            out[i] = axis_offset(i, index, length, width, inner)
        else:
            out[i] = size
            note(report, index, 0, length)
