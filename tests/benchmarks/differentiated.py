"""Derivatives of loops by ``numgrad.differentiable``: times compared with the functions themselves and with PyTorch.

    python tests/benchmarks/differentiated.py
    python tests/benchmarks/differentiated.py --only kalman --no-torch

The programs are those of ``tests/adjoints/known_programs.py``, with larger inputs.  PyTorch runs them as its users
write them, one operation after another: with tensors for numbers where each step depends on the last, and with whole
arrays where the order does not matter.
"""

from __future__ import annotations

import argparse
import builtins
import functools
import math
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from adjoints import known_programs as known


class Program(NamedTuple):
    """A function, its arguments, and the positions of those that it is differentiated by.

    ``in_pytorch`` takes PyTorch and the arguments; by default the function's own code runs with tensors.
    """

    function: Callable[..., Any]
    arguments: list[Any]
    by: tuple[int, ...]
    in_pytorch: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        return self.function.__name__.replace("_", " ")


def with_tensors(torch: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy and ``math`` as one of PyTorch."""

    def of_number_or_tensor(name: str) -> Callable[[Any], Any]:
        return lambda x: getattr(torch, name)(x) if isinstance(x, torch.Tensor) else getattr(math, name)(x)

    numbers = {name: of_number_or_tensor(name) for name in ("sin", "exp", "log", "sqrt", "erf")}
    scope = {
        "np": types.SimpleNamespace(**vars(torch) | {"copy": torch.clone}),
        "math": types.SimpleNamespace(**vars(math) | numbers),
        "__builtins__": builtins,
    }
    return types.FunctionType(function.__code__, scope)


def rk4(torch: Any, rhs: Any, *arguments: Any) -> Any:
    return with_tensors(torch, known.rk4)(with_tensors(torch, known.predator), *arguments)


def hmm(torch: Any, log_transitions: Any, log_emissions: Any, observed: Any) -> Any:
    f = log_emissions[:, observed[0]]
    for t in range(1, len(observed)):
        f = torch.logsumexp(f[:, None] + log_transitions, 0) + log_emissions[:, observed[t]]
    return torch.logsumexp(f, 0)


def soft_dtw(torch: Any, D: Any, gamma: float) -> Any:
    n, m = D.shape
    far = torch.tensor(1e10)
    R = [[far] * (m + 1) for _ in range(n + 1)]
    R[0][0] = torch.tensor(0.0)
    for i in range(n):
        for j in range(m):
            near = torch.stack([R[i][j], R[i][j + 1], R[i + 1][j]])
            R[i + 1][j + 1] = D[i, j] - gamma * torch.logsumexp(-near / gamma, 0)
    return R[n][m]


def conjugate_gradients(torch: Any, data: Any, indices: Any, pointers: Any, b: Any) -> Any:
    rows = torch.repeat_interleave(torch.arange(len(b)), pointers[1:] - pointers[:-1])
    x, r, p = torch.zeros(len(b)), b, b
    rr = r @ r
    while rr > 1e-9:
        q = torch.zeros(len(b)).index_add(0, rows, data * p[indices])
        alpha = rr / (p @ q)
        x, r = x + alpha * p, r - alpha * q
        new = r @ r
        p, rr = r + new / rr * p, new
    return (x * x).sum()


def american_put(torch: Any, spot: Any, strike: Any, sigma: Any, rate: Any, steps: int, count: int) -> Any:
    ds, dt = 3.0 * strike / count, 1.0 / steps
    i = torch.arange(count + 1.0)
    exercised = strike - i * ds
    value = exercised.clamp(min=0.0)
    i = i[1:-1]
    gamma = sigma * sigma * i * i
    for _ in range(steps):
        below, here, above = value[:-2], value[1:-1], value[2:]
        new = here + dt * (0.5 * gamma * (above - 2 * here + below) + 0.5 * rate * i * (above - below) - rate * here)
        value = torch.cat([value[:1], torch.maximum(new, exercised[1:-1]), value[-1:]])
    k = int(spot / ds)
    w = spot / ds - k
    return (1 - w) * value[k] + w * value[k + 1]


def lennard_jones(torch: Any, x: Any, neighbours: Any, counts: Any, cutoff: float) -> Any:
    there = torch.arange(neighbours.shape[1]) < counts[:, None]
    i = torch.arange(len(x)).repeat_interleave(counts)
    r2 = (x[i] - x[neighbours[there]]).square().sum(1)
    s6 = 1.0 / r2[r2 <= cutoff * cutoff] ** 3
    return (4.0 * (s6 * s6 - s6)).sum()


def spline(torch: Any, knots: Any, values: Any, slopes: Any, points: Any) -> Any:
    k = (torch.searchsorted(knots, points) - 1).clamp(0, len(knots) - 2)
    h = knots[k + 1] - knots[k]
    t = (points - knots[k]) / h
    cubic = (1 - t) ** 2 * ((1 + 2 * t) * values[k] + t * h * slopes[k])
    cubic = cubic + t**2 * ((3 - 2 * t) * values[k + 1] + (t - 1) * h * slopes[k + 1])
    return (cubic + (1 - t) * values[k] + t * values[k + 1]).sum()


def mixture(torch: Any, alphas: Any, means: Any, packed: Any, points: Any) -> Any:
    n = means.shape[1]
    rows, columns = torch.tril_indices(n, n, -1)
    factors = torch.diag_embed(packed[:, :n].exp())
    factors[:, rows, columns] = packed[:, n:]
    z = torch.einsum("kij,pkj->pki", factors, points[:, None] - means).square().sum(2)
    return torch.logsumexp(alphas + packed[:, :n].sum(1) - 0.5 * z, 1).sum()


ray = numba.njit(known.ray_march)
solve = numba.njit(known.implied_volatility)


def ray_march(grid: Any, starts: Any) -> Any:
    total = 0.0
    for k in range(starts.shape[0]):
        total += ray(grid, starts[k, 0], starts[k, 1], 0.87, 0.71)
    return total


def implied_volatility(prices: Any, strikes: Any) -> Any:
    total = 0.0
    for k in range(prices.shape[0]):
        total += solve(prices[k], strikes[k])
    return total


def rays(torch: Any, grid: Any, starts: Any) -> Any:
    march = with_tensors(torch, known.ray_march)
    return sum(march(grid, x, y, 0.87, 0.71) for x, y in starts.tolist())


def volatilities(torch: Any, prices: Any, strikes: Any) -> Any:
    s = torch.full_like(prices, 0.3)
    for _ in range(50):
        d1 = (torch.log(1.0 / strikes) + 0.5 * s * s) / s
        given = 0.5 * (1.0 + torch.erf(d1 / math.sqrt(2.0)))
        given = given - strikes * 0.5 * (1.0 + torch.erf((d1 - s) / math.sqrt(2.0)))
        step = (given - prices) / (torch.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi))
        s = s - step
        if (step.abs() < 1e-13).all():
            break
    return s.sum()


def tridiagonal(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the matrix of a chain of springs, in compressed rows."""
    entries = [(i, j, 2.2 if i == j else -1.0) for i in range(n) for j in (i - 1, i, i + 1) if 0 <= j < n]
    rows, columns, values = map(np.array, zip(*entries, strict=True))
    return values, columns, np.searchsorted(rows, np.arange(n + 1))


def lattice(side: int) -> list[Any]:
    """Return particles near the places of a lattice, their neighbours and the numbers of these."""
    draw = np.random.default_rng(2)
    x = 1.2 * np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3) + 0.05 * draw.normal(size=(side**3, 3))
    near = np.linalg.norm(x[:, None] - x, axis=-1) < 3.0
    np.fill_diagonal(near, False)
    counts = near.sum(1)
    neighbours = np.zeros((len(x), counts.max()), np.int64)
    for own, others in zip(neighbours, near, strict=True):
        own[: others.sum()] = np.flatnonzero(others)
    return [x, neighbours, counts, 2.5]


def programs(scale: int = 100) -> list[Program]:
    """Return the programs; ``scale`` is 100 for the sizes to be timed, and 1 for the smallest."""
    draw = np.random.default_rng(0)
    predator = numba.njit(known.predator)
    states, seen = 8, 10
    return [
        Program(known.rk4, [predator, np.array([1.0, 0.5]), np.array([1.1, 0.4]), 20 * scale, 0.005], (1, 2), rk4),
        Program(known.adaptive, [np.array([1.5, 3.0]), 1e-4 / scale**2], (0,)),
        Program(known.kalman, [
            0.9 * np.eye(4) + 0.02 * draw.normal(size=(4, 4)), draw.normal(size=(2, 4)), 0.1 * np.eye(4),
            0.5 * np.eye(2), draw.normal(size=(5 * scale, 2)),
        ], (0, 1, 2, 3)),
        Program(known.hmm, [
            np.log(draw.dirichlet(np.ones(states), states)), np.log(draw.dirichlet(np.ones(seen), states)),
            draw.integers(0, seen, 10 * scale),
        ], (0, 1), hmm),
        Program(known.soft_dtw, [draw.random((4 + scale, 3 + scale)), 0.7], (0,), soft_dtw),
        Program(known.conjugate_gradients, [*tridiagonal(20 * scale), draw.normal(size=20 * scale)], (0, 3),
                conjugate_gradients),
        Program(ray_march, [draw.random((100, 100)) * 0.02, 50 * draw.random((scale, 2))], (0,), rays),
        Program(known.american_put, [1.03, 1.0, 0.3, 0.05, 20 * scale + 100, 60], (0, 1, 2, 3), american_put),
        Program(known.lennard_jones, lattice(3 + scale // 10), (0,), lennard_jones),
        Program(known.spline, [
            np.linspace(0, 1, 50), draw.normal(size=50), draw.normal(size=50), draw.random(200 * scale),
        ], (1, 2), spline),
        Program(known.mixture, [
            draw.normal(size=4), draw.normal(size=(4, 5)), 0.3 * draw.normal(size=(4, 15)),
            draw.normal(size=(20 * scale, 5)),
        ], (0, 1, 2), mixture),
        Program(known.garch, [np.array([0.1, 0.1, 0.8]), draw.normal(size=100 * scale)], (0,)),
        Program(implied_volatility, [0.12 + 0.01 * draw.random(20 * scale), np.full(20 * scale, 1.1)], (0, 1),
                volatilities),
    ]


def tensors(module: Any, program: Program) -> list[Any]:
    """Return the arguments of a program as tensors of a module; those that it is differentiated by need gradients."""
    made = []
    for place, each in enumerate(program.arguments):
        if place in program.by:
            made.append(module.tensor(each, dtype=module.float64, requires_grad=True))
        else:
            made.append(module.from_numpy(each) if isinstance(each, np.ndarray) else each)
    return made


def prepared(module: Any, program: Program) -> tuple[Callable[[], Any], list[Any]]:
    """Return the program as a module runs it, and the inputs that it is differentiated by."""
    arguments = tensors(module, program)
    inputs = [arguments[place] for place in program.by]
    if module.__name__ == "numgrad":
        function = module.differentiable(program.function)
    elif program.in_pytorch is None:
        function = with_tensors(module, program.function)
    else:
        function = functools.partial(program.in_pytorch, module)
    return lambda: function(*arguments), inputs


def best(function: Callable[[], Any], rounds: int) -> float:
    """Return the shortest time of a call, in milliseconds of the processor, after one that is not counted.

    Other programs on the machine lengthen that less than the time that passes.
    """
    times = []
    for _ in range(rounds + 1):
        start = time.process_time()
        function()
        times.append(1e3 * (time.process_time() - start))
    return min(times[1:] or times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--no-torch", action="store_true", help="without PyTorch")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of which the best counts")
    options = parser.parse_args()
    torch: Any = None
    if not options.no_torch:
        import torch

        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
    import numgrad

    print("| program | function | backward | ratio | both | PyTorch | factor |\n|---|---|---|---|---|---|---|")
    for program in programs():
        if options.only not in program.name:
            continue
        call, inputs = prepared(numgrad, program)
        compiled = numba.njit(program.function)
        function = best(lambda: compiled(*program.arguments), options.rounds)  # noqa: B023
        result = call()
        backward = best(lambda: numgrad.autograd.grad(result, inputs, retain_graph=True), options.rounds)  # noqa: B023
        both = best(lambda: numgrad.autograd.grad(call(), inputs), options.rounds)  # noqa: B023
        row = [f"{function:.3f} ms", f"{backward:.3f} ms", f"{backward / function:.1f}", f"{both:.3f} ms"]
        if torch is not None:
            slow, of = prepared(torch, program)
            theirs = best(lambda: torch.autograd.grad(slow(), of), 1)  # noqa: B023
            row += [f"{theirs:.1f} ms", f"{theirs / both:.0f}"]
        print("|", " | ".join([program.name, *row]), "|", flush=True)


if __name__ == "__main__":
    main()
