"""Products of matrices and of vectors without cuBLAS, for numbers of any dtype and strides of any size."""

from __future__ import annotations

import numpy as np

from ..facts import Out
from .adapter import cuda
from .lines import fold_line, sum_of

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: the threads of a block.
THREADS = 256

#: Placeholders: the side of the square of a block's threads, and of the tile that they compute, four times that.
SIDE = 16
TILE = 64

#: Placeholder: the part of the rows and columns that is in shared memory at a time.
DEPTH = 16

#: Placeholder: the elements of a tile in shared memory: DEPTH lines of TILE plus one, which spreads them over the
#: memory's banks.
AREA = 1040


def products(m, n, k, x, x_batch, x_down, x_right, y, y_batch, y_down, y_right, bias, biased, out: Out):
    """``out`` becomes the products of a stack of (m, k) and (k, n) matrices, with ``bias`` added to each row if any.

    ``x_batch``, ``x_down`` and ``x_right`` are the steps from matrix to matrix, row to row and column to column.
    A block computes one tile of the result: each thread 4 x 4 elements, whose rows and columns are SIDE apart.
    """
    left = cuda.shared.array(AREA, T)
    right = cuda.shared.array(AREA, T)
    thread = cuda.threadIdx.x
    across = (n + TILE - 1) // TILE
    down = (m + TILE - 1) // TILE
    tile = np.int64(cuda.blockIdx.x)
    matrix = tile // (across * down)
    top = tile // across % down * TILE
    first = tile % across * TILE
    row = thread // SIDE
    column = thread % SIDE
    t00 = t01 = t02 = t03 = T(0)
    t10 = t11 = t12 = t13 = T(0)
    t20 = t21 = t22 = t23 = T(0)
    t30 = t31 = t32 = t33 = T(0)
    for start in range(0, k, DEPTH):
        _stage(left, thread, x, matrix * x_batch + top * x_down + start * x_right, x_down, x_right, m - top, k - start)
        _stage(
            right, thread, y, matrix * y_batch + first * y_right + start * y_down, y_right, y_down, n - first, k - start
        )
        cuda.syncthreads()
        i = np.uint64(row)
        j = np.uint64(column)
        for _ in range(DEPTH):
            a0 = left[i]
            a1 = left[i + np.uint64(SIDE)]
            a2 = left[i + np.uint64(2 * SIDE)]
            a3 = left[i + np.uint64(3 * SIDE)]
            b0 = right[j]
            b1 = right[j + np.uint64(SIDE)]
            b2 = right[j + np.uint64(2 * SIDE)]
            b3 = right[j + np.uint64(3 * SIDE)]
            t00, t01, t02, t03 = t00 + a0 * b0, t01 + a0 * b1, t02 + a0 * b2, t03 + a0 * b3
            t10, t11, t12, t13 = t10 + a1 * b0, t11 + a1 * b1, t12 + a1 * b2, t13 + a1 * b3
            t20, t21, t22, t23 = t20 + a2 * b0, t21 + a2 * b1, t22 + a2 * b2, t23 + a2 * b3
            t30, t31, t32, t33 = t30 + a3 * b0, t31 + a3 * b1, t32 + a3 * b2, t33 + a3 * b3
            i += np.uint64(TILE + 1)
            j += np.uint64(TILE + 1)
        cuda.syncthreads()
    line = top + row
    target = first + column
    base = matrix * m * n
    _write(out, base, line, target, m, n, bias, biased, t00, t01, t02, t03)
    _write(out, base, line + SIDE, target, m, n, bias, biased, t10, t11, t12, t13)
    _write(out, base, line + 2 * SIDE, target, m, n, bias, biased, t20, t21, t22, t23)
    _write(out, base, line + 3 * SIDE, target, m, n, bias, biased, t30, t31, t32, t33)


def _stage(tile, thread, x, first, step, inner_step, width, depth):
    """Load a tile of a factor into shared memory, with zeros beyond its ``width`` lines of ``depth`` elements."""
    for number in range(thread, TILE * DEPTH, THREADS):
        line = np.int64(np.uint64(number) % np.uint64(TILE))  # single instructions, since they are unsigned
        inner = np.int64(np.uint64(number) // np.uint64(TILE))
        if inner_step == 1:  # neighbouring threads read contiguous elements
            line = np.int64(np.uint64(number) // np.uint64(DEPTH))
            inner = np.int64(np.uint64(number) % np.uint64(DEPTH))
        value = T(0)
        if line < width and inner < depth:
            value = x[first + line * step + inner * inner_step]
        tile[np.uint64(inner * (TILE + 1) + line)] = value


def _write(out, base, line, column, m, n, bias, biased, t0, t1, t2, t3):
    """Write four elements of a row of the result, SIDE apart, omitting those beyond its end."""
    if line < m:
        begin = base + line * n
        _put(out, begin, column, n, bias, biased, t0)
        _put(out, begin, column + SIDE, n, bias, biased, t1)
        _put(out, begin, column + 2 * SIDE, n, bias, biased, t2)
        _put(out, begin, column + 3 * SIDE, n, bias, biased, t3)


def _put(out, begin, column, n, bias, biased, total):
    if column < n:
        if biased:
            out[begin + column] = total + bias[column]
        else:
            out[begin + column] = total


def multiplied(a, b):
    """The term summed by ``row_products``: the product."""
    return a * b


def first(a, b):
    """Replacement of ``multiplied`` for a factor that is already multiplied."""
    return a


def row_products(x, x_down, x_right, y, y_step, k, parts, length, out: Out):
    """The sums of products of each row of a matrix with a vector, in ``parts`` sums of ``length`` products each.

    A block computes one element of ``out``, the sum of one part of one row.
    """
    shared = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    block = np.int64(cuda.blockIdx.x)
    begin = block // parts * x_down
    start = block % parts * length
    total = T(0)
    for i in range(start + thread, min(start + length, k), THREADS):
        total += multiplied(x[begin + i * x_right], y[i * y_step])
    total = fold_line(sum_of, shared, thread, thread, THREADS, 1, total)
    if thread == 0:
        out[block] = total
