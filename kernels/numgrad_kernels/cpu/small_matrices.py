"""Decompositions of many small matrices, without LAPACK, whose calls take longer than the arithmetic.

The matrices are stored column by column, one after the other.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from ..facts import InOut, Out

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: the number of rows and columns of square matrices, for which loops are unrolled; 0 for any number.
ROWS = 0


def cholesky(n, x: InOut, info: Out):
    """Replace the lower triangle of each matrix by the Cholesky factor, and the upper one by zeros.

    ``info`` becomes 0, or the number of rows up to the first at which the matrix is not positive definite.
    """
    n = ROWS or n
    for matrix in prange(info.size):
        first = matrix * n * n
        info[matrix] = 0
        for j in range(n):
            column = first + j * n
            for k in range(j):
                factor = np.conj(x[first + k * n + j])
                for i in range(j, n):
                    x[column + i] -= x[first + k * n + i] * factor
            square = x[column + j].real
            if not square > 0:
                info[matrix] = j + 1
                break
            root = math.sqrt(square)
            x[column + j] = root
            for i in range(j + 1, n):
                x[column + i] /= root
        for j in range(1, n):
            for i in range(j):
                x[first + j * n + i] = 0


def report_nan(n, x, info: InOut):
    """Report the first row at which a Cholesky factor has a NaN on its diagonal, where LAPACK reported nothing."""
    for matrix in prange(info.size):
        for j in range(n):
            pivot = x[(matrix * n + j) * n + j]
            if info[matrix] == 0 and pivot != pivot:
                info[matrix] = j + 1


def lu(m, n, x: InOut, pivots: Out, info: Out):
    """Replace each (m, n) matrix by its factors L, without the ones on its diagonal, and U, with partial pivoting.

    ``pivots`` are the rows, counted from 1, with which each row was exchanged.  ``info`` becomes 0, or the number of
    the first pivot that is 0, counted from 1.
    """
    m, n = ROWS or m, ROWS or n
    least = min(m, n)
    for matrix in prange(info.size):
        first = matrix * m * n
        info[matrix] = 0
        for k in range(least):
            column = first + k * m
            best, pivot = abs(x[column + k].real) + abs(x[column + k].imag), k
            for i in range(k + 1, m):
                size = abs(x[column + i].real) + abs(x[column + i].imag)
                larger = size > best
                best, pivot = size if larger else best, i if larger else pivot
            pivots[matrix * least + k] = pivot + 1
            if x[column + pivot] == 0:
                if info[matrix] == 0:
                    info[matrix] = k + 1
                continue
            if pivot != k:
                for j in range(n):
                    row = first + j * m
                    x[row + k], x[row + pivot] = x[row + pivot], x[row + k]
            head = x[column + k]
            for i in range(k + 1, m):
                x[column + i] /= head
            for j in range(k + 1, n):
                factor = x[first + j * m + k]
                for i in range(k + 1, m):
                    x[first + j * m + i] -= x[column + i] * factor


def substitute(n, columns, factors, pivots, out: InOut):
    """Replace right-hand sides, (n, columns) matrices, by the solutions of systems whose factors ``lu`` has found."""
    n = ROWS or n
    for matrix in prange(pivots.size // n):
        first = matrix * n * n
        for c in range(columns):
            begin = (matrix * columns + c) * n
            for k in range(n):
                pivot = pivots[matrix * n + k] - 1
                value = out[begin + pivot]
                out[begin + pivot] = out[begin + k]
                out[begin + k] = value
            for k in range(n):
                value = out[begin + k]
                for i in range(k + 1, n):
                    out[begin + i] -= value * factors[first + k * n + i]
            for back in range(n):
                k = n - 1 - back
                value = out[begin + k] / factors[first + k * n + k]
                out[begin + k] = value
                for i in range(k):
                    out[begin + i] -= value * factors[first + k * n + i]


def triangular(n, columns, upper, unit, transposed, factors, out: InOut):
    """Replace right-hand sides, (n, columns) matrices, by the solutions of systems with triangular matrices.

    ``upper`` is True if the upper triangle of a matrix as stored is read; ``transposed`` if the system has its
    transpose.  With ``unit``, the diagonal counts as ones.
    """
    for matrix in prange(out.size // (n * columns)):
        first = matrix * n * n
        for c in range(columns):
            begin = (matrix * columns + c) * n
            for step in range(n):
                k = step if upper == transposed else n - 1 - step
                low, high = (k + 1, n) if upper == transposed else (0, k)
                value = out[begin + k]
                if not unit:
                    value /= factors[first + k * n + k]
                out[begin + k] = value
                if transposed:
                    for i in range(low, high):
                        out[begin + i] -= value * factors[first + i * n + k]
                else:
                    for i in range(low, high):
                        out[begin + i] -= value * factors[first + k * n + i]


def determinants(n, factors, pivots, out: Out):
    """The determinants of matrices whose factors ``lu`` has found."""
    for matrix in prange(out.size):
        product = T(1)
        for k in range(n):
            value = factors[(matrix * n + k) * n + k]
            product *= value if pivots[matrix * n + k] == k + 1 else -value
        out[matrix] = product


def log_determinants(n, factors, pivots, signs: Out, logarithms: Out):
    """The signs of the determinants, and the logarithms of their absolute values; see ``determinants``."""
    for matrix in prange(signs.size):
        sign, total = T(1), T(0).real
        for k in range(n):
            value = factors[(matrix * n + k) * n + k]
            size = abs(value)
            total += np.log(size)
            if size == 0:
                sign = T(0)
            else:
                sign *= value / size if pivots[matrix * n + k] == k + 1 else -value / size
        signs[matrix] = sign
        logarithms[matrix] = total


def identities(n, columns, out: Out):
    """(n, columns) matrices, with ones on the diagonal and zeros elsewhere."""
    for matrix in prange(out.size // (n * columns)):
        first = matrix * n * columns
        for j in range(columns):
            for i in range(n):
                out[first + j * n + i] = 1 if i == j else 0


def permutations(rows, count, pivots, out: Out):
    """The permutations, of numbers from 0 on, that ``count`` exchanges of rows make; see ``lu``."""
    for matrix in prange(out.size // rows):
        first = matrix * rows
        for i in range(rows):
            out[first + i] = i
        for k in range(count):
            other = pivots[matrix * count + k] - 1
            value = out[first + k]
            out[first + k] = out[first + other]
            out[first + other] = value


def conjugate_pairs(n, parts, vectors, out_values: Out, out_vectors: Out):
    """Complex eigenvalues and eigenvectors of real matrices, of which LAPACK's geev returns the parts.

    ``parts`` are, for each matrix, the n real and the n imaginary parts of the eigenvalues.  A column of ``vectors`` is
    the eigenvector of a real eigenvalue.  For two conjugate eigenvalues, one column is the real part of the vectors,
    and the next the imaginary part of the first one.
    """
    for matrix in prange(out_values.size // n):
        for j in range(n):
            value, other = parts[2 * matrix * n + j], parts[(2 * matrix + 1) * n + j]
            out_values[matrix * n + j] = complex(value, other)
            first = (matrix * n + (j - 1 if other < 0 else j)) * n
            for i in range(n):
                if other == 0:
                    out_vectors[(matrix * n + j) * n + i] = vectors[first + i]
                else:
                    part = vectors[first + n + i]
                    out_vectors[(matrix * n + j) * n + i] = complex(vectors[first + i], -part if other < 0 else part)
