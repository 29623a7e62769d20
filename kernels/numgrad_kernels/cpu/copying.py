"""Elements copied from one layout in memory to another, both of which run through them in stretches."""

from __future__ import annotations

import numpy as np
from numba import prange

#: Elements that one piece of the work copies, about.
PIECE = 16384


def copy_stretches(
    x, start, x_outer, x_middle, x_row, x_step, out, target, out_outer, out_middle, out_row, outer, middle, rows, width
):  # fmt: skip
    """``out[o, m, r, i]`` is ``x[o, m, r, i]``, of extents ``outer``, ``middle``, ``rows`` and ``width``.

    In ``x`` it lies at ``start`` and ``x_outer`` for each ``o``, ``x_middle`` for each ``m``, ``x_row`` for each
    ``r``, ``x_step`` for each ``i``: 1, or 0 for an element that is repeated.  In ``out`` it lies likewise from
    ``target`` on, one ``i`` beside the next.
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
        place = target + line // middle * out_outer + line % middle * out_middle + low
        for row in range(first, min(rows, first + some)):
            begin = place + row * out_row
            if x_step:
                _copy(x[source + row * x_row + low : source + row * x_row + high], out[begin : begin + high - low])
            else:
                _repeat(x[source + row * x_row], out[begin : begin + high - low])


def _copy(values, out):
    for i in range(out.size):
        out[np.uint64(i)] = values[np.uint64(i)]


def _repeat(value, out):
    for i in range(out.size):
        out[np.uint64(i)] = value
