"""Decompositions of many small matrices, and of larger ones, where LAPACK decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from timing import Case, Part, tensor_of

__all__ = ["parts"]

_FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "solve": lambda m, A, B: m.linalg.solve(A, B), "cholesky": lambda m, A, B: m.linalg.cholesky(A),
    "inv": lambda m, A, B: m.linalg.inv(A), "det": lambda m, A, B: m.linalg.det(A),
    "eigh": lambda m, A, B: m.linalg.eigh(A),
}


def _case(name: str, count: int, n: int) -> Case:
    random = np.random.default_rng(0)
    factors, B = random.standard_normal((count, n, n)), random.standard_normal((count, n, 1))
    A = factors @ factors.mT + np.eye(n)

    def make(module: Any) -> Callable[[], Any]:
        tensors = [tensor_of(module, value, 0) for value in (A, B)]
        return lambda: _FUNCTIONS[name](module, *tensors)

    return Case(f"{name} of {count} x {n} x {n}", make)


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Symmetric matrices in float64; there are ten times as many small ones as ``rows``, and at most 10,000."""
    count = min(10 * rows, 10_000)
    yield Part("Many matrices of 4 x 4", [_case(name, count, 4) for name in _FUNCTIONS], 0.7)
    cases = [_case(name, 1, n) for name in _FUNCTIONS for n in (64, 256, 1024) if n <= max(columns, 64)]
    yield Part("Matrices decomposed by LAPACK", cases, 1.2)
