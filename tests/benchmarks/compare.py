"""Numgrad beside PyTorch in one process: times as ratios, below 1 where numgrad is ahead.

    python tests/benchmarks/compare.py             everything
    python tests/benchmarks/compare.py small large  only these sections; see --help

Each figure is the best of several rounds in which the two take turns, so that a machine whose speed drifts does not
favour either.  Both run the same Python code, given the module to compute with, on the same number of threads.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

Program = Callable[[], Any]


@dataclass
class Case:
    """One line of the table: ``make(module)`` gives the program to time."""

    name: str
    make: Callable[[Any], Program]


def best_times(programs: list[Program], rounds: int, seconds: float) -> list[float]:
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


def uniform(module: Any, size: Any, low: float, high: float, seed: int = 0, grad: bool = True) -> Any:
    """The same numbers in either library."""
    values = np.random.default_rng(seed).uniform(low, high, size).astype(np.float32)
    return module.from_numpy(values).requires_grad_(grad)


# -- small tensors: chains of 30 operations ---------------------------------------------------------------------


def chain_program(module: Any, size: int, step: Callable[[Any, Any, Any], Any], mode: str) -> Program:
    x = uniform(module, size, 0.1, 0.9)
    y = uniform(module, size, 0.4, 0.6, 1, grad=False)

    def forward() -> Any:
        z = x
        for _ in range(10):
            z = step(module, z, y)
        return z

    def backward() -> None:
        forward().sum().backward()
        x.grad = None

    def silent() -> None:
        with module.no_grad():
            forward()

    return {"forward": forward, "backward": backward, "no_grad": silent}[mode]


CHAINS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tanh(z * y + y)": lambda m, z, y: (z * y + y).tanh(),
    "sigmoid(z * 1.5 - y)": lambda m, z, y: (z * 1.5 - y).sigmoid(),
    "relu(z / y + z)": lambda m, z, y: (z / y + z).relu() * 0.5,
    "exp(-(z ** 2))": lambda m, z, y: (-(z**2)).exp(),
}


def small_cases() -> Iterator[Case]:
    modes = {"backward": "forward and backward", "no_grad": "no_grad"}
    for size in (8, 1000):
        for mode, words in modes.items():
            for name, step in CHAINS.items():

                def make(module: Any, size: int = size, step: Any = step, mode: str = mode) -> Program:
                    return chain_program(module, size, step, mode)

                yield Case(f"10 x {name}, {size} elements, {words}", make)


# -- large tensors: one operation on two million elements, forward and backward ---------------------------------

UNARY: dict[str, tuple[Callable[[Any, Any], Any], float, float]] = {
    "pow": (lambda m, x: x**2, -2, 2),
    "exp": (lambda m, x: x.exp(), -2, 2),
    "log": (lambda m, x: x.log(), 0.1, 2),
    "tanh": (lambda m, x: x.tanh(), -2, 2),
    "sigmoid": (lambda m, x: x.sigmoid(), -2, 2),
    "relu": (lambda m, x: x.relu(), -2, 2),
    "sqrt": (lambda m, x: x.sqrt(), 0.1, 2),
}

BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda m, x, y: x + y,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / y,
    "where": lambda m, x, y: m.where(x.detach() > 1, x, y),
    "maximum": lambda m, x, y: m.maximum(x, y),
}


def large_cases(size: int) -> Iterator[Case]:
    for name, binary in BINARY.items():

        def make_binary(module: Any, binary: Any = binary) -> Program:
            x, y = uniform(module, size, 0.5, 2), uniform(module, size, 0.5, 2, 1)
            gradient = uniform(module, size, -1, 1, 2, grad=False)

            def program() -> None:
                binary(module, x, y).backward(gradient)
                x.grad = y.grad = None

            return program

        yield Case(name, make_binary)
    for name, (unary, low, high) in UNARY.items():

        def make_unary(module: Any, unary: Any = unary, low: float = low, high: float = high) -> Program:
            x = uniform(module, size, low, high)
            gradient = uniform(module, size, -1, 1, 2, grad=False)

            def program() -> None:
                unary(module, x).backward(gradient)
                x.grad = None

            return program

        yield Case(name, make_unary)


# -- optimizers -------------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {},
    "SGD with momentum": {"momentum": 0.9},
    "AdamW": {},
    "RMSprop": {},
    "Adagrad": {},
}


def optimizers() -> Iterator[Case]:
    for count, size in ((4, 100), (20, 50_000)):
        for name, options in OPTIMIZERS.items():

            def make(
                module: Any, count: int = count, size: int = size, name: str = name, options: Any = options
            ) -> Program:
                parameters = [uniform(module, size, -1, 1, seed) for seed in range(count)]
                for seed, parameter in enumerate(parameters):
                    parameter.grad = uniform(module, size, -1, 1, seed + count, grad=False)
                return getattr(module.optim, name.split()[0])(parameters, lr=1e-3, **options).step

            yield Case(f"{name}, {count} parameters of {size:,} elements", make)


# -- starting ---------------------------------------------------------------------------------------------------

FIRST_STEP = """
import {module} as m
x = m.ones(10, requires_grad=True)
(x * 2).tanh().sum().backward()
"""


def start_time(code: str, cache: str, runs: int) -> float:
    """The best time of a fresh process."""
    best = math.inf
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMGRAD_CACHE_DIR": cache})
        best = min(best, time.perf_counter() - start)
    return best


def compare_starts() -> None:
    print("\nA fresh process, in seconds")
    with tempfile.TemporaryDirectory() as cache:
        print(f"{'import numba':58s}{start_time('import numba', cache, 5):10.2f}")
        for module in ("numgrad", "torch"):
            print(f"{f'import {module}':58s}{start_time(f'import {module}', cache, 5):10.2f}")
        ours = FIRST_STEP.format(module="numgrad")
        print(f"{'numgrad: import and first step, empty kernel cache':58s}{start_time(ours, cache, 1):10.2f}")
        print(f"{'numgrad: import and first step, warm kernel cache':58s}{start_time(ours, cache, 5):10.2f}")
        theirs = FIRST_STEP.format(module="torch")
        print(f"{'torch: import and first step':58s}{start_time(theirs, cache, 5):10.2f}")


# -- the command ------------------------------------------------------------------------------------------------


def compare(title: str, cases: Iterator[Case], rounds: int, seconds: float) -> None:
    """Time every case and print its line, then the geometric mean of the ratios."""
    import torch

    import numgrad

    print(f"\n{title}")
    print(f"{'':58s}{'numgrad':>10s}{'PyTorch':>10s}{'ratio':>8s}   (times in microseconds)")
    ratios = []
    for case in cases:
        ours, theirs = best_times([case.make(numgrad), case.make(torch)], rounds, seconds)
        ratios.append(ours / theirs)
        print(f"{case.name:58s}{ours * 1e6:10.1f}{theirs * 1e6:10.1f}{ratios[-1]:8.2f}", flush=True)
    print(f"{'geometric mean':78s}{math.exp(sum(map(math.log, ratios)) / len(ratios)):8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", help="any of: small, large, optimizers, start (default: all)")
    parser.add_argument("--threads", type=int, default=numba.get_num_threads(), help="threads for both libraries")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of which the best counts")
    parser.add_argument("--seconds", type=float, default=0.05, help="about how long a round of one program takes")
    parser.add_argument("--elements", type=int, default=2_000_000, help="elements of the large tensors")
    options = parser.parse_args()
    every = ["small", "large", "optimizers", "start"]
    unknown = set(options.sections) - set(every)
    if unknown:
        parser.error(f"unknown section: {', '.join(sorted(unknown))}")
    sections = options.sections or every

    import torch

    import numgrad

    torch.set_num_threads(options.threads)
    numba.set_num_threads(options.threads)
    print(f"numgrad {numgrad.__version__}, PyTorch {torch.__version__}, {options.threads} threads")
    if "small" in sections:
        compare("Chains of 30 operations", small_cases(), options.rounds, options.seconds)
    if "large" in sections:
        title = f"One operation on {options.elements:,} float32, forward and backward"
        compare(title, large_cases(options.elements), options.rounds, options.seconds)
    if "optimizers" in sections:
        compare("One step of an optimizer", optimizers(), options.rounds, options.seconds)
    if "start" in sections:
        compare_starts()


if __name__ == "__main__":
    main()
