"""A line search for the strong Wolfe conditions (Nocedal and Wright, "Numerical Optimization", 2006, section 3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..tensors.tensor import Tensor

__all__ = ["minimum_of_cubic", "strong_wolfe"]

#: The defaults of ``decrease``, ``curvature`` and ``narrowest``: see :func:`strong_wolfe`.
_DECREASE, _CURVATURE, _WIDTH = 1e-4, 0.9, 1e-9


class _Point(NamedTuple):
    """A step size with its loss, its gradient, and the slope along the line."""

    size: float
    loss: float
    gradient: Tensor
    slope: float


def strong_wolfe(
    at: Callable[[float], tuple[float, Tensor]],
    size: float,
    direction: Tensor,
    loss: float,
    gradient: Tensor,
    slope: float,
    limit: int,
    decrease: float = _DECREASE,
    curvature: float = _CURVATURE,
    narrowest: float = _WIDTH,
) -> tuple[float, Tensor, float, int]:
    """Find a step along ``direction`` that satisfies the strong Wolfe conditions.

    Steps first grow until a minimum is between the last two; then the bracket shrinks.

    Args:
        at: a function that returns loss and gradient after a step of a given size.
        size: the first step size to try.
        loss, gradient, slope: the values at the start, where the slope is negative.
        limit: the maximum number of steps to try after the first.
        decrease: the part of the decrease predicted by the slope that a step must achieve.
        curvature: the part of the initial slope that may remain.
        narrowest: the search ends when no parameter changes by as much within the bracket.

    Returns:
        The loss and gradient after the step, its size, and the number of steps tried.
    """

    def tried(size: float) -> _Point:
        loss, gradient = at(size)
        return _Point(size, loss, gradient, gradient.dot(direction).item())

    def too_high(point: _Point) -> bool:
        return point.loss > start.loss + decrease * point.size * start.slope

    def level(point: _Point) -> bool:
        return abs(point.slope) <= -curvature * start.slope

    start = before = _Point(0.0, loss, gradient, slope)
    now = tried(size)
    count = 0
    while count < limit:
        if too_high(now) or (count > 1 and now.loss >= before.loss) or (now.slope >= 0 and not level(now)):
            bracket = [before, now]
            break
        if level(now):
            return now.loss, now.gradient, now.size, count + 1
        following = _minimum(before, now, now.size + 0.01 * (now.size - before.size), now.size * 10)
        before, now = now, tried(following)
        count += 1
    else:
        bracket = [start, now]
    low = _lower(bracket)
    longest = direction.abs().max().item()
    stuck = False  # True if the last try was close to an end of the bracket
    while count < limit:
        left, right = sorted((bracket[0].size, bracket[1].size))
        if (right - left) * longest < narrowest:
            break
        size = _minimum(bracket[0], bracket[1], left, right)
        margin = 0.1 * (right - left)
        near = min(right - size, size - left) < margin
        if near and (stuck or size >= right or size <= left):
            size = right - margin if abs(size - right) < abs(size - left) else left + margin
            near = False
        stuck = near
        now = tried(size)
        count += 1
        if too_high(now) or now.loss >= bracket[low].loss:
            bracket[1 - low] = now
            low = _lower(bracket)
            continue
        if not level(now) and now.slope * (bracket[1 - low].size - bracket[low].size) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = now
        if level(now):
            break
    best = bracket[low]
    return best.loss, best.gradient, best.size, count + 1


def _lower(bracket: list[_Point]) -> int:
    """Return the index of the point with the lower loss."""
    return 0 if bracket[0].loss <= bracket[1].loss else 1


def _minimum(first: _Point, second: _Point, low: float, high: float) -> float:
    return minimum_of_cubic(
        (first.size, first.loss, first.slope), (second.size, second.loss, second.slope), low, high
    )


def minimum_of_cubic(first: Sequence[float], second: Sequence[float], low: float, high: float) -> float:
    """Return the minimum within bounds of the cubic through two points with their slopes; without one, the middle.

    A point is given as its position, the value and the slope.
    """
    (start, left, falling), (end, right, rising) = (first, second) if first[0] <= second[0] else (second, first)
    width = end - start
    if width == 0:
        return (low + high) / 2.0
    mean = falling + rising - 3.0 * (left - right) / -width
    square = mean * mean - falling * rising
    if not square >= 0:
        return (low + high) / 2.0
    root = math.sqrt(square)
    rise, run = rising + root - mean, rising - falling + 2.0 * root
    if run == 0:  # a straight line
        return high if rise < 0 else low
    return min(max(end - width * (rise / run), low), high)
