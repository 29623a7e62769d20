"""Shapes that change from call to call, like those of batches and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from timing import Case, Input, Part, Program, tensor_of

from .overhead import repeated

__all__ = ["parts"]

OPERATIONS = [
    "x + y", "x * scale", "x * 0.5", "x.exp()", "x.sum(0)", "x.mean()", "x @ w", "x.t()", "x[1:]", "m.cat([x, y])",
]

#: Number of alternating shapes, all of which a cache should keep.
SOME = 300


def _turns(code: str, count: int) -> Callable[[Any], Program]:
    """The operation on tensors of 1, 2, ... rows."""

    def make(module: Any) -> Program:
        first, second = (tensor_of(module, Input((count, 2), grad=False), seed) for seed in (0, 1))
        names = {
            "m": module, "scale": tensor_of(module, Input((1,), grad=False), 2),
            "w": tensor_of(module, Input((2, 1), grad=False), 3),
            "pairs": [(first[:size], second[:size]) for size in range(1, count + 1)],
        }  # fmt: skip
        return repeated(code, names, "for x, y in pairs:")

    return make


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Each operation on so many row counts that no cache keeps them all (10,000), and on a few hundred."""
    for count, limit in ((10 * rows, None), (SOME, 1.0)):
        cases = [Case(code, _turns(code, count), count) for code in OPERATIONS]
        title = f"One operation on {count:,} row counts in turn, one thread, at most 15 microseconds a call"
        yield Part(title, cases, limit, seconds=15e-6, threads=1)
