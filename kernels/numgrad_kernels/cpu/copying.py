"""Copying, joining and filling rows: elements are copied from one layout to another in runs of neighbours."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Part, reaches

#: Approximate number of elements that one piece of the work copies.
PIECE = 16384

#: Placeholder: the dtype of the elements.
T = np.float32


@reaches(lambda args: args.outer * args.middle * args.rows * args.width)
def copy_runs(
    x, start, x_outer, x_middle, x_row, x_step, out: Part, target, out_outer, out_middle, out_row, outer, middle, rows,
    width
):  # fmt: skip
    """``out[o, m, r, i]`` is ``x[o, m, r, i]``, of extents ``outer``, ``middle``, ``rows`` and ``width``.

    The elements of ``x`` begin at ``start`` and are ``x_outer`` apart for each ``o``, ``x_middle`` for each ``m``,
    ``x_row`` for each ``r`` and ``x_step`` for each ``i``: 1, or 0 for a repeated element.  Those of ``out`` begin
    at ``target`` in the same way, and are contiguous in ``i``.
    """
    some = max(1, PIECE // width)
    groups = (rows + some - 1) // some
    chunks = (width + PIECE - 1) // PIECE
    for piece in prange(outer * middle * groups * chunks):
        low = piece % chunks * PIECE
        high = min(width, low + PIECE)
        first = piece // chunks % groups * some
        line = piece // chunks // groups
        source = start + line // middle * x_outer + line % middle * x_middle
        line_start = target + line // middle * out_outer + line % middle * out_middle + low
        for row in range(first, min(rows, first + some)):
            begin = line_start + row * out_row
            if x_step:
                _copy(x[source + row * x_row + low : source + row * x_row + high], out[begin : begin + high - low])
            else:
                _repeat(x[source + row * x_row], out[begin : begin + high - low])


def _copy(values, out):
    for i in range(out.size):
        out[i] = values[i]


def _repeat(value, out):
    for i in range(out.size):
        out[i] = value


@reaches(lambda args: args.outer * (args.x_width + args.y_width))
def join_rows(x, x_start, x_step, x_width, y, y_start, y_step, y_width, outer, stride, start, out: Part):
    """Write ``outer`` rows from each of two arrays next to each other to ``out``.

    The rows of ``x`` are ``x_step`` elements apart, and the rows of ``y`` are ``y_step`` elements apart.  The rows of
    ``out`` are ``stride`` elements long, and each is written from its element ``start`` on.
    """
    for o in range(outer):
        target = start + o * stride
        begin = x_start + o * x_step
        for i in range(x_width):
            out[target + i] = x[begin + i]
        target += x_width
        begin = y_start + o * y_step
        for i in range(y_width):
            out[target + i] = y[begin + i]


@reaches(lambda args: args.matrices * args.rows * args.columns)
def keep_triangle(
    x, start, x_step, x_row, x_column, out: Part, target, out_step, out_row, out_column, matrices, rows, columns,
    diagonal, above
):  # fmt: skip
    """``out[m, r, c]`` is ``x[m, r, c]``, or 0 above (or below) a diagonal; either has its own start and steps."""
    for line in prange(matrices * rows):
        matrix = line // rows
        row = line - matrix * rows
        source = start + matrix * x_step + row * x_row
        line_start = target + matrix * out_step + row * out_row
        edge = row + diagonal
        for column in range(columns):
            kept = column <= edge if above else column >= edge
            value = x[source + column * x_column] if kept else T(0)
            out[line_start + column * out_column] = value
