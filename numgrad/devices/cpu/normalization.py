"""Normalization of rows, and of sets of planes, and its gradients."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numgrad_kernels.cpu import normalization

from ..plan import Buffer, Plan
from .reductions import fold_axis

__all__ = ["layer_norm_gradients", "layer_norm_rows", "normalized_planes", "normalized_planes_gradients"]

#: How much work an element is, in additions: see Note [When threads pay].
WEIGHT = 4

#: Rows over which the gradient of the weight is summed in one piece: so few that the rounding error stays small, so
#: many that their sums are little beside them.
ROWS, LEAST = 64, 4

#: Elements of a plane from which on it is worth a loop.
SHORTEST = 16

#: Pieces enough for all threads, and elements of a piece that are worth a thread's while.
PIECES, PIECE = 32, 16384


def layer_norm_rows(
    p: Plan, x: Buffer, weight: Buffer | None, bias: Buffer | None, length: int, count: int, eps: float
) -> tuple[Buffer, Buffer, Buffer]:
    """``count`` rows of ``length`` elements with mean 0 and variance 1, times ``weight``, plus ``bias``.

    Besides these: the mean of each row, and 1 by the square root of its variance and ``eps``.
    """
    dtype = x.dtype
    out, means, scales = p.new(x.size, dtype), p.new(count, dtype), p.new(count, dtype)
    given = _given(weight, 1, length, dtype), _given(bias, 0, length, dtype)
    p.run(
        normalization.layer_norm_rows, dtype, x, length, *given, eps, out, means, scales, work=WEIGHT * x.size
    )
    return out, means, scales


def layer_norm_gradients(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, length: int
) -> tuple[Buffer, Buffer, Buffer]:
    """The gradients for what is normalized, for the weight and for the bias."""
    dtype, count = x.dtype, means.size
    rows = min(ROWS, max(-(-count // PIECES), PIECE // max(length, 1), LEAST))
    pieces = -(-count // rows)
    out, parts = p.new(x.size, dtype), p.new(pieces * 2 * length, dtype)
    p.run(
        normalization.layer_norm_gradients, dtype, grad, x, means, scales, length, _given(weight, 1, length, dtype),
        rows, out, parts, work=WEIGHT * x.size,
    )  # fmt: skip
    sums = parts if pieces == 1 else fold_axis(p, parts, 1, pieces, 2 * length, "sum", dtype)
    return out, sums.part(0, length), sums.part(length, length)


def normalized_planes(
    p: Plan, x: Buffer, weight: Buffer | None, bias: Buffer | None, channels: int, inner: int, sets: int,
    across: bool, eps: float,
) -> tuple[Buffer, Buffer, Buffer, Buffer] | None:
    """Sets of planes with mean 0 and variance 1, times their channels' ``weight``, plus ``bias``.

    Of the planes, each of ``inner`` elements and with its channel, those of a channel are a set if ``across``, else
    neighbours are.  Besides: the mean of each set, 1 by the square root of its variance and ``eps``, and the variance.
    None, and no step, where planes are too short.
    """
    if inner < SHORTEST:
        return None
    dtype = x.dtype
    out, means, scales, variances = [p.new(size, dtype) for size in (x.size, sets, sets, sets)]
    given = _given(weight, 1, channels, dtype), _given(bias, 0, channels, dtype)
    p.run(
        normalization.normalized_planes, dtype, x, *given, inner, channels,
        *_steps(channels, x.size // inner, sets, across), eps, out, means, scales, variances, work=WEIGHT * x.size,
    )  # fmt: skip
    return out, means, scales, variances


def normalized_planes_gradients(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, channels: int, inner: int,
    across: bool,
) -> tuple[Buffer, Buffer, Buffer] | None:
    """The gradients for what is normalized so, for the weight and for the bias."""
    if inner < SHORTEST:
        return None
    dtype, count = x.dtype, x.size // inner
    out, parts = p.new(x.size, dtype), p.new(2 * count, dtype)
    p.run(
        normalization.normalized_planes_gradients, dtype, grad, x, means, scales, _given(weight, 1, channels, dtype),
        inner, channels, *_steps(channels, count, means.size, across), out, parts, work=WEIGHT * x.size,
    )  # fmt: skip
    sums = fold_axis(p, parts, 2, count // channels, channels, "sum", dtype)
    return out, sums.part(0, channels), sums.part(channels, channels)


def _given(row: Buffer | None, number: int, length: int, dtype: np.dtype) -> Any:
    """A weight or bias, or in place of one that is absent so many times a number."""
    return _repeated(number, length, dtype) if row is None else row


@functools.lru_cache(maxsize=64)
def _repeated(number: int, length: int, dtype: np.dtype) -> np.ndarray:
    return np.full(length, number, dtype)


def _steps(channels: int, count: int, sets: int, across: bool) -> tuple[int, int, int]:
    """How many planes a set has, how far apart the first ones of two sets are, and how far those of one."""
    planes = count // max(sets, 1)
    return (planes, 1, channels) if across else (planes, planes, 1)
