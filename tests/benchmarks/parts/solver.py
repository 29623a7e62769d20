"""Gradients through a solver of differential equations: many small operations in one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from timing import Case, Input, Part, Program, placed, tensor_of

__all__ = ["DIFFERENCE", "STAGES", "dormand_prince", "one_step", "parts", "stacked", "summed"]

#: Adds up slopes, each times its weight and the step.
Mix = Callable[[list[Any], tuple[float, ...], float], Any]

#: Dormand's and Prince's stages: the time of each and the weights of those before it; the last row is the solution of
#: fifth order.
STAGES = (
    (0.0, ()),
    (1 / 5, (1 / 5,)),
    (3 / 10, (3 / 40, 9 / 40)),
    (4 / 5, (44 / 45, -56 / 15, 32 / 9)),
    (8 / 9, (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729)),
    (1.0, (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656)),
    (1.0, (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)),
)

#: The weights of the stages in the difference to the solution of fourth order.
DIFFERENCE = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def summed(slopes: list[Any], weights: tuple[float, ...], step: float) -> Any:
    """Compute the sums by additions of products with numbers."""
    first, *others = [(slope, weight * step) for slope, weight in zip(slopes, weights, strict=True) if weight]
    total = first[0] * first[1]
    for slope, factor in others:
        total = total + slope * factor
    return total


def stacked(module: Any) -> Mix:
    """Compute the sums by one product of all slopes with all weights."""
    rows = {weights: module.tensor(weights) for weights in (*[row for _, row in STAGES[1:]], DIFFERENCE)}
    return lambda slopes, weights, step: module.stack(slopes, -1) @ (rows[weights] * step)


def one_step(
    function: Callable[[float, Any], Any], time: float, state: Any, slope: Any, step: float, tolerance: float,
    mixed: Mix,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The state a step after ``time``, its slope, and the error of the step: the root of the mean square over
    ``tolerance * (1 + abs(state))``.
    """
    slopes = [slope]
    for moment, weights in STAGES[1:]:
        reached = state + mixed(slopes, weights, step)
        slopes.append(function(time + moment * step, reached))
    scale = (state.detach().abs().maximum(reached.detach().abs()) + 1) * tolerance
    error = (mixed([each.detach() for each in slopes], DIFFERENCE, step) / scale).square().mean().sqrt()
    return reached, slopes[-1], error


def dormand_prince(
    function: Callable[[float, Any], Any], state: Any, end: float, tolerance: float, mixed: Mix, step: float = 0.1
) -> tuple[Any, int]:
    """The state at the time ``end`` from that at 0, and how many steps were tried.

    The length of a step follows from the error of the last.
    """
    time, tried = 0.0, 0
    slope = function(time, state)
    while time < end:
        step = min(step, end - time)
        reached, last, size = one_step(function, time, state, slope, step, tolerance, mixed)
        error = size.item()
        tried += 1
        if error <= 1:
            time, state, slope = time + step, reached, last  # which is the first of the next step
        step *= min(5.0, max(0.2, 0.9 * max(error, 1e-10) ** -0.2))
    return state, tried


def _network(module: Any, mixed: Mix) -> Program:
    """The loss of the final states, and its gradient for the network's parameters."""
    nn = module.nn
    module.manual_seed(0)
    model = placed(nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2)))
    parameters = list(model.parameters())
    states, target = (tensor_of(module, Input((20, 2), -2, 2, grad=False), seed) for seed in (0, 1))

    def program() -> Any:
        final, tried = dormand_prince(lambda time, state: model(state), states, 10.0, 1e-5, mixed)
        return tried, module.autograd.grad((final - target).abs().mean(), parameters)

    return program


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Twenty two-dimensional states that a small network moves."""
    yield Part("Gradients through an ODE solver (Dormand-Prince) of a network 2-50-2, one thread", [
        Case("20 states of 2 numbers, slopes summed", lambda module: _network(module, summed)),
        Case("20 states of 2 numbers, slopes stacked", lambda module: _network(module, stacked(module))),
    ], 1.0, threads=1)
