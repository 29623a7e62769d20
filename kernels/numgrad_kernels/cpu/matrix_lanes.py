"""Factors, systems of equations and eigenvalues of many small real matrices, in vector lanes.

A kernel copies 64 matrices to a tile, in which the same element of all of them is adjacent, so each loop over them
becomes vector instructions.  No matrix takes another branch than the others: rows are exchanged by selections.

Note [Arrays of their own]
In a loop that reads one part of an array and writes another, LLVM checks whether they overlap, once before the
surrounding loop.  There they seem to, so the loop would not be vectorised.  Whatever a loop reads besides the elements
that it writes is therefore in another array.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out
from ..local import local_array

#: Placeholder: the dtype that the kernels compute in.
T = np.float32

#: Number of matrices of a tile, and the step from one element to the next, by which few lines of a cache collide.
LANES = 64
STEP = 72

#: Sizes of the arrays for matrices of up to 8 rows with as many further columns or rows, and for one column.
TILE = 9216
COLUMN = 1152

#: Greatest number of passes over all off-diagonal elements.
SWEEPS = 30


def _load(rows, columns, first, some, x, down, across, tile, begin):
    """Copy ``some`` (rows, columns) matrices from number ``first`` on, and further copies of the last one."""
    for lane in range(LANES):
        start = (first + min(lane, some - 1)) * rows * columns
        for j in range(columns):
            for i in range(rows):
                tile[begin + (j * rows + i) * STEP + lane] = x[start + i * down + j * across]


def _eliminate(n, columns, tile, factors, best, top, found, pivot, sign, failed):
    """Reduce (n, n) matrices to upper triangular ones, with partial pivoting, and further columns with them.

    ``sign`` becomes the sign of the permutation of rows, and ``failed`` 0 or the number of the first pivot that is 0.
    """
    for lane in range(LANES):
        sign[lane] = 1
        failed[lane] = 0
    for k in range(n):
        for lane in range(LANES):
            best[lane] = abs(tile[(k * n + k) * STEP + lane])
            pivot[lane] = k
        for i in range(k + 1, n):
            for lane in range(LANES):
                size = abs(tile[(k * n + i) * STEP + lane])
                larger = size > best[lane]
                best[lane] = size if larger else best[lane]
                pivot[lane] = i if larger else pivot[lane]
        for lane in range(LANES):
            failed[lane] = k + 1 if best[lane] == 0 and failed[lane] == 0 else failed[lane]
            sign[lane] = sign[lane] if pivot[lane] == k else -sign[lane]
        for j in range(k, n + columns):
            for lane in range(LANES):
                top[lane] = tile[(j * n + k) * STEP + lane]
                found[lane] = top[lane]
            for i in range(k + 1, n):
                for lane in range(LANES):
                    value = tile[(j * n + i) * STEP + lane]
                    chosen = pivot[lane] == i
                    found[lane] = value if chosen else found[lane]
                    tile[(j * n + i) * STEP + lane] = top[lane] if chosen else value
            for lane in range(LANES):
                tile[(j * n + k) * STEP + lane] = found[lane]
            if j == k:
                for lane in range(LANES):
                    best[lane] = found[lane] if found[lane] != 0 else T(1)
                for i in range(k + 1, n):
                    for lane in range(LANES):
                        factors[i * STEP + lane] = tile[(k * n + i) * STEP + lane] / best[lane]
            else:
                for i in range(k + 1, n):
                    for lane in range(LANES):
                        tile[(j * n + i) * STEP + lane] -= factors[i * STEP + lane] * found[lane]


def solve_many(n, columns, a, down, across, b, b_down, b_across, out: Out, info: Out):
    """Solutions, column by column, of systems with (n, n) matrices ``a`` and (n, columns) right-hand sides ``b``.

    Without ``b``, these are identity matrices.  Each pair of steps leads to the next row and to the next column.
    ``info`` becomes 0, or the number of the first pivot that is 0, counted from 1.
    """
    count = info.size
    for number in prange((count + LANES - 1) // LANES):
        first = number * LANES
        some = min(LANES, count - first)
        tile, factors = local_array(TILE, T), local_array(COLUMN, T)
        best, top, found = local_array(LANES, T), local_array(LANES, T), local_array(LANES, T)
        pivot, sign, failed = local_array(LANES, np.int32), local_array(LANES, np.int32), local_array(LANES, np.int32)
        right = n * n * STEP
        _load(n, n, first, some, a, down, across, tile, 0)
        if b.size:
            _load(n, columns, first, some, b, b_down, b_across, tile, right)
        else:
            for j in range(columns):
                for i in range(n):
                    for lane in range(LANES):
                        tile[right + (j * n + i) * STEP + lane] = 1 if i == j else 0
        _eliminate(n, columns, tile, factors, best, top, found, pivot, sign, failed)
        for step in range(n):
            k = n - 1 - step
            for i in range(k + 1):
                for lane in range(LANES):
                    factors[i * STEP + lane] = tile[(k * n + i) * STEP + lane]
            for j in range(n, n + columns):
                for lane in range(LANES):
                    found[lane] = tile[(j * n + k) * STEP + lane] / factors[k * STEP + lane]
                for lane in range(LANES):
                    tile[(j * n + k) * STEP + lane] = found[lane]
                for i in range(k):
                    for lane in range(LANES):
                        tile[(j * n + i) * STEP + lane] -= factors[i * STEP + lane] * found[lane]
        for lane in range(some):
            info[first + lane] = failed[lane]
            for i in range(n * columns):
                out[(first + lane) * n * columns + i] = tile[right + i * STEP + lane]


def determinants_of_many(n, a, out: Out):
    """Determinants of (n, n) matrices."""
    count = out.size
    for number in prange((count + LANES - 1) // LANES):
        first = number * LANES
        some = min(LANES, count - first)
        tile, factors = local_array(TILE, T), local_array(COLUMN, T)
        best, top, found = local_array(LANES, T), local_array(LANES, T), local_array(LANES, T)
        pivot, sign, failed = local_array(LANES, np.int32), local_array(LANES, np.int32), local_array(LANES, np.int32)
        _load(n, n, first, some, a, 1, n, tile, 0)
        _eliminate(n, 0, tile, factors, best, top, found, pivot, sign, failed)
        for lane in range(LANES):
            best[lane] = T(sign[lane])
        for k in range(n):
            for lane in range(LANES):
                best[lane] *= tile[(k * n + k) * STEP + lane]
        for lane in range(some):
            out[first + lane] = best[lane]


def cholesky_of_many(n, a, down, across, out: Out, info: Out):
    """Cholesky factors, column by column, of matrices of which the lower triangle is read; see ``cholesky``."""
    count = info.size
    for number in prange((count + LANES - 1) // LANES):
        first = number * LANES
        some = min(LANES, count - first)
        tile, column = local_array(TILE, T), local_array(COLUMN, T)
        factor, failed = local_array(LANES, T), local_array(LANES, np.int32)
        for lane in range(LANES):
            begin = (first + min(lane, some - 1)) * n * n
            for j in range(n):
                for i in range(j, n):
                    tile[(j * n + i) * STEP + lane] = a[begin + i * down + j * across]
        for lane in range(LANES):
            failed[lane] = 0
        for j in range(n):
            for i in range(j, n):
                for lane in range(LANES):
                    column[i * STEP + lane] = tile[(j * n + i) * STEP + lane]
            for k in range(j):
                for lane in range(LANES):
                    factor[lane] = tile[(k * n + j) * STEP + lane]
                for i in range(j, n):
                    for lane in range(LANES):
                        column[i * STEP + lane] -= tile[(k * n + i) * STEP + lane] * factor[lane]
            for lane in range(LANES):
                square = column[j * STEP + lane]
                failed[lane] = failed[lane] if square > 0 or failed[lane] != 0 else j + 1
                factor[lane] = np.sqrt(square if square > 0 else T(1))
            for lane in range(LANES):
                tile[(j * n + j) * STEP + lane] = factor[lane]
            for i in range(j + 1, n):
                for lane in range(LANES):
                    tile[(j * n + i) * STEP + lane] = column[i * STEP + lane] / factor[lane]
        for lane in range(some):
            info[first + lane] = failed[lane]
            begin = (first + lane) * n * n
            for j in range(n):
                for i in range(j):
                    out[begin + j * n + i] = 0
                for i in range(j, n):
                    out[begin + j * n + i] = tile[(j * n + i) * STEP + lane]


def _store(count, begin, step, tile, values):
    """Store a column of matrices, or a part of it as a row."""
    for i in range(count):
        for lane in range(LANES):
            tile[(begin + i * step) * STEP + lane] = values[i * STEP + lane]


def eigenvalues_of_many(n, small, a, down, across, out_values: Out, out_vectors: Out, info: Out):
    """Eigenvalues, in ascending order, and eigenvectors of symmetric matrices of which the lower triangle is read.

    They are found by rotations in the order of rows (Jacobi's method) until all off-diagonal elements are at most
    ``small`` times the largest element.  ``out_vectors`` may be empty.  ``info`` becomes 0, or 1 if they never are, as
    in matrices with elements that are not finite.
    """
    count = info.size
    height = 2 * n if out_vectors.size else n  # the vectors lie below the matrices, as the same rotations apply
    for number in prange((count + LANES - 1) // LANES):
        first = number * LANES
        some = min(LANES, count - first)
        tile, left, right = local_array(TILE, T), local_array(COLUMN, T), local_array(COLUMN, T)
        cosine, sine, scale = local_array(LANES, T), local_array(LANES, T), local_array(LANES, T)
        at_p, at_q, limit = local_array(LANES, T), local_array(LANES, T), local_array(LANES, T)
        failed, rank = local_array(LANES, np.int32), local_array(LANES, np.int32)
        for lane in range(LANES):
            start = (first + min(lane, some - 1)) * n * n
            for j in range(n):
                for i in range(n):
                    low, high = min(i, j), max(i, j)
                    tile[(j * height + i) * STEP + lane] = a[start + high * down + low * across]
                for i in range(n, height):
                    tile[(j * height + i) * STEP + lane] = 1 if i - n == j else 0
        for lane in range(LANES):
            limit[lane] = 0
        for j in range(n):
            for i in range(n):
                for lane in range(LANES):
                    size = abs(tile[(j * height + i) * STEP + lane])
                    limit[lane] = limit[lane] if size <= limit[lane] else size  # NaN stays
        for lane in range(LANES):  # squares must neither overflow nor vanish
            factor = T(2.0**64) if limit[lane] < T(2.0**-60) else T(1)
            scale[lane] = T(2.0**-64) if limit[lane] > T(2.0**60) else factor
            limit[lane] *= scale[lane] * T(small)
            limit[lane] = limit[lane] if limit[lane] < T(np.inf) else T(np.nan)  # no element is small enough
        for j in range(n):
            for i in range(n):
                for lane in range(LANES):
                    tile[(j * height + i) * STEP + lane] *= scale[lane]
        remaining, sweep = 1, 0
        while remaining > 0 and sweep < SWEEPS:
            sweep += 1
            for p in range(n):
                for q in range(p + 1, n):
                    for lane in range(LANES):
                        value = tile[(p * height + q) * STEP + lane]
                        one, other = tile[(p * height + p) * STEP + lane], tile[(q * height + q) * STEP + lane]
                        ratio = (other - one) / (2 * (value if value != 0 else T(1)))
                        steep = 1 / (abs(ratio) + np.sqrt(ratio * ratio + 1))
                        tangent = steep if ratio >= 0 else -steep
                        tangent = tangent if value != 0 else T(0)
                        cosine[lane] = 1 / np.sqrt(tangent * tangent + 1)
                        sine[lane] = tangent * cosine[lane]
                        at_p[lane] = one - tangent * value
                        at_q[lane] = other + tangent * value
                    for i in range(height):
                        for lane in range(LANES):
                            u, v = tile[(p * height + i) * STEP + lane], tile[(q * height + i) * STEP + lane]
                            left[i * STEP + lane] = cosine[lane] * u - sine[lane] * v
                            right[i * STEP + lane] = sine[lane] * u + cosine[lane] * v
                    for lane in range(LANES):
                        left[p * STEP + lane] = at_p[lane]
                        right[p * STEP + lane] = 0
                    for lane in range(LANES):
                        left[q * STEP + lane] = 0
                        right[q * STEP + lane] = at_q[lane]
                    _store(height, p * height, 1, tile, left)
                    _store(height, q * height, 1, tile, right)
                    _store(n, p, height, tile, left)
                    _store(n, q, height, tile, right)
            for lane in range(LANES):
                failed[lane] = 0
            for p in range(n):
                for q in range(p + 1, n):
                    for lane in range(LANES):
                        enough = abs(tile[(p * height + q) * STEP + lane]) <= limit[lane]
                        failed[lane] = failed[lane] if enough else 1
            remaining = 0
            for lane in range(LANES):
                remaining += failed[lane]
        for j in range(n):
            for lane in range(LANES):
                left[j * STEP + lane] = tile[(j * height + j) * STEP + lane] / scale[lane]
        for j in range(n):
            for lane in range(LANES):
                rank[lane] = 0
            for i in range(n):
                for lane in range(LANES):
                    other, value = left[i * STEP + lane], left[j * STEP + lane]
                    rank[lane] += 1 if other < value or (other == value and i < j) else 0
            for lane in range(some):
                info[first + lane] = failed[lane]
                place = (first + lane) * n + (j if failed[lane] else rank[lane])  # NaN has no rank
                out_values[place] = left[j * STEP + lane]
                for i in range(n, height):
                    out_vectors[place * n + i - n] = tile[(j * height + i) * STEP + lane]
