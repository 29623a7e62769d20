"""NumPy's functions of small matrices as loops, which are differentiated like any other function.

They are never called: their bodies replace the calls.  Those with many loops call procedures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .procedures import cholesky_into, determinant_into, inverse_into, multiply_into, solve_into


def dot_vectors(a: Any, b: Any) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


def matrix_times_vector(a: Any, b: Any) -> Any:
    out = np.empty(a.shape[0], b.dtype)
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * b[j]
        out[i] = total
    return out


def vector_times_matrix(a: Any, b: Any) -> Any:
    out = np.empty(b.shape[1], a.dtype)
    for j in range(b.shape[1]):
        total = 0.0
        for i in range(b.shape[0]):
            total += a[i] * b[i, j]
        out[j] = total
    return out


def matrix_times_matrix(a: Any, b: Any) -> Any:
    out = np.empty((a.shape[0], b.shape[1]), a.dtype)
    multiply_into(out, a, b)
    return out


def outer(a: Any, b: Any) -> Any:
    out = np.empty((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            out[i, j] = a[i] * b[j]
    return out


def trace(a: Any) -> Any:
    total = 0.0
    for i in range(min(a.shape[0], a.shape[1])):
        total += a[i, i]
    return total


def diagonal(a: Any) -> Any:
    out = np.empty(min(a.shape[0], a.shape[1]), a.dtype)
    for i in range(out.shape[0]):
        out[i] = a[i, i]
    return out


def diagonal_matrix(a: Any) -> Any:
    out = np.zeros((a.shape[0], a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[i, i] = a[i]
    return out


def cumulative_sum(a: Any) -> Any:
    out = np.empty(a.shape[0], a.dtype)
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i]
        out[i] = total
    return out


def cumulative_product(a: Any) -> Any:
    out = np.empty(a.shape[0], a.dtype)
    total = 1.0
    for i in range(a.shape[0]):
        total = total * a[i]
        out[i] = total
    return out


def differences(a: Any) -> Any:
    out = np.empty(max(a.shape[0] - 1, 0), a.dtype)
    for i in range(out.shape[0]):
        out[i] = a[i + 1] - a[i]
    return out


def rolled(a: Any, shift: Any) -> Any:
    out = np.empty(a.shape[0], a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[(i - shift) % a.shape[0]]
    return out


def median(a: Any) -> Any:
    order = np.argsort(a)
    n = a.shape[0]
    if n % 2 == 1:
        return a[order[n // 2]]
    return 0.5 * (a[order[n // 2 - 1]] + a[order[n // 2]])


def area(y: Any) -> Any:
    total = 0.0
    for i in range(1, y.shape[0]):
        total += 0.5 * (y[i] + y[i - 1])
    return total


def area_over(y: Any, x: Any) -> Any:
    total = 0.0
    for i in range(1, y.shape[0]):
        total += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1])
    return total


def interpolated(x: Any, places: Any, values: Any) -> Any:
    last = places.shape[0] - 1
    if x <= places[0]:
        return values[0]
    if x >= places[last]:
        return values[last]
    k = np.searchsorted(places, x)
    return values[k - 1] + (values[k] - values[k - 1]) * ((x - places[k - 1]) / (places[k] - places[k - 1]))


def norm_of_vector(a: Any) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * a[i]
    return math.sqrt(total)


def norm_of_matrix(a: Any) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * a[i, j]
    return math.sqrt(total)


def cholesky(a: Any) -> Any:
    out = np.empty((a.shape[0], a.shape[0]), a.dtype)
    cholesky_into(out, a)
    return out


def solve_matrix(a: Any, b: Any) -> Any:
    out = np.empty((a.shape[0], b.shape[1]), a.dtype)
    solve_into(out, a, b)
    return out


def solve_vector(a: Any, b: Any) -> Any:
    column = np.empty((b.shape[0], 1), a.dtype)
    for i in range(b.shape[0]):
        column[i, 0] = b[i]
    solution = np.empty((b.shape[0], 1), a.dtype)
    solve_into(solution, a, column)
    out = np.empty(b.shape[0], a.dtype)
    for i in range(b.shape[0]):
        out[i] = solution[i, 0]
    return out


def inverse(a: Any) -> Any:
    out = np.empty((a.shape[0], a.shape[0]), a.dtype)
    inverse_into(out, a)
    return out


def determinant(a: Any) -> Any:
    out = np.empty((1, 1), a.dtype)
    determinant_into(out, a)
    return out[0, 0]


#: For each function and the numbers of dimensions of its arguments: the loops, and the dimensions of the result.
LIBRARY: dict[tuple[str, tuple[int, ...]], tuple[Callable[..., Any], int]] = {
    ("np.dot", (1, 1)): (dot_vectors, 0),
    ("np.dot", (2, 1)): (matrix_times_vector, 1),
    ("np.dot", (1, 2)): (vector_times_matrix, 1),
    ("np.dot", (2, 2)): (matrix_times_matrix, 2),
    ("np.vdot", (1, 1)): (dot_vectors, 0),
    ("np.outer", (1, 1)): (outer, 2),
    ("np.trace", (2,)): (trace, 0),
    ("np.diag", (2,)): (diagonal, 1),
    ("np.diag", (1,)): (diagonal_matrix, 2),
    ("np.cumsum", (1,)): (cumulative_sum, 1),
    ("np.cumprod", (1,)): (cumulative_product, 1),
    ("np.diff", (1,)): (differences, 1),
    ("np.roll", (1, 0)): (rolled, 1),
    ("np.median", (1,)): (median, 0),
    ("np.trapezoid", (1,)): (area, 0),
    ("np.trapezoid", (1, 1)): (area_over, 0),
    ("np.interp", (0, 1, 1)): (interpolated, 0),
    ("np.linalg.norm", (1,)): (norm_of_vector, 0),
    ("np.linalg.norm", (2,)): (norm_of_matrix, 0),
    ("np.linalg.cholesky", (2,)): (cholesky, 2),
    ("np.linalg.solve", (2, 1)): (solve_vector, 1),
    ("np.linalg.solve", (2, 2)): (solve_matrix, 2),
    ("np.linalg.inv", (2,)): (inverse, 2),
    ("np.linalg.det", (2,)): (determinant, 0),
}
