"""Programs of pointwise operations that a compiler merges, and loops written by hand that compute the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from timing import Input, Step, tensor_of

from numgrad_kernels.scalar import exp, tanh

from .compiled import Compiled

__all__ = ["programs"]

BETAS = 0.9, 0.999
RATE, EPSILON, UPDATES = 1e-3, 1e-8, 10
GROWTH, EATEN, GAIN, DEATH = 1.1, 0.4, 0.1, 0.4
STEP, STEPS, GENERATIONS = 0.1, 10, 30


def chain(module: Any, size: int, operations: int) -> Step:
    """Pointwise operations, each fourth of them a tanh, the sum, and the gradient."""

    def program(x: Any) -> Any:
        y = x
        for _ in range(operations // 4):
            y = ((y * 1.5 + 0.25) * y).tanh()
        loss = y.sum()
        return (loss, *module.autograd.grad(loss, (x,)))

    return _step(module, program, Input((size,)))


def softmax(module: Any, rows: int, columns: int) -> Step:
    """Softmax over rows by its formula, and its gradient."""

    def program(x: Any, gradient: Any) -> Any:
        powers = (x - x.detach().amax(-1, keepdim=True)).exp()
        y = powers / powers.sum(-1, keepdim=True)
        return (y, *module.autograd.grad(y, (x,), gradient))

    return _step(module, program, Input((rows, columns)), Input((rows, columns), grad=False))


def layer_norm(module: Any, rows: int, columns: int) -> Step:
    """Layer norm over rows by its formula, and its gradients."""

    def program(x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
        centered = x - x.mean(-1, keepdim=True)
        y = centered / ((centered * centered).mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias
        return (y, *module.autograd.grad(y, (x, weight, bias), gradient))

    large, small = (rows, columns), (columns,)
    return _step(module, program, Input(large), Input(small), Input(small), Input(large, grad=False))


def adam(module: Any, size: int) -> Step:
    """The tenth update of Adam by its formula."""

    def program(value: Any, mean: Any, square: Any, gradient: Any) -> Any:
        mean = mean * BETAS[0] + gradient * (1 - BETAS[0])
        square = square * BETAS[1] + gradient * gradient * (1 - BETAS[1])
        change = mean / (1 - BETAS[0] ** UPDATES) / ((square / (1 - BETAS[1] ** UPDATES)).sqrt() + EPSILON)
        return value - change * RATE, mean, square

    return _step(module, program, *[Input((size,), low, grad=False) for low in (-1, -1, 0, -1)])


def lotka_volterra(module: Any, size: int) -> Step:
    """Steps of the classical Runge-Kutta method for prey and predators, and the gradients of their sum."""

    def slopes(x: Any, y: Any) -> tuple[Any, Any]:
        return x * (GROWTH - y * EATEN), y * (x * GAIN - DEATH)

    def program(prey: Any, predators: Any) -> Any:
        x, y = prey, predators
        for _ in range(STEPS):
            k1, l1 = slopes(x, y)
            k2, l2 = slopes(x + k1 * (STEP / 2), y + l1 * (STEP / 2))
            k3, l3 = slopes(x + k2 * (STEP / 2), y + l2 * (STEP / 2))
            k4, l4 = slopes(x + k3 * STEP, y + l3 * STEP)
            x = x + (k1 + (k2 + k3) * 2 + k4) * (STEP / 6)
            y = y + (l1 + (l2 + l3) * 2 + l4) * (STEP / 6)
        loss = (x + y).sum()
        return (loss, *module.autograd.grad(loss, (prey, predators)))

    return _step(module, program, Input((size,), 1, 2), Input((size,), 1, 2))


def logistic_map(module: Any, size: int) -> Step:
    """Generations of x -> r x (1 - x), and the gradients of the sum of the last."""

    def program(start: Any, r: Any) -> Any:
        x = start
        for _ in range(GENERATIONS):
            x = r * x * (1 - x)
        loss = x.sum()
        return (loss, *module.autograd.grad(loss, (start, r)))

    return _step(module, program, Input((size,), 0.1, 0.9), Input((size,), 1.5, 2.9))


def _step(module: Any, program: Callable[..., Any], *inputs: Input) -> Step:
    return Step(program, tuple(tensor_of(module, value, seed) for seed, value in enumerate(inputs)))


# --- by hand: loops over blocks of elements, whose intermediate values stay in the cache

#: Elements of a block.
BLOCK = 256

#: Numbers in float32: a literal would be a float64 in a loop.
_0, _1, _2, _1_5, _0_25, _EPS = map(np.float32, (0, 1, 2, 1.5, 0.25, 1e-5))
_B1, _C1, _B2, _C2 = [np.float32(each) for beta in BETAS for each in (beta, 1 - beta)]
_D1, _D2 = [np.float32(1 - beta**UPDATES) for beta in BETAS]
_RATE, _TINY = np.float32(RATE), np.float32(EPSILON)
_GROWTH, _EATEN, _GAIN, _DEATH = map(np.float32, (GROWTH, EATEN, GAIN, DEATH))
_H, _H2, _H3, _H6 = [np.float32(STEP / part) for part in (1, 2, 3, 6)]

_loop = njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")


def _by_hand(loop: Callable[..., Any], *like: int) -> Callable[..., tuple[Any, ...]]:
    """Return a function that passes its arrays and results to a loop; the results are shaped like these arguments.

    The memory of the results is kept.  If the loop returns a loss, this is the first result.
    """
    results: list[Any] = []

    def program(*arrays: Any) -> tuple[Any, ...]:
        if not results:
            results.extend(np.empty_like(arrays[place]) for place in like)
        loss = loop(*arrays, *results)
        return tuple(results) if loss is None else (np.asarray(loss, np.float32), *results)

    return program


def _chain_loop(operations: int) -> Callable[..., Any]:
    count = operations // 4

    @_loop
    def loop(every, slopes):
        kept = np.empty((count + 1, BLOCK), np.float32)
        total = _0
        for first in range(0, every.size, BLOCK):
            x, slope = every[first : first + BLOCK], slopes[first : first + BLOCK]
            size = x.size
            for i in range(size):
                kept[0, i] = x[i]
                slope[i] = _1
            for n in range(count):
                for i in range(size):
                    kept[n + 1, i] = tanh((kept[n, i] * _1_5 + _0_25) * kept[n, i])
            for i in range(size):
                total += kept[count, i]
            for n in range(count - 1, -1, -1):
                for i in range(size):
                    y, t = kept[n, i], kept[n + 1, i]
                    slope[i] *= (_1 - t * t) * (_2 * _1_5 * y + _0_25)
        return total

    return loop


@_loop
def _softmax_loop(x, gradient, y, slope):
    rows, columns = x.shape
    for row in range(rows):
        most, total, product = x[row, 0], _0, _0
        for i in range(columns):
            most = max(most, x[row, i])
        for i in range(columns):
            y[row, i] = exp(x[row, i] - most)
            total += y[row, i]
        share = _1 / total
        for i in range(columns):
            y[row, i] *= share
            product += y[row, i] * gradient[row, i]
        for i in range(columns):
            slope[row, i] = y[row, i] * (gradient[row, i] - product)


@_loop
def _layer_norm_loop(x, weight, bias, gradient, y, slope, of_weight, of_bias):
    rows, columns = x.shape
    part = _1 / np.float32(columns)
    of_weight[:], of_bias[:] = _0, _0
    for row in range(rows):
        total, squares, sum_, product = _0, _0, _0, _0
        for i in range(columns):
            total += x[row, i]
        mean = total * part
        for i in range(columns):
            squares += (x[row, i] - mean) * (x[row, i] - mean)
        scale = _1 / np.sqrt(squares * part + _EPS)
        for i in range(columns):
            normal, g = (x[row, i] - mean) * scale, gradient[row, i]
            y[row, i] = normal * weight[i] + bias[i]
            of_weight[i] += g * normal
            of_bias[i] += g
            sum_ += g * weight[i]
            product += g * weight[i] * normal
        sum_, product = sum_ * part, product * part
        for i in range(columns):
            normal = (x[row, i] - mean) * scale
            slope[row, i] = scale * (gradient[row, i] * weight[i] - sum_ - normal * product)


@_loop
def _adam_loop(value, mean, square, gradient, new_value, new_mean, new_square):
    for i in range(value.size):
        g = gradient[i]
        m = mean[i] * _B1 + g * _C1
        s = square[i] * _B2 + g * g * _C2
        new_value[i] = value[i] - m / _D1 / (np.sqrt(s / _D2) + _TINY) * _RATE
        new_mean[i], new_square[i] = m, s


@_loop
def _slopes(x, y):
    return x * (_GROWTH - y * _EATEN), y * (x * _GAIN - _DEATH)


@_loop
def _pulled(x, y, a, b):
    """The gradients of x and y from those of their slopes."""
    return a * (_GROWTH - y * _EATEN) + b * y * _GAIN, b * (x * _GAIN - _DEATH) - a * x * _EATEN


@_loop
def _rk4_forward(xs, ys, next_xs, next_ys):
    for i in range(xs.size):
        x, y = xs[i], ys[i]
        k1, l1 = _slopes(x, y)
        k2, l2 = _slopes(x + k1 * _H2, y + l1 * _H2)
        k3, l3 = _slopes(x + k2 * _H2, y + l2 * _H2)
        k4, l4 = _slopes(x + k3 * _H, y + l3 * _H)
        next_xs[i] = x + (k1 + (k2 + k3) * _2 + k4) * _H6
        next_ys[i] = y + (l1 + (l2 + l3) * _2 + l4) * _H6


@_loop
def _rk4_backward(xs, ys, of_prey, of_predators):
    for i in range(xs.size):
        x1, y1, gx, gy = xs[i], ys[i], of_prey[i], of_predators[i]
        k, m = _slopes(x1, y1)
        x2, y2 = x1 + k * _H2, y1 + m * _H2
        k, m = _slopes(x2, y2)
        x3, y3 = x1 + k * _H2, y1 + m * _H2
        k, m = _slopes(x3, y3)
        a4, b4 = _pulled(x1 + k * _H, y1 + m * _H, gx * _H6, gy * _H6)
        a3, b3 = _pulled(x3, y3, gx * _H3 + a4 * _H, gy * _H3 + b4 * _H)
        a2, b2 = _pulled(x2, y2, gx * _H3 + a3 * _H2, gy * _H3 + b3 * _H2)
        a1, b1 = _pulled(x1, y1, gx * _H6 + a2 * _H2, gy * _H6 + b2 * _H2)
        of_prey[i] = gx + a1 + a2 + a3 + a4
        of_predators[i] = gy + b1 + b2 + b3 + b4


@_loop
def _lotka_volterra_loop(all_prey, all_predators, of_all_prey, of_all_predators):
    xs, ys = np.empty((STEPS + 1, BLOCK), np.float32), np.empty((STEPS + 1, BLOCK), np.float32)
    total = _0
    for first in range(0, all_prey.size, BLOCK):
        prey, predators = all_prey[first : first + BLOCK], all_predators[first : first + BLOCK]
        of_prey, of_predators = of_all_prey[first : first + BLOCK], of_all_predators[first : first + BLOCK]
        size = prey.size
        for i in range(size):
            xs[0, i], ys[0, i] = prey[i], predators[i]
            of_prey[i] = of_predators[i] = _1
        for n in range(STEPS):
            _rk4_forward(xs[n, :size], ys[n, :size], xs[n + 1, :size], ys[n + 1, :size])
        for i in range(size):
            total += xs[STEPS, i] + ys[STEPS, i]
        for n in range(STEPS - 1, -1, -1):
            _rk4_backward(xs[n, :size], ys[n, :size], of_prey, of_predators)
    return total


@_loop
def _logistic_forward(x, r, after):
    for i in range(x.size):
        after[i] = r[i] * x[i] * (_1 - x[i])


@_loop
def _logistic_backward(x, r, gradient, of_r):
    for i in range(x.size):
        of_r[i] += gradient[i] * x[i] * (_1 - x[i])
        gradient[i] *= r[i] * (_1 - x[i] - x[i])


@_loop
def _logistic_loop(all_starts, all_r, of_all_starts, of_all_r):
    kept = np.empty((GENERATIONS + 1, BLOCK), np.float32)
    total = _0
    for first in range(0, all_starts.size, BLOCK):
        start, r = all_starts[first : first + BLOCK], all_r[first : first + BLOCK]
        of_start, of_r = of_all_starts[first : first + BLOCK], of_all_r[first : first + BLOCK]
        size = start.size
        for i in range(size):
            kept[0, i], of_start[i], of_r[i] = start[i], _1, _0
        for n in range(GENERATIONS):
            _logistic_forward(kept[n, :size], r, kept[n + 1, :size])
        for i in range(size):
            total += kept[GENERATIONS, i]
        for n in range(GENERATIONS - 1, -1, -1):
            _logistic_backward(kept[n, :size], r, of_start, of_r)
    return total


def programs(smaller: int = 1) -> list[Compiled]:
    """Return the lines of the table, of arrays that are smaller by this factor."""

    def line(name: str, title: str, make: Any, shape: tuple[int, ...], limit: float, loop: Any) -> Compiled:
        shape = shape[0] // smaller, *shape[1:]
        title = f"{title}, {' x '.join(map(str, shape))}"
        return Compiled(name, title, lambda module: make(module, *shape), limit, "by hand", 1, loop)

    chains = [
        line(
            f"pointwise-{count}", f"{count} pointwise operations",
            lambda module, size, count=count: chain(module, size, count),
            (2_000_000,), 1.5, _by_hand(_chain_loop(count), 0),
        )
        for count in (8, 20)
    ]  # fmt: skip
    return [
        *chains,
        line("softmax", "softmax by its formula", softmax, (2048, 512), 3, _by_hand(_softmax_loop, 0, 0)),
        line(
            "layer-norm", "layer norm by its formula", layer_norm, (2048, 512), 3,
            _by_hand(_layer_norm_loop, 0, 0, 1, 1),
        ),
        line("adam-formula", "Adam by its formula", adam, (1_000_000,), 1.3, _by_hand(_adam_loop, 0, 0, 0)),
        line("rk4", "RK4, Lotka-Volterra", lotka_volterra, (10_000,), 3, _by_hand(_lotka_volterra_loop, 0, 1)),
        line("logistic", "logistic map", logistic_map, (100_000,), 3, _by_hand(_logistic_loop, 0, 1)),
    ]  # fmt: skip
