"""What is timed, and how: programs of either library taking turns, the best of several rounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Case", "Input", "Part", "Program", "best_times", "derivative", "geometric_mean", "integers", "tensor_of"]

Program = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """One line of a table: ``make(module)`` gives the program to time."""

    name: str
    make: Callable[[Any], Program]


@dataclass(frozen=True)
class Part:
    """A table of cases, with what their geometric mean and each of them may be at most (None: not set)."""

    title: str
    cases: Sequence[Case]
    limit: float | None = None
    each: float | None = None


@dataclass(frozen=True)
class Input:
    """A tensor of uniform numbers, the same in either library."""

    shape: tuple[int, ...]
    low: float = -1
    high: float = 1
    grad: bool = True
    dtype: Any = np.float32


def tensor_of(module: Any, value: Any, seed: int) -> Any:
    """An Input or an array as a tensor of ``module``."""
    if isinstance(value, np.ndarray):
        return module.from_numpy(value)
    numbers = np.random.default_rng(seed).uniform(value.low, value.high, value.shape).astype(value.dtype)
    return module.from_numpy(np.asarray(numbers)).requires_grad_(value.grad)


def integers(shape: tuple[int, ...], below: int, seed: int = 7) -> np.ndarray:
    """Indices in [0, below)."""
    return np.random.default_rng(seed).integers(0, below, shape)


def derivative(name: str, function: Callable[..., Any], *inputs: Any) -> Case:
    """The case that computes ``function(module, *tensors)`` and goes backward from a gradient of all its elements."""

    def make(module: Any) -> Program:
        tensors = [tensor_of(module, value, seed) for seed, value in enumerate(inputs)]
        leaves = [tensor for tensor in tensors if tensor.requires_grad]
        example = function(module, *tensors).detach()
        kind = np.float64 if example.dtype == module.float64 else np.float32
        gradient = tensor_of(module, Input(tuple(example.shape), grad=False, dtype=kind), 99)

        def program() -> None:
            function(module, *tensors).backward(gradient)
            for leaf in leaves:
                leaf.grad = None

        return program

    return Case(name, make)


def best_times(programs: Sequence[Program], rounds: int, seconds: float) -> list[float]:
    """The best time of each program in seconds, measured in alternating rounds of about ``seconds`` each."""
    counts = []
    for program in programs:
        program()
        program()
        start = time.perf_counter()
        program()
        counts.append(max(1, int(seconds / max(time.perf_counter() - start, 1e-7))))
    best = [math.inf] * len(programs)
    for _ in range(rounds):
        for place, (program, count) in enumerate(zip(programs, counts, strict=True)):
            start = time.perf_counter()
            for _ in range(count):
                program()
            best[place] = min(best[place], (time.perf_counter() - start) / count)
    return best


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))
