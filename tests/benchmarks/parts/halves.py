"""Operations on float16 and bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from timing import Case, Input, Part, Program, tensor_of

__all__ = ["parts"]

OPERATIONS: dict[str, Callable[..., Any]] = {
    "x + y": lambda x, y: x + y,
    "1.5 * x": lambda x, y: 1.5 * x,
    "relu": lambda x, y: x.relu(),
    "exp": lambda x, y: x.exp(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "float": lambda x, y: x.float(),
    "sum": lambda x, y: x.sum(),
    "sum of rows": lambda x, y: x.sum(1),
    "sum of columns": lambda x, y: x.sum(0),
    "mean": lambda x, y: x.mean(),
    "amax": lambda x, y: x.amax(),
    "softmax": lambda x, y: x.softmax(1),
}


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Each operation in both dtypes, without recording."""
    for dtype in ("bfloat16", "float16"):
        cases = [Case(name, _maker(function, dtype, (rows, columns))) for name, function in OPERATIONS.items()]
        yield Part(f"One operation on {rows:,} x {columns:,} {dtype}", cases, 0.9)


def _maker(function: Callable[..., Any], dtype: str, shape: tuple[int, ...]) -> Callable[[Any], Program]:
    def make(module: Any) -> Program:
        x, y = [tensor_of(module, Input(shape, grad=False), seed).to(getattr(module, dtype)) for seed in (0, 1)]

        def program() -> None:
            function(x, y)

        return program

    return make
