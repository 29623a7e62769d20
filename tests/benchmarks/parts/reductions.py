"""Reductions and scans: of everything, over rows, over columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from timing import Input, Part, derivative

__all__ = ["parts"]

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda m, x, *dim: x.sum(*dim),
    "mean": lambda m, x, *dim: x.mean(*dim),
    "var": lambda m, x, *dim: x.var(*dim),
    "std": lambda m, x, *dim: x.std(*dim),
    "max": lambda m, x, *dim: x.max(*dim)[0] if dim else x.max(),
    "amax": lambda m, x, *dim: x.amax(*dim),
    "logsumexp": lambda m, x, *dim: x.logsumexp(*dim or ((0, 1),)),
    "norm": lambda m, x, *dim: m.linalg.vector_norm(x, 2, *dim),
    "prod": lambda m, x, *dim: x.prod(*dim),
    "cumsum": lambda m, x, *dim: x.cumsum(*dim) if dim else x.view(-1).cumsum(0),
}

WAYS: dict[str, tuple[int, ...]] = {"of all": (), "over rows": (-1,), "over columns": (0,)}


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Each reduction each way."""
    cases = []
    for name, function in REDUCTIONS.items():
        low, high = (0.99, 1.01) if name == "prod" else (-1, 1)
        for words, dim in WAYS.items():

            def reduce(module: Any, x: Any, function: Any = function, dim: Any = dim) -> Any:
                return function(module, x, *dim)

            cases.append(derivative(f"{name} {words}", reduce, Input((rows, columns), low, high)))
    yield Part(f"Reductions of {rows:,} x {columns:,} float32, forward and backward", cases, 0.9, 1.3)
