"""Functions of scalars made by ``vectorize``, compared with loops written by hand and compiled by Numba.

The programs of the first table are the function, and the loop in the column of PyTorch; those of the others are all
gradients of the function, and the function in that column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit, prange
from timing import Case, Input, Part, Program, tensor_of

import numgrad

__all__ = ["parts"]


def branches(x, y):
    r = x * x + y * y
    if r > 1:
        return math.exp(-r) * x
    return 0.5 * r + x * y


def cubic_root(a, b):
    x = a
    for _ in range(30):
        step = (x * x * x + b * x - a) / (3 * x * x + b)
        x -= step
        if abs(step) < 1e-10:
            break
    return x


def generations(x, r):
    for _ in range(20):
        x = r * x * (1 - x)
    return x


def call_option(price, strike, time, volatility):
    width = volatility * math.sqrt(time)
    d = math.log(price / strike) / width + 0.5 * width
    low = math.erfc((width - d) * math.sqrt(0.5))
    return 0.5 * (price * math.erfc(-d * math.sqrt(0.5)) - strike * low)


FUNCTIONS = {
    "branches": branches, "Newton's method with break": cubic_root, "20 generations": generations,
    "Black-Scholes": call_option,
}


def _operands(function: Callable[..., Any], size: int) -> list[Any]:
    count = function.__code__.co_argcount
    return [tensor_of(numgrad, Input((size,), 0.2, 1, dtype=np.float64), seed) for seed in range(count)]


def _by_hand(function: Callable[..., Any], size: int) -> Program:
    """Return the loop over arrays, which writes into a new one."""
    names = ", ".join(f"a{number}" for number in range(function.__code__.co_argcount))
    lines = [
        f"def loop({names}, out):", "    for i in prange(out.size):",
        f"        out[i] = element({names.replace(',', '[i],')}[i])",
    ]
    scope = {"element": njit(error_model="numpy")(function), "prange": prange}
    exec("\n".join(lines), scope)
    loop: Any = njit(parallel=True, error_model="numpy")(scope["loop"])
    arrays = [operand.detach().numpy() for operand in _operands(function, size)]

    def program() -> None:
        loop(*arrays, np.empty(size))

    return program


def _forward(name: str, function: Callable[..., Any], size: int) -> Case:
    def make(module: Any) -> Program:
        if module is not numgrad:
            return _by_hand(function, size)
        operation = numgrad.vectorize(function)
        operands = [operand.detach() for operand in _operands(function, size)]
        return lambda: operation(*operands)

    return Case(name, make)


def _backward(name: str, function: Callable[..., Any], size: int) -> Case:
    def make(module: Any) -> Program:
        operation, operands = numgrad.vectorize(function), _operands(function, size)
        if module is not numgrad:
            constants = [operand.detach() for operand in operands]
            return lambda: operation(*constants)
        result, gradient = operation(*operands), numgrad.ones(size, dtype=numgrad.float64)
        return lambda: numgrad.autograd.grad(result, operands, gradient, retain_graph=True)

    return Case(name, make)


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Return the tables for this number of elements."""
    size = rows * columns
    cases = [_forward(name, function, size) for name, function in FUNCTIONS.items()]
    yield Part(f"Functions of scalars, {size:,} float64, beside a loop by hand", cases, each=1.1)
    for count in sorted({function.__code__.co_argcount for function in FUNCTIONS.values()}):
        cases = [
            _backward(name, function, size) for name, function in FUNCTIONS.items()
            if function.__code__.co_argcount == count
        ]
        yield Part(f"All {count} gradients of {size:,} float64, beside the function", cases, each=1 + 3 * count)
