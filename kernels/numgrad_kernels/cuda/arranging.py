"""Elements put in their places on a GPU: joined, cleared."""

from __future__ import annotations

import numpy as np

from .adapter import cuda
from .indexing import over

#: Placeholder: the dtype of the elements.
T = np.float32


def join_rows(a, a_width, b, b_width, c, c_width, d, d_width, outer, stride, start, out):
    """Write ``outer`` rows of each of four rows of rows beside each other to ``out``.

    The rows of ``out`` are ``stride`` elements long, and are written to from element ``start`` of each on.
    """
    _copy_part(a, a_width, outer, stride, start, out)
    _copy_part(b, b_width, outer, stride, start + a_width, out)
    _copy_part(c, c_width, outer, stride, start + a_width + b_width, out)
    _copy_part(d, d_width, outer, stride, start + a_width + b_width + c_width, out)


def _copy_part(x, width, outer, stride, start, out):
    for i in range(cuda.grid(1), outer * width, cuda.gridsize(1)):
        o = over(i, width)
        out[o * stride + start + i - o * width] = x[i]


def clear_triangle(x, start, steps, row_step, column_step, rows, columns, count, diagonal, above):
    """Zero what lies above, or below, a diagonal of matrices that are ``steps`` apart, ``count`` elements in all."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        row = over(i, columns)
        column = i - row * columns
        matrix = over(row, rows)
        row -= matrix * rows
        if column - row > diagonal if above else column - row < diagonal:
            x[start + matrix * steps + row * row_step + column * column_step] = T(0)
