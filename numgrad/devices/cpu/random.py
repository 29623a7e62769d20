"""Steps that draw random numbers of a Mersenne Twister, whose state goes on; see the kernels.

The functions of a device that draw take the generator, how many numbers and of which dtype, and the parameters of the
distribution; ``into`` is a buffer that may be drawn into.  They return the buffer with the numbers: ``into``, or a new
one, for truth values and integers perhaps of another dtype.  Kernels on one thread are not interrupted by other
threads, so that each draw is in one piece.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import random

from ..memory import no_row
from ..plan import Buffer, Plan, State
from ..recording import by_host

__all__ = [
    "draw_bernoulli", "draw_exponential", "draw_integers", "draw_normal", "draw_normal_pairs", "draw_permutation",
    "draw_uniform", "draw_wide_integers",
]

_DRAWS, _FLOAT64, _BOOL, _INT64 = [np.dtype(kind) for kind in (np.uint64, np.float64, np.bool_, np.int64)]

#: Numbers made at a time: few enough to stay in the processor's cache.
_CHUNK = 1 << 14

#: From this size on PyTorch computes normals in blocks, below it one pair at a time.
_BLOCK = 16


def _state(generator: Any) -> State:
    return State(generator.number, "_state", _DRAWS)


def _room(p: Plan, size: int, dtype: np.dtype) -> tuple[Buffer, int]:
    """Room for the draws that numbers are made of, and how many it takes for each."""
    each = dtype.itemsize // 4
    return p.new(min(size, _CHUNK) * each, _DRAWS), each


def _convert(dtype: np.dtype) -> Any:
    return getattr(random, f"uniform_{dtype.name}")


def draw_uniform(
    p: Plan, generator: Any, size: int, dtype: np.dtype, low: Any, high: Any, into: Buffer | None = None
) -> Buffer:
    """Numbers from [low, high)."""
    out = p.new(size, dtype) if into is None else into
    if size:
        given = _state(generator), *_room(p, size, dtype), low, high, out
        p.run(random.uniform, dtype, *given, convert=_convert(dtype))
    return out


def draw_normal(
    p: Plan, generator: Any, size: int, dtype: np.dtype, mean: Any, std: Any, into: Buffer | None = None
) -> Buffer:
    """Normal numbers, in blocks."""
    if size < _BLOCK:
        return draw_normal_pairs(p, generator, size, dtype, mean, std, into)
    out = p.new(size, dtype) if into is None else into
    given = _state(generator), *_room(p, size, dtype), mean, std, out
    transform = getattr(random, f"normal_{dtype.name}")
    p.run(random.normal, dtype, *given, convert=_convert(dtype), transform=transform)
    return out


def draw_normal_pairs(
    p: Plan, generator: Any, size: int, dtype: np.dtype, mean: Any, std: Any, into: Buffer | None = None
) -> Buffer:
    """Normal numbers as PyTorch makes them for tensors that are not contiguous, whatever their size: by pairs.

    One that is left over waits for the next draw, whatever the dtype of that.
    """
    out, spare = p.new(size, dtype) if into is None else into, State(generator.number, "_spare", _FLOAT64)
    draws = p.new((size + 1) // 2 * 4, _DRAWS)
    p.run(random.normal_pairs, dtype, _state(generator), draws, spare, mean, std, out)
    return out


def draw_bernoulli(
    p: Plan, generator: Any, size: int, dtype: np.dtype, probability: Any, value: Any, into: Buffer | None = None
) -> Buffer:
    """Truth values, each true with the probability, or with one of its own."""
    out = p.new(size, _BOOL)
    own = probability.__class__ is Buffer
    number, numbers = (0.0, probability) if own else (probability, no_row(_FLOAT64))
    if size:
        draws, _ = _room(p, size, numbers.dtype)
        units = p.new(min(size, _CHUNK), numbers.dtype)
        p.run(
            random.bernoulli, numbers.dtype, _state(generator), draws, units, number, numbers, out,
            convert=_convert(numbers.dtype),
        )
    return out


def draw_exponential(
    p: Plan, generator: Any, size: int, dtype: np.dtype, rate: Any, into: Buffer | None = None
) -> Buffer:
    """Numbers from the exponential distribution."""
    units = draw_uniform(p, generator, size, _FLOAT64, 0.0, 1.0)
    return p.host(_exponentials, [p.new(size, dtype)], units, rate, dtype)[0]


def draw_integers(
    p: Plan, generator: Any, size: int, dtype: np.dtype, low: Any, high: Any, into: Buffer | None = None
) -> Buffer:
    """Integers from [low, high), of one draw each."""
    return p.host(_integers, [p.new(size, _INT64)], _draws(p, generator, size), low, high)[0]


def draw_wide_integers(
    p: Plan, generator: Any, size: int, dtype: np.dtype, low: Any, high: Any, into: Buffer | None = None
) -> Buffer:
    """Integers from [low, high), of two draws each; the range is at most 2**64."""
    return p.host(_wide_integers, [p.new(size, _INT64)], _draws(p, generator, 2 * size), low, high)[0]


def draw_permutation(p: Plan, generator: Any, size: int, dtype: np.dtype, into: Buffer | None = None) -> Buffer:
    """The numbers from 0 to ``size - 1`` in random order."""
    draws, out = p.new(size, _DRAWS).part(0, max(size - 1, 0)), p.new(size, _INT64)
    p.run(random.draw, _DRAWS, _state(generator), draws)
    p.run(random.shuffle, _INT64, draws, out)
    return out


def _draws(p: Plan, generator: Any, count: int) -> Buffer:
    """The next 32-bit numbers."""
    draws = p.new(count, _DRAWS)
    p.run(random.draw, _DRAWS, _state(generator), draws)
    return draws


@by_host
def _exponentials(units: np.ndarray, rate: float, dtype: np.dtype) -> tuple[np.ndarray]:
    return ((-np.log1p(-units) / rate).astype(dtype),)


@by_host
def _integers(draws: np.ndarray, low: int, high: int) -> tuple[np.ndarray]:
    if high - low < 2**64:
        draws = draws % np.uint64(high - low)
    if low:
        draws = draws + np.uint64(low % 2**64)
    return (draws.view(_INT64),)


@by_host
def _wide_integers(draws: np.ndarray, low: int, high: int) -> tuple[np.ndarray]:
    return _integers(draws[0::2] << np.uint64(32) | draws[1::2], low, high)  # the first one is the high half
