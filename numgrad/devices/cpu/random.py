"""Steps that draw random numbers from a Mersenne Twister and advance its state; see the kernels.

The functions that draw take the generator, a buffer for the numbers and the parameters of the distribution.  They
return that buffer, or a new one, possibly of another dtype for truth values and integers.  Other threads do not
interrupt a kernel on one thread, so each draw is atomic.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numgrad_kernels.cpu import random, sampling

from ..memory import no_buffer
from ..plan import Buffer, GeneratorState, Plan

__all__ = [
    "draw_bernoulli", "draw_binomial", "draw_cauchy", "draw_exponential", "draw_gamma", "draw_geometric",
    "draw_integers", "draw_log_gamma", "draw_log_normal", "draw_normal", "draw_normal_pairs", "draw_permutation",
    "draw_poisson", "draw_uniform", "draw_wide_integers",
]

_DRAWS, _FLOAT64, _BOOL, _INT64 = [np.dtype(kind) for kind in (np.uint64, np.float64, np.bool_, np.int64)]

#: Number of elements drawn at a time: few enough to stay in the processor's cache.
_CHUNK = 1 << 14

#: Least number of elements for which PyTorch computes normals in blocks; it computes fewer in pairs.
_BLOCK = 16


def _state(generator: Any) -> GeneratorState:
    return GeneratorState(generator.number, "_state", _DRAWS)


def _second_normal(generator: Any) -> GeneratorState:
    return GeneratorState(generator.number, "_second_normal", _FLOAT64)


def _scratch(p: Plan, size: int, dtype: np.dtype) -> tuple[Buffer, int]:
    """Return the buffer for the draws, and the number of draws for an element."""
    each = dtype.itemsize // 4
    return p.new(min(size, _CHUNK) * each, _DRAWS), each


@functools.cache
def _convert(dtype: np.dtype, distribution: str = "uniform") -> Any:
    return getattr(random, f"{distribution}_{dtype.name}")


def draw_uniform(p: Plan, generator: Any, out: Buffer, low: Any, high: Any) -> Buffer:
    """Return the buffer of numbers from [low, high)."""
    if out.size:
        operands = _state(generator), *_scratch(p, out.size, out.dtype), low, high, out
        p.run(random.uniform, out.dtype, *operands, convert=_convert(out.dtype))
    return out


def draw_normal(p: Plan, generator: Any, out: Buffer, mean: Any, std: Any) -> Buffer:
    """Return the buffer of normally distributed numbers, computed in blocks."""
    if out.size < _BLOCK:
        return draw_normal_pairs(p, generator, out, mean, std)
    operands = _state(generator), *_scratch(p, out.size, out.dtype), mean, std, out
    transform = _convert(out.dtype, "normal")
    p.run(random.normal, out.dtype, *operands, convert=_convert(out.dtype), transform=transform)
    return out


def draw_normal_pairs(p: Plan, generator: Any, out: Buffer, mean: Any, std: Any) -> Buffer:
    """Return the buffer of normally distributed numbers, computed in pairs, as in PyTorch for non-contiguous tensors.

    The second number of the last pair may remain for the next draw, of any dtype.
    """
    draws = p.new((out.size + 1) // 2 * 4, _DRAWS)
    p.run(random.normal_pairs, out.dtype, _state(generator), draws, _second_normal(generator), mean, std, out)
    return out


def draw_bernoulli(p: Plan, generator: Any, out: Buffer, probability: Any, value: Any) -> Buffer:
    """Return the buffer of truth values, each true with the probability, or with its own if that is a buffer."""
    truths = p.new(out.size, _BOOL)
    several = probability.__class__ is Buffer
    number, numbers = (0.0, probability) if several else (probability, no_buffer(_FLOAT64))
    if out.size:
        draws, units = _scratch(p, out.size, numbers.dtype)[0], p.new(min(out.size, _CHUNK), numbers.dtype)
        operands = _state(generator), draws, units, number, numbers, truths
        p.run(random.bernoulli, numbers.dtype, *operands, convert=_convert(numbers.dtype))
    return truths


def draw_exponential(p: Plan, generator: Any, out: Buffer, rate: Any) -> Buffer:
    """Return the buffer of exponentially distributed numbers."""
    units = draw_uniform(p, generator, p.new(out.size, _FLOAT64), 0.0, 1.0)
    return p.host(_exponentials, [p.new(out.size, out.dtype)], units, rate, out.dtype)[0]


def draw_geometric(p: Plan, generator: Any, out: Buffer, probability: Any) -> Buffer:
    """Return the buffer of numbers of trials up to the first success."""
    units = draw_uniform(p, generator, p.new(out.size, _FLOAT64), 0.0, 1.0)
    return p.host(_geometric, [p.new(out.size, out.dtype)], units, probability, out.dtype)[0]


def draw_cauchy(p: Plan, generator: Any, out: Buffer, median: Any, scale: Any) -> Buffer:
    """Return the buffer of numbers with the Cauchy distribution."""
    units = draw_uniform(p, generator, p.new(out.size, _FLOAT64), 0.0, 1.0)
    return p.host(_cauchy, [p.new(out.size, out.dtype)], units, median, scale, out.dtype)[0]


def draw_log_normal(p: Plan, generator: Any, out: Buffer, mean: Any, std: Any) -> Buffer:
    """Return the buffer of numbers whose logarithms are normally distributed."""
    normals = draw_normal_pairs(p, generator, p.new(out.size, _FLOAT64), mean, std)
    return p.host(_exponential_of, [p.new(out.size, out.dtype)], normals, out.dtype)[0]


def draw_gamma(p: Plan, generator: Any, out: Buffer, shapes: Buffer) -> Buffer:
    """Return the buffer of standard gamma numbers of the given shapes, never 0."""
    return _gamma(p, generator, out, shapes, False, float(np.finfo(out.dtype).tiny))


def draw_log_gamma(p: Plan, generator: Any, out: Buffer, shapes: Buffer) -> Buffer:
    """Return the buffer of the logarithms of such numbers."""
    return _gamma(p, generator, out, shapes, True, -np.inf)


def _gamma(p: Plan, generator: Any, out: Buffer, shapes: Buffer, logarithms: bool, least: float) -> Buffer:
    operands = _state(generator), p.new(2, _DRAWS), _second_normal(generator), shapes, logarithms, least, out
    p.run(sampling.gamma, out.dtype, *operands)
    return out


def draw_poisson(p: Plan, generator: Any, out: Buffer, rates: Buffer) -> Buffer:
    """Return the buffer of Poisson numbers of the given rates."""
    p.run(sampling.poisson, out.dtype, _state(generator), p.new(2, _DRAWS), rates, out)
    return out


def draw_binomial(p: Plan, generator: Any, out: Buffer, counts: Buffer, probabilities: Buffer) -> Buffer:
    """Return the buffer of binomial numbers of the given counts of trials and probabilities of success."""
    p.run(sampling.binomial, out.dtype, _state(generator), p.new(2, _DRAWS), counts, probabilities, out)
    return out


def draw_integers(p: Plan, generator: Any, out: Buffer, low: Any, high: Any) -> Buffer:
    """Return the buffer of integers from [low, high), each from one draw."""
    return p.host(_integers, [p.new(out.size, _INT64)], _draws(p, generator, out.size), low, high)[0]


def draw_wide_integers(p: Plan, generator: Any, out: Buffer, low: Any, high: Any) -> Buffer:
    """Return the buffer of integers from [low, high), each from two draws; the range is at most 2**64."""
    return p.host(_wide_integers, [p.new(out.size, _INT64)], _draws(p, generator, 2 * out.size), low, high)[0]


def draw_permutation(p: Plan, generator: Any, out: Buffer) -> Buffer:
    """Return the buffer of the numbers from 0 on in random order."""
    draws, order = p.new(out.size, _DRAWS).part(0, max(out.size - 1, 0)), p.new(out.size, _INT64)
    p.run(random.draw, _DRAWS, _state(generator), draws)
    p.run(random.shuffle, _INT64, draws, order)
    return order


def _draws(p: Plan, generator: Any, count: int) -> Buffer:
    """Return the buffer of the next 32-bit numbers."""
    draws = p.new(count, _DRAWS)
    p.run(random.draw, _DRAWS, _state(generator), draws)
    return draws


def _exponentials(units: np.ndarray, rate: float, dtype: np.dtype) -> tuple[np.ndarray]:
    return ((-np.log1p(-units) / rate).astype(dtype),)


def _geometric(units: np.ndarray, probability: float, dtype: np.dtype) -> tuple[np.ndarray]:
    with np.errstate(divide="ignore"):
        return (np.ceil(np.log(units) / np.log1p(-probability)).astype(dtype),)


def _cauchy(units: np.ndarray, median: float, scale: float, dtype: np.dtype) -> tuple[np.ndarray]:
    with np.errstate(over="ignore"):
        return ((median + scale * np.tan(np.pi * (units - 0.5))).astype(dtype),)


def _exponential_of(normals: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray]:
    with np.errstate(over="ignore"):
        return (np.exp(normals).astype(dtype),)


def _integers(draws: np.ndarray, low: int, high: int) -> tuple[np.ndarray]:
    if high - low < 2**64:
        draws = draws % np.uint64(high - low)
    if low:
        draws = draws + np.uint64(low % 2**64)
    return (draws.view(_INT64),)


def _wide_integers(draws: np.ndarray, low: int, high: int) -> tuple[np.ndarray]:
    return _integers(draws[0::2] << np.uint64(32) | draws[1::2], low, high)  # the first draw is the high half
