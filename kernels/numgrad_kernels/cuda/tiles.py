"""Products of rows as tiles in shared memory, and products of tiles with rows, which are added to rows.

Rows that are at most as long as a tile, or two, are kept in registers meanwhile (``held``).

A block's threads form a square of SIDE by SIDE, each at ``across`` on a ``line``.  Each has 4 x 4 elements of a tile,
four rows from row ``4 * across`` and four columns from column ``4 * line``.  Tiles are transposed, so that neighbouring
threads access neighbouring elements, and four elements are read at once.
"""

from __future__ import annotations

import numpy as np

from .adapter import cuda

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholders: the side of the square, that of a tile, and the step from line to line of a tile in shared memory,
#: which is slightly larger to spread the lines over its banks.
SIDE = 16
TILE = 64
PITCH = 68


def square(thread):
    """The position of a thread in the square: its line, and its place across."""
    return np.int64(np.uint64(thread) // np.uint64(SIDE)), np.int64(np.uint64(thread) % np.uint64(SIDE))


def adjacent4(part, at):
    """Four contiguous elements in shared memory."""
    return part[at], part[at + np.uint64(1)], part[at + np.uint64(2)], part[at + np.uint64(3)]


def tile_of_products(tile, left, right, line, across, x, x_start, x_step, rows, y, y_start, y_step, columns, width):
    """The products of ``rows`` rows of ``x`` and ``columns`` rows of ``y``, as a tile."""
    sums = zeros()
    for start in range(0, width, SIDE):
        cuda.syncthreads()
        _stage(left, x, x_start + start, across, 1, width - start, line, x_step, rows)
        _stage(right, y, y_start + start, across, 1, width - start, line, y_step, columns)
        cuda.syncthreads()
        sums = _multiplied(sums, left, np.uint64(across), right, np.uint64(line))
    at = np.uint64(4 * line * PITCH + 4 * across)
    put4(tile, at, 1, sums[0], sums[1], sums[2], sums[3])
    put4(tile, at + np.uint64(PITCH), 1, sums[4], sums[5], sums[6], sums[7])
    put4(tile, at + np.uint64(2 * PITCH), 1, sums[8], sums[9], sums[10], sums[11])
    put4(tile, at + np.uint64(3 * PITCH), 1, sums[12], sums[13], sums[14], sums[15])


def with_products(held, tile, right, line, across, y, y_start, y_step, columns, width, offset):
    """Sums plus the products of a tile and the elements from ``offset`` of ``columns`` rows of ``y``."""
    for start in range(0, columns, SIDE):
        cuda.syncthreads()
        first = y_start + start * y_step + offset
        _stage(right, y, first, line, y_step, columns - start, across, 1, width - offset)
        cuda.syncthreads()
        held = _multiplied(held, tile, np.uint64(start * (PITCH // 4) + across), right, np.uint64(line))
    return held


def shrunk(held, a, b, c, d):
    """Sums multiplied by a number for each of their four rows."""
    t00, t01, t02, t03, t10, t11, t12, t13, t20, t21, t22, t23, t30, t31, t32, t33 = held
    return (
        t00 * a, t01 * b, t02 * c, t03 * d, t10 * a, t11 * b, t12 * c, t13 * d,
        t20 * a, t21 * b, t22 * c, t23 * d, t30 * a, t31 * b, t32 * c, t33 * d,
    )  # fmt: skip


def write_held(held, out, out_start, out_step, rows, width, offset, line, across):
    """Write sums to the elements from ``offset`` of ``rows`` rows of ``out``."""
    row = 4 * across
    target = out_start + row * out_step + offset + 4 * line
    left = width - offset - 4 * line
    if row < rows:
        _write4(out, target, left, held[0], held[4], held[8], held[12])
    if row + 1 < rows:
        _write4(out, target + out_step, left, held[1], held[5], held[9], held[13])
    if row + 2 < rows:
        _write4(out, target + 2 * out_step, left, held[2], held[6], held[10], held[14])
    if row + 3 < rows:
        _write4(out, target + 3 * out_step, left, held[3], held[7], held[11], held[15])


def _write4(out, offset, left, a, b, c, d):
    """Write four elements, or the ``left`` remaining ones of the row."""
    if left > 0:
        out[offset] = a
    if left > 1:
        out[offset + 1] = b
    if left > 2:
        out[offset + 2] = c
    if left > 3:
        out[offset + 3] = d


def add_products(
    tile, right, line, across, y, y_start, y_step, columns, width, out, out_start, out_step, rows, shrinks, shrinking
):  # fmt: skip
    """Add the products of a tile and ``columns`` rows of ``y`` to ``rows`` rows of ``out``.

    If ``shrinking``, each row of ``out`` is first multiplied by its number in ``shrinks``.
    """
    for offset in range(0, width, TILE):
        sums = with_products(zeros(), tile, right, line, across, y, y_start, y_step, columns, width, offset)
        row = 4 * across
        target = out_start + row * out_step + offset + 4 * line
        left = width - offset - 4 * line
        first_row = np.uint64(row)
        if row < rows:
            shrink = shrinks[first_row] if shrinking else T(1)
            _add4(out, target, left, shrink, sums[0], sums[4], sums[8], sums[12])
        if row + 1 < rows:
            shrink = shrinks[first_row + np.uint64(1)] if shrinking else T(1)
            _add4(out, target + out_step, left, shrink, sums[1], sums[5], sums[9], sums[13])
        if row + 2 < rows:
            shrink = shrinks[first_row + np.uint64(2)] if shrinking else T(1)
            _add4(out, target + 2 * out_step, left, shrink, sums[2], sums[6], sums[10], sums[14])
        if row + 3 < rows:
            shrink = shrinks[first_row + np.uint64(3)] if shrinking else T(1)
            _add4(out, target + 3 * out_step, left, shrink, sums[3], sums[7], sums[11], sums[15])


def _add4(out, offset, left, shrink, a, b, c, d):
    """Add to four elements, or to the ``left`` remaining ones of the row."""
    if left > 0:
        out[offset] = out[offset] * shrink + a
    if left > 1:
        out[offset + 1] = out[offset + 1] * shrink + b
    if left > 2:
        out[offset + 2] = out[offset + 2] * shrink + c
    if left > 3:
        out[offset + 3] = out[offset + 3] * shrink + d


def _stage(part, x, start, line, line_step, line_count, other, other_step, other_count):
    """Load SIDE lines of a tile into shared memory, with zeros beyond the end of either axis.

    A thread loads four elements of line ``line``: the elements ``other + i * SIDE`` for ``i`` from 0 to 3.
    """
    offset = start + min(line, line_count - 1) * line_step
    a = x[offset + min(other, other_count - 1) * other_step]  # all four loads are issued before one is waited for
    b = x[offset + min(other + SIDE, other_count - 1) * other_step]
    c = x[offset + min(other + 2 * SIDE, other_count - 1) * other_step]
    d = x[offset + min(other + 3 * SIDE, other_count - 1) * other_step]
    count = other_count if line < line_count else 0
    a = a if other < count else T(0)
    b = b if other + SIDE < count else T(0)
    c = c if other + 2 * SIDE < count else T(0)
    d = d if other + 3 * SIDE < count else T(0)
    put4(part, np.uint64(line * PITCH + other), SIDE, a, b, c, d)


def put4(part, at, step, a, b, c, d):
    """Write four elements in shared memory, a step apart."""
    part[at] = a
    part[at + np.uint64(step)] = b
    part[at + np.uint64(2 * step)] = c
    part[at + np.uint64(3 * step)] = d


def zeros():
    """Sixteen sums, for a thread's elements of a tile."""
    zero = T(0)
    return zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero


def _multiplied(sums, left, i, right, j):
    """The sums plus SIDE products each, of the elements in shared memory from ``left[4 * i]`` and ``right[4 * j]``.

    They are in the order of a transposed tile: those of one column and four rows first.
    """
    t00, t01, t02, t03, t10, t11, t12, t13, t20, t21, t22, t23, t30, t31, t32, t33 = sums
    i = i << np.uint64(2)
    j = j << np.uint64(2)
    for _ in range(SIDE):
        a0, a1, a2, a3 = adjacent4(left, i)
        b0, b1, b2, b3 = adjacent4(right, j)
        t00, t01, t02, t03 = t00 + a0 * b0, t01 + a1 * b0, t02 + a2 * b0, t03 + a3 * b0
        t10, t11, t12, t13 = t10 + a0 * b1, t11 + a1 * b1, t12 + a2 * b1, t13 + a3 * b1
        t20, t21, t22, t23 = t20 + a0 * b2, t21 + a1 * b2, t22 + a2 * b2, t23 + a3 * b2
        t30, t31, t32, t33 = t30 + a0 * b3, t31 + a1 * b3, t32 + a2 * b3, t33 + a3 * b3
        i += np.uint64(PITCH)
        j += np.uint64(PITCH)
    return t00, t01, t02, t03, t10, t11, t12, t13, t20, t21, t22, t23, t30, t31, t32, t33
