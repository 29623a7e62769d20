"""Timing: programs of both libraries take turns, and the best of several rounds counts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Case", "Input", "Part", "Program", "Step", "best_times", "by_events", "by_host_clock", "derivative",
    "geometric_mean", "integers", "placed", "tensor_of", "use_device",
]

Program = Callable[[], Any]

#: Seconds that each measurement of a program takes.
Stopwatch = Callable[[Program, int], float]

_device = "cpu"


def use_device(name: str) -> None:
    """Place all further tensors and modules on a device."""
    global _device
    _device = name


def placed(thing: Any) -> Any:
    """Return a tensor or a module on the device."""
    return thing if _device == "cpu" else thing.to(_device)


#: Number of random numbers of a tensor before they repeat.
_DIFFERENT = 1 << 24


@dataclass(frozen=True)
class Case:
    """One line of a table: ``make(module)`` returns the program to time, which repeats its work ``calls`` times."""

    name: str
    make: Callable[[Any], Program]
    calls: int = 1


@dataclass(frozen=True)
class Step:
    """A program that can be compiled: a function, its arguments, and the parameters that it reads."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    parameters: Sequence[Any] = ()

    def __call__(self) -> Any:
        return self.function(*self.arguments)


@dataclass(frozen=True)
class Part:
    """A table of cases.

    Attributes:
        limit, each: the greatest geometric mean of the ratios, and the greatest ratio of a case; None for no limit.
        seconds: the greatest time of a call of numgrad; None for no limit.
        threads: the number of threads; None for the number that the command sets.
        brief: True for more and shorter rounds, for programs of microseconds.
    """

    title: str
    cases: Sequence[Case]
    limit: float | None = None
    each: float | None = None
    seconds: float | None = None
    threads: int | None = None
    brief: bool = False

    def misses(self, ours: float, ratio: float) -> bool:
        """Return True if numgrad's seconds, or their ratio to PyTorch's, exceed the limit of a case."""
        return (self.each is not None and ratio > self.each) or (self.seconds is not None and ours > self.seconds)


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
        return placed(module.from_numpy(value))
    count = math.prod(value.shape)
    numbers = np.random.default_rng(seed).uniform(value.low, value.high, min(count, _DIFFERENT)).astype(value.dtype)
    return placed(module.from_numpy(np.resize(numbers, value.shape))).requires_grad_(value.grad)


def integers(shape: tuple[int, ...], below: int, seed: int = 7) -> np.ndarray:
    """Indices in [0, below)."""
    return np.random.default_rng(seed).integers(0, below, shape)


def derivative(name: str, function: Callable[..., Any], *inputs: Any) -> Case:
    """Return the case that computes ``function(module, *tensors)`` and its gradients."""

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


def by_host_clock(program: Program, count: int) -> float:
    """Time programs whose work is done when they return."""
    start = time.perf_counter()
    for _ in range(count):
        program()
    return (time.perf_counter() - start) / count


def by_events(module: Any) -> Stopwatch:
    """A stopwatch for programs on a GPU: the time between two events that the GPU records."""
    begin, end = module.cuda.Event(enable_timing=True), module.cuda.Event(enable_timing=True)

    def measure(program: Program, count: int) -> float:
        module.cuda.synchronize()
        begin.record()
        for _ in range(count):
            program()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / count

    return measure


def best_times(
    programs: Sequence[Program], rounds: int, seconds: float, watches: Sequence[Stopwatch] = (by_host_clock,) * 2
) -> list[float]:
    """The best time of each program in seconds, measured in alternating rounds of about ``seconds`` each.

    ``watches`` has a stopwatch for each program.
    """
    counts = []
    watched = list(zip(programs, watches, strict=False))
    for program, watch in watched:
        program()
        shortest = min(watch(program, 1) for _ in range(2))
        counts.append(max(1, int(seconds / max(shortest, 1e-7))))
    best = [math.inf] * len(programs)
    for _ in range(rounds):
        for place, ((program, watch), count) in enumerate(zip(watched, counts, strict=True)):
            best[place] = min(best[place], watch(program, count))
    return best


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))
