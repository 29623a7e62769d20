"""Reading and writing the elements at given indices.

A tensor is read through its storage ``x``: element ``[o, j, c]`` of the indexed part is at ``start`` plus
``outer_step * o``, ``index_step * indices[j]`` and ``inner_step * c``.  Indices are in [low, size): if ``low`` is
``-size`` and not 0, a negative index counts from the end.  The other side is dense: (outer, indices, inner).

The owner of an index can change it after any check, so kernels check the number that they use.  An index that leads
outside is not followed, and ``wrong[0]`` becomes true.  Kernels that update existing elements check all indices first,
and write nothing if one is out of range.  Indices are integers, and the lengths of the rows match.

If several indices are equal, the writes to that element happen in the order of the indices, whatever the number of
threads: a piece of the work processes all indices (``chunk`` is their number) for a stripe of ``columns``.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import InOut, Out, Report, reaches

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Indices that are checked together.
PIECE = 16384


def find_outside(indices, low, high, out: Report):
    """For each PIECE indices, set ``out`` to True if one is not in [low, high)."""
    for piece in prange(out.size):
        out[piece] = _any_outside(indices[piece * PIECE : (piece + 1) * PIECE], low, high)


def _any_outside(indices, low, high):
    smallest = largest = low
    for i in range(indices.size):
        smallest = min(smallest, indices[i])
        largest = max(largest, indices[i])
    return smallest < low or (largest >= high and indices.size > 0)


def fold_indices(first, first_size, second, size, flat_indices: Out, wrong: Report):
    """``first * size + second``: non-negative flat indices over dimensions of ``first_size`` and of ``size``.

    ``wrong[0]`` becomes true if an index of the first is out of range, ``wrong[1]`` if one of the second is.
    """
    for piece in prange((flat_indices.size + PIECE - 1) // PIECE):
        low, high = piece * PIECE, (piece + 1) * PIECE
        if _any_outside(first[low:high], -first_size, first_size):
            wrong[0] = True
        if _any_outside(second[low:high], -size, size):
            wrong[1] = True
        _fold(first[low:high], first_size, second[low:high], size, flat_indices[low:high])


def _fold(first, first_size, second, size, flat_indices):
    for i in range(flat_indices.size):
        row, column = first[i], second[i]
        row = row + first_size if row < 0 else row
        flat_indices[i] = row * size + (column + size if column < 0 else column)


def list_nonzero(x, shape, count, out: Out):
    """For each dimension of ``shape``, the indices of the ``count`` elements that are not zero."""
    position = 0
    for flat_index in range(x.size):
        if x[flat_index] != 0 and position < count:
            remaining = flat_index
            for dim in range(shape.size - 1, 0, -1):
                above = remaining // shape[dim]
                out[dim * count + position] = remaining - above * shape[dim]
                remaining = above
            if shape.size:
                out[position] = remaining
            position += 1


def inside(index, size):
    """True if an index counted from the front is below ``size``; as an unsigned number, a negative one is large."""
    return np.uint64(index) < np.uint64(size)


def _take(x, base, indices, step, low, size, out):
    """Read elements into ``out``; return True if all indices are inside.

    Branches cost less than reading another element instead of one outside, or adding ``size`` or 0 to each index.
    """
    good = True
    for i in range(out.size):
        index = indices[i]
        if inside(index, size):
            out[i] = x[base + index * step]
        elif low < 0 and inside(index + size, size):
            out[i] = x[base + (index + size) * step]
        else:
            good = False
    return good


def _copy(values, out):
    """Copy one row to another: a loop that vectorises."""
    for i in range(out.size):
        out[i] = values[i]


@reaches(lambda args: args.outer * args.indices.size * args.inner)
def take_rows(
    x, start, outer_step, indices, index_step, low, size, inner_step, outer, inner, chunk, out: Out, wrong: Report
):
    """``out[o, j, c]`` is the element of ``x`` at index number ``j``."""
    count = indices.size
    chunks = (count + chunk - 1) // chunk
    for piece in prange(outer * chunks):
        o = piece // chunks
        first = piece % chunks * chunk
        last = min(count, first + chunk)
        base = start + o * outer_step
        if inner == 1:
            rows = out[o * count + first : o * count + last]
            if not _take(x, base, indices[first:last], index_step, low, size, rows):
                wrong[0] = True
        else:
            for j in range(first, last):
                index = indices[j]
                index = index + size if low <= index < 0 else index
                if not inside(index, size):
                    wrong[0] = True
                    continue
                source = base + index * index_step
                target = (o * count + j) * inner
                if inner_step == 1:
                    _copy(x[source : source + inner], out[target : target + inner])
                else:
                    for c in range(inner):
                        out[target + c] = x[source + c * inner_step]


@reaches(lambda args: args.outer * args.indices.size * args.inner)
def put_rows(
    values, value_outer, value_step, value_inner, start, outer_step, indices, index_step, low, size, inner_step, outer,
    inner, chunk, columns, out: InOut, wrong: Report
):  # fmt: skip
    """``put`` ``values[o * value_outer + j * value_step + c * value_inner]`` at index number ``j`` of ``out``."""
    for piece in prange((indices.size + PIECE - 1) // PIECE):
        if _any_outside(indices[piece * PIECE : (piece + 1) * PIECE], low, size):
            wrong[0] = True
    count = indices.size
    chunks = (count + chunk - 1) // chunk
    stripes = (inner + columns - 1) // columns
    for piece in prange(0 if wrong[0] else outer * chunks * stripes):
        left = piece % stripes * columns
        right = min(inner, left + columns)
        first = piece // stripes % chunks * chunk
        o = piece // stripes // chunks
        base = start + o * outer_step
        last = min(count, first + chunk)
        if inner == 1:
            source = o * value_outer + first * value_step
            if not _put_each(values, source, value_step, base, indices[first:last], index_step, size, out):
                wrong[0] = True
            continue
        for j in range(first, last):
            index = indices[j]
            index = index + size if index < 0 else index
            if not inside(index, size):
                wrong[0] = True
                continue
            target = base + index * index_step
            source = o * value_outer + j * value_step
            if inner_step == 1 and value_inner == 1:
                _put_row(values[source + left : source + right], out[target + left : target + right])
            else:
                for c in range(left, right):
                    out[target + c * inner_step] = put(out[target + c * inner_step], values[source + c * value_inner])


def put(present, value):
    """Return the new value of an element: the value."""
    return T(value)


def add(present, value):
    """Replacement of ``put``: the sum."""
    return T(present + value)


def _put_row(values, out):
    """Put one row into another: a loop that vectorises."""
    for i in range(out.size):
        out[i] = put(out[i], values[i])


def _put_each(values, source, value_step, base, indices, step, size, out):
    """Put one value at each index; return True if all indices are inside."""
    good = True
    for i in range(indices.size):
        index = indices[i]
        index = index + size if index < 0 else index
        if inside(index, size):
            target = base + index * step
            value = values[source + i * value_step]
            out[target] = put(out[target], value)
        else:
            good = False
    return good


@reaches(lambda args: args.indices.size)
def gather_axis(x, indices, length, width, inner, chunk, out: Out, wrong: Report):
    """``out[o, j, c]`` is ``x[o, indices[o, j, c], c]``; ``length`` and ``width`` are extents of the middle axis."""
    outer = x.size // max(length * inner, 1)
    chunks = (width + chunk - 1) // chunk
    for piece in prange(outer * chunks):
        o = piece // chunks
        first = piece % chunks * chunk
        base = o * length * inner
        low, high = (o * width + first) * inner, (o * width + min(width, first + chunk)) * inner
        if inner == 1:
            if not _gather(x[base : base + length], indices[low:high], out[low:high]):
                wrong[0] = True
        else:
            for row in range(low, high, inner):
                for c in range(inner):
                    index = indices[row + c]
                    if inside(index, length):
                        out[row + c] = x[base + index * inner + c]
                    else:
                        wrong[0] = True


def _gather(x, indices, out):
    """Gather elements into ``out``; return True if all indices are inside (see ``_take``)."""
    good = True
    for i in range(out.size):
        index = indices[i]
        if inside(index, x.size):
            out[i] = x[index]
        else:
            good = False
    return good


@reaches(lambda args: args.indices.size)
def scatter_axis(values, value_step, indices, length, width, inner, columns, mode, out: InOut, wrong: Report):
    """Store ``values[o, j, c]`` at ``out[o, indices[o, j, c], c]`` by ``combined`` with the ``mode``.

    ``value_step`` is 1, or 0 for a single value.
    """
    for piece in prange((indices.size + PIECE - 1) // PIECE):
        if _any_outside(indices[piece * PIECE : (piece + 1) * PIECE], 0, length):
            wrong[0] = True
    outer = out.size // max(length * inner, 1)
    stripes = (inner + columns - 1) // columns
    for piece in prange(0 if wrong[0] else outer * stripes):
        o = piece // stripes
        low = piece % stripes * columns
        base = o * length * inner
        if inner == 1 and value_step == 1:
            row = o * width
            if not _scatter(values[row : row + width], indices[row : row + width], mode, out[base : base + length]):
                wrong[0] = True
        else:
            for j in range(width):
                row = (o * width + j) * inner
                for c in range(low, min(inner, low + columns)):
                    index = indices[row + c]
                    if inside(index, length):
                        target = base + index * inner + c
                        out[target] = combined(out[target], values[(row + c) * value_step], mode)
                    else:
                        wrong[0] = True


def _scatter(values, indices, mode, out):
    """Combine values with the elements at the indices; return True if all indices are inside."""
    good = True
    for i in range(indices.size):
        index = indices[i]
        if inside(index, out.size):
            target = index
            out[target] = combined(out[target], values[i], mode)
        else:
            good = False
    return good


def combined(present, value, mode):
    """Return the new value of an element: the value (mode 0), the sum (1) or the product (2)."""
    if mode == 0:
        return T(value)
    return T(present + value) if mode == 1 else T(present * value)


def extreme(present, value, largest):
    """Replacement of ``combined``: the larger of the two, or the smaller; a NaN wins."""
    return value if value != value or (value > present if largest else value < present) else present
