"""Large pointwise operations, limited by memory or by vector instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from timing import Input, Part, derivative

__all__ = ["double", "layouts", "operations"]

UNARY: dict[str, tuple[Callable[[Any, Any], Any], float, float]] = {
    "x ** 2": (lambda m, x: x**2, -2, 2),
    "x ** 1.7": (lambda m, x: x**1.7, 0.1, 2),
    "exp": (lambda m, x: x.exp(), -2, 2),
    "log": (lambda m, x: x.log(), 0.1, 2),
    "log1p": (lambda m, x: x.log1p(), 0.1, 2),
    "sqrt": (lambda m, x: x.sqrt(), 0.1, 2),
    "sin": (lambda m, x: x.sin(), -3, 3),
    "atan": (lambda m, x: x.atan(), -3, 3),
    "tanh": (lambda m, x: x.tanh(), -2, 2),
    "sigmoid": (lambda m, x: x.sigmoid(), -2, 2),
    "erf": (lambda m, x: x.erf(), -2, 2),
    "relu": (lambda m, x: x.relu(), -2, 2),
    "gelu": (lambda m, x: m.nn.functional.gelu(x), -2, 2),
    "silu": (lambda m, x: m.nn.functional.silu(x), -2, 2),
    "softplus": (lambda m, x: m.nn.functional.softplus(x), -2, 2),
    "abs": (lambda m, x: x.abs(), -2, 2),
    "neg": (lambda m, x: -x, -2, 2),
    "clamp": (lambda m, x: x.clamp(-1, 1), -2, 2),
    "x * 0.5": (lambda m, x: x * 0.5, -2, 2),
    "1 / x": (lambda m, x: 1 / x, 0.5, 2),
}

BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda m, x, y: x + y,
    "sub": lambda m, x, y: x - y,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / y,
    "pow": lambda m, x, y: x**y,
    "atan2": lambda m, x, y: m.atan2(x, y),
    "hypot": lambda m, x, y: m.hypot(x, y),
    "where": lambda m, x, y: m.where(x.detach() > 1, x, y),
    "maximum": lambda m, x, y: m.maximum(x, y),
    "lerp": lambda m, x, y: m.lerp(x, y, 0.3),
    "addcmul": lambda m, x, y: m.addcmul(x, x, y, value=0.5),
}

#: Operations that are timed in float64, too.
BASIC = ("x ** 2", "exp", "log", "tanh", "sqrt", "relu", "sin", "add", "mul", "div", "where", "maximum")


def _cases(rows: int, columns: int, names: Any, dtype: Any) -> list[Any]:
    size = (rows * columns,)
    cases = []
    for name in names:
        if name in UNARY:
            function, low, high = UNARY[name]
            cases.append(derivative(name, function, Input(size, low, high, dtype=dtype)))
        else:
            inputs = Input(size, 0.5, 2, dtype=dtype), Input(size, 0.5, 2, dtype=dtype)
            cases.append(derivative(name, BINARY[name], *inputs))
    return cases


def operations(rows: int, columns: int) -> Iterator[Part]:
    """One operation on float32."""
    title = f"One operation on {rows * columns:,} float32, forward and backward"
    yield Part(title, _cases(rows, columns, [*BINARY, *UNARY], np.float32), 0.8, 1.2)


def double(rows: int, columns: int) -> Iterator[Part]:
    """One operation on float64."""
    title = f"One operation on {rows * columns:,} float64, forward and backward"
    yield Part(title, _cases(rows, columns, BASIC, np.float64), 0.9)


def layouts(rows: int, columns: int) -> Iterator[Part]:
    """Operands that are broadcast, transposed, or parts of larger tensors."""
    x = Input((rows, columns))
    cases = [
        derivative("x + bias of a row", lambda m, x, b: x + b, x, Input((columns,))),
        derivative("x * scale of a column", lambda m, x, s: x * s, x, Input((rows, 1))),
        derivative("x + y.t()", lambda m, x, y: x + y.t(), x, Input((columns, rows))),
        derivative("x[:, ::2] * 2", lambda m, x: x[:, ::2] * 2, Input((rows, 2 * columns))),
        derivative("x[1:-1, 1:-1].exp()", lambda m, x: x[1:-1, 1:-1].exp(), x),
        derivative("tanh(x + bias)", lambda m, x, b: (x + b).tanh(), x, Input((columns,))),
        derivative("x + bias, 3 columns", lambda m, x, b: x + b, Input((rows * columns // 3, 3)), Input((3,))),
    ]
    yield Part(f"Layouts, {rows:,} x {columns:,} float32, forward and backward", cases, 1.0)
