"""Copying, joining and filling rows on a GPU."""

from __future__ import annotations

import numpy as np

from ..facts import Out, Part, reaches
from .adapter import cuda
from .indexing import floor_divide

#: Placeholder: the dtype of the elements, or the dtype in which the kernel computes.
T = np.float32


def join_rows(a, a_width, b, b_width, c, c_width, d, d_width, outer, stride, start, out: Out):
    """Write ``outer`` rows of each of four arrays next to each other to ``out``.

    The rows of ``out`` are ``stride`` elements long, and each is written from its element ``start`` on.
    """
    _copy_part(a, a_width, outer, stride, start, out)
    _copy_part(b, b_width, outer, stride, start + a_width, out)
    _copy_part(c, c_width, outer, stride, start + a_width + b_width, out)
    _copy_part(d, d_width, outer, stride, start + a_width + b_width + c_width, out)


def _copy_part(x, width, outer, stride, start, out):
    for i in range(cuda.grid(1), outer * width, cuda.gridsize(1)):
        o = floor_divide(i, width)
        out[o * stride + start + i - o * width] = x[i]


def keep_triangle(
    x, start, x_step, x_row, x_column, out: Out, target, out_step, out_row, out_column, rows, columns, count,
    diagonal, above
):  # fmt: skip
    """Copy matrices, ``count`` elements in all, with zeros above, or below, a diagonal.

    The matrices of ``x`` and ``out`` are ``x_step`` and ``out_step`` elements apart.
    """
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        row = floor_divide(i, columns)
        column = i - row * columns
        matrix = floor_divide(row, rows)
        row -= matrix * rows
        kept = column - row <= diagonal if above else column - row >= diagonal
        value = x[start + matrix * x_step + row * x_row + column * x_column] if kept else T(0)
        out[target + matrix * out_step + row * out_row + column * out_column] = value


#: Placeholders: threads in a block, the side of a tile, and the step from line to line of a tile in shared memory: one
#: more than the side, so that neither lines nor columns of a tile lie in the same bank.
THREADS, TILE, PITCH, ELEMENTS = 256, 32, 33, 1056


@reaches(lambda args: args.matrices * args.rows * args.columns)
def transpose(
    x, start, x_step, x_row, out: Part, target, out_step, out_column, rows, columns, matrices, across, tiles
):  # fmt: skip
    """Copy matrices, of which the elements of a row are adjacent in ``x`` and those of a column in ``out``.

    The matrices are ``x_step`` and ``out_step`` elements apart.  Each block copies one of the ``tiles`` of a matrix,
    ``across`` of which lie side by side, and reads and writes adjacent elements by adjacent threads.
    """
    tile = cuda.shared.array(ELEMENTS, T)
    near = cuda.threadIdx.x % TILE
    far = cuda.threadIdx.x // TILE
    matrix = np.int64(cuda.blockIdx.x) // tiles
    number = np.int64(cuda.blockIdx.x) - matrix * tiles
    row = number // across * TILE
    column = number % across * TILE
    source = start + matrix * x_step + row * x_row + column
    for line in range(far, min(TILE, rows - row), THREADS // TILE):
        if near < columns - column:
            tile[np.uint64(line * PITCH + near)] = x[source + line * x_row + near]
    cuda.syncthreads()
    source = target + matrix * out_step + column * out_column + row
    for line in range(far, min(TILE, columns - column), THREADS // TILE):
        if near < rows - row:
            out[source + line * out_column + near] = tile[np.uint64(near * PITCH + line)]


# -- equally spaced numbers --------------------------------------------------------------------------------------------


def count(start, step, size, out: Out):
    """Numbers from ``start``, ``step`` apart."""
    first, distance = T(start), T(step)
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[i] = first + T(i) * distance


def spread(start, end, step, size, out: Out):
    """Numbers from ``start`` to ``end``; each half is computed from its own end, so that both ends are exact."""
    first, last, distance = T(start), T(end), T(step)
    half = size // 2
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        if i < half:
            out[i] = first + T(i) * distance
        else:
            out[i] = last - T(size - 1 - i) * distance
