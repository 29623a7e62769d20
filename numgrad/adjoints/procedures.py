"""Procedures of small matrices: compiled functions that generated code calls, with rules for their derivatives.

A procedure writes all elements of its first argument, ``out``, and reads the others.  A rule of a procedure adds the
derivative by one of the operands, such as ``a``, to its first argument, ``a_b``.  Its other arguments are operands,
``out`` and the cotangent ``out_b``, by their names.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..devices import Procedure

#: Beginning of the names of procedures and rules in generated code.  No other names begin like this.
PREFIX = "numgrad_"

#: The rules of each procedure by the names of the operands; those of a rule are not known.
RULES: dict[Callable[..., Any], dict[str, Any]] = {}


def procedure(function: Callable[..., Any]) -> Any:
    """Compile a procedure, or a rule of one, when it is first called."""
    RULES[function] = {}
    return Procedure(function, source_of_files(), error_model="numpy")


@functools.cache
def source_of_files() -> str:
    """Return the source of all functions that generated code may call; they call each other."""
    return "".join([Path(__file__).with_name(each).read_text("utf-8") for each in ("procedures.py", "support.py")])


def rule(of: Any, operand: str) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for the rule of a procedure for an operand."""

    def decorate(function: Callable[..., Any]) -> Any:
        RULES[of.py_func][operand] = made = procedure(function)
        return made

    return decorate


def call_of(statement: ast.stmt) -> ast.Call | None:
    """Return the call if the statement calls a procedure or a rule."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.startswith(PREFIX):
        return call
    return None


@procedure
def push(tape: Any, at: int, array: Any) -> None:
    """Store the elements of a matrix on a tape, if there is room."""
    if at + array.size <= tape.shape[0]:
        for i in range(array.shape[0]):
            for j in range(array.shape[1]):
                tape[at + i * array.shape[1] + j] = array[i, j]


@procedure
def pop(array: Any, tape: Any, at: int) -> None:
    """Restore the elements of a matrix from a tape."""
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            array[i, j] = tape[at + i * array.shape[1] + j]


@procedure
def clear(array: Any) -> None:
    """Set the elements of a matrix to zero."""
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            array[i, j] = 0.0


@procedure
def multiply_into(out: Any, a: Any, b: Any) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


@rule(multiply_into, "a")
def multiply_by_a(a_b: Any, out_b: Any, b: Any) -> None:
    for i in range(a_b.shape[0]):
        for k in range(a_b.shape[1]):
            for j in range(b.shape[1]):
                a_b[i, k] += out_b[i, j] * b[k, j]


@rule(multiply_into, "b")
def multiply_by_b(b_b: Any, out_b: Any, a: Any) -> None:
    for k in range(b_b.shape[0]):
        for j in range(b_b.shape[1]):
            for i in range(a.shape[0]):
                b_b[k, j] += a[i, k] * out_b[i, j]


@procedure
def cholesky_into(out: Any, a: Any) -> None:
    n = a.shape[0]
    for j in range(n):
        for i in range(j):
            out[i, j] = 0.0
        total = a[j, j]
        for k in range(j):
            total -= out[j, k] * out[j, k]
        pivot = math.sqrt(total)
        out[j, j] = pivot
        for i in range(j + 1, n):
            total = a[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = total / pivot


@rule(cholesky_into, "a")
def cholesky_by_a(a_b: Any, out: Any, out_b: Any) -> None:
    n = out.shape[0]
    left = np.empty((n, n), out.dtype)
    for i in range(n):
        for j in range(n):
            left[i, j] = out_b[i, j]
    for back in range(n):
        j = n - 1 - back
        for i in range(j + 1, n):
            share = left[i, j] / out[j, j]
            left[j, j] -= share * out[i, j]
            a_b[i, j] += share
            for k in range(j):
                left[i, k] -= share * out[j, k]
                left[j, k] -= share * out[i, k]
        share = 0.5 * left[j, j] / out[j, j]
        a_b[j, j] += share
        for k in range(j):
            left[j, k] -= 2.0 * share * out[j, k]


@procedure
def solve_into(out: Any, a: Any, b: Any) -> None:
    n = a.shape[0]
    left = np.empty((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            left[i, j] = a[i, j]
        for j in range(b.shape[1]):
            out[i, j] = b[i, j]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(left[i, k]) > abs(left[best, k]):
                best = i
        if best != k:
            for j in range(k, n):
                held = left[k, j]
                left[k, j] = left[best, j]
                left[best, j] = held
            for j in range(b.shape[1]):
                held = out[k, j]
                out[k, j] = out[best, j]
                out[best, j] = held
        for i in range(k + 1, n):
            factor = left[i, k] / left[k, k]
            for j in range(k + 1, n):
                left[i, j] -= factor * left[k, j]
            for j in range(b.shape[1]):
                out[i, j] -= factor * out[k, j]
    for back in range(n):
        k = n - 1 - back
        for j in range(b.shape[1]):
            total = out[k, j]
            for i in range(k + 1, n):
                total -= left[k, i] * out[i, j]
            out[k, j] = total / left[k, k]


@rule(solve_into, "a")
def solve_by_a(a_b: Any, out: Any, out_b: Any, a: Any) -> None:
    transposed = a.T
    by_b = np.empty((out.shape[0], out.shape[1]), out.dtype)
    solve_into(by_b, transposed, out_b)
    for i in range(a_b.shape[0]):
        for j in range(a_b.shape[1]):
            for k in range(out.shape[1]):
                a_b[i, j] -= by_b[i, k] * out[j, k]


@rule(solve_into, "b")
def solve_by_b(b_b: Any, out_b: Any, a: Any) -> None:
    transposed = a.T
    by_b = np.empty((b_b.shape[0], b_b.shape[1]), b_b.dtype)
    solve_into(by_b, transposed, out_b)
    for i in range(b_b.shape[0]):
        for j in range(b_b.shape[1]):
            b_b[i, j] += by_b[i, j]


@procedure
def inverse_into(out: Any, a: Any) -> None:
    identity = np.zeros((a.shape[0], a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        identity[i, i] = 1.0
    solve_into(out, a, identity)


@rule(inverse_into, "a")
def inverse_by_a(a_b: Any, out: Any, out_b: Any) -> None:
    n = out.shape[0]
    row = np.empty(n, out.dtype)
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += out[k, i] * out_b[k, j]
            row[j] = total
        for j in range(n):
            for k in range(n):
                a_b[i, j] -= row[k] * out[j, k]


@procedure
def determinant_into(out: Any, a: Any) -> None:
    n = a.shape[0]
    left = np.empty((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            left[i, j] = a[i, j]
    product = 1.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(left[i, k]) > abs(left[best, k]):
                best = i
        if best != k:
            product = -product
            for j in range(k, n):
                held = left[k, j]
                left[k, j] = left[best, j]
                left[best, j] = held
        product = product * left[k, k]
        if left[k, k] != 0.0:
            for i in range(k + 1, n):
                factor = left[i, k] / left[k, k]
                for j in range(k + 1, n):
                    left[i, j] -= factor * left[k, j]
    out[0, 0] = product


@rule(determinant_into, "a")
def determinant_by_a(a_b: Any, out: Any, out_b: Any, a: Any) -> None:
    n = a.shape[0]
    if out[0, 0] != 0.0:
        inverse = np.empty((n, n), a.dtype)
        inverse_into(inverse, a)
        for i in range(n):
            for j in range(n):
                a_b[i, j] += out_b[0, 0] * out[0, 0] * inverse[j, i]
    else:
        minor = np.empty((n - 1, n - 1), a.dtype)
        value = np.empty((1, 1), a.dtype)
        for i in range(n):
            for j in range(n):
                for k in range(n - 1):
                    for m in range(n - 1):
                        minor[k, m] = a[k + (1 if k >= i else 0), m + (1 if m >= j else 0)]
                determinant_into(value, minor)
                a_b[i, j] += value[0, 0] * out_b[0, 0] * (1 - 2 * ((i + j) % 2))
