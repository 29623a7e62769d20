"""Steps of normalization of rows, and of sets of channels, and of its gradients."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numgrad_kernels.cpu import normalization

from ..common import set_steps
from ..plan import Buffer, Plan
from .reductions import fold_axis

__all__ = [
    "channels_are_fused", "layer_norm_gradients", "layer_norm_rows", "normalized_channels",
    "normalized_channels_gradients",
]

#: The cost of an element, in additions: see Note [When threads pay].
WEIGHT = 4

#: Greatest and least number of rows over which the gradient of the weight is summed in one piece: few enough to keep
#: the rounding error small, and enough to keep the number of sums small.
ROWS, LEAST = 64, 4

#: Least number of elements of a channel that are worth a loop.
SHORTEST = 16

#: Number of pieces that occupies all threads, and number of elements of a piece that occupies a thread.
PIECES, PIECE = 32, 16384


def layer_norm_rows(
    p: Plan, x: Buffer, weight: Buffer | None, bias: Buffer | None, length: int, count: int, eps: float
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of ``count`` normalized rows of ``length`` elements, of their means, and of their scales.

    A normalized row has mean 0 and variance 1 before it is multiplied by ``weight`` and ``bias`` is added.  Its scale
    is ``1 / sqrt(variance + eps)``.
    """
    dtype = x.dtype
    out, means, scales = p.new(x.size, dtype), p.new(count, dtype), p.new(count, dtype)
    affine = _or_repeated(weight, 1, length, dtype), _or_repeated(bias, 0, length, dtype)
    p.run(normalization.layer_norm_rows, dtype, x, length, *affine, eps, out, means, scales, work=WEIGHT * x.size)
    return out, means, scales


def layer_norm_gradients(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, length: int
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the gradients with respect to ``x``, the weight and the bias."""
    dtype, count = x.dtype, means.size
    rows = min(ROWS, max(-(-count // PIECES), PIECE // max(length, 1), LEAST))
    pieces = -(-count // rows)
    out, parts = p.new(x.size, dtype), p.new(pieces * 2 * length, dtype)
    p.run(
        normalization.layer_norm_gradients, dtype, grad, x, means, scales, length,
        _or_repeated(weight, 1, length, dtype), rows, out, parts, work=WEIGHT * x.size,
    )  # fmt: skip
    sums = parts if pieces == 1 else fold_axis(p, parts, 1, pieces, 2 * length, "sum", dtype)
    return out, sums.part(0, length), sums.part(length, length)


def channels_are_fused(inner: int, across: bool) -> bool:
    """Return True if kernels normalize channels of ``inner`` elements: they are slow for short ones."""
    return inner >= SHORTEST


def normalized_channels(
    p: Plan, x: Buffer, weight: Buffer | None, bias: Buffer | None, channels: int, inner: int, sets: int,
    across: bool, eps: float,
) -> tuple[Buffer, Buffer, Buffer, Buffer]:
    """Return the buffers of normalized sets of channels, of the sets' means, of their scales, and of their variances.

    Each example has ``channels`` channels of ``inner`` elements.  If ``across``, a set is a channel of all examples;
    otherwise it is neighbouring channels of an example.  A normalized set has mean 0 and variance 1 before each channel
    is multiplied by its ``weight`` and its ``bias`` is added.  The scale is ``1 / sqrt(variance + eps)``.
    """
    dtype = x.dtype
    out, means, scales, variances = [p.new(size, dtype) for size in (x.size, sets, sets, sets)]
    affine = _or_repeated(weight, 1, channels, dtype), _or_repeated(bias, 0, channels, dtype)
    p.run(
        normalization.normalized_planes, dtype, x, *affine, inner, channels,
        *set_steps(channels, x.size // inner, sets, across), eps, out, means, scales, variances, work=WEIGHT * x.size,
    )  # fmt: skip
    return out, means, scales, variances


def normalized_channels_gradients(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, channels: int, inner: int,
    across: bool, constant: bool = False,
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the gradients with respect to ``x``, the weight and the bias.

    Means and scales are those of ``x``, or else ``constant``.
    """
    dtype, count = x.dtype, x.size // inner
    out, parts = p.new(x.size, dtype), p.new(2 * count, dtype)
    p.run(
        normalization.normalized_planes_gradients, dtype, grad, x, means, scales,
        _or_repeated(weight, 1, channels, dtype), inner, channels, *set_steps(channels, count, means.size, across),
        int(constant), out, parts, work=WEIGHT * x.size,
    )  # fmt: skip
    sums = fold_axis(p, parts, 2, count // channels, channels, "sum", dtype)
    return out, sums.part(0, channels), sums.part(channels, channels)


def _or_repeated(buffer: Buffer | None, number: int, length: int, dtype: np.dtype) -> Any:
    """Return a weight or a bias; if it is None, an array that repeats a number ``length`` times."""
    return _repeated(number, length, dtype) if buffer is None else buffer


@functools.lru_cache(maxsize=64)
def _repeated(number: int, length: int, dtype: np.dtype) -> np.ndarray:
    return np.full(length, number, dtype)
