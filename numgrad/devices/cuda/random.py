"""Steps that draw random numbers on a GPU, from a counter; see the functions of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cuda import random, sampling

from ..buffers import DeviceBuffer
from ..plan import Buffer, Plan
from .launching import INT64, blocks_for, launch
from .memory import as_numbers
from .sorting import sort_axis

__all__ = [
    "draw_bernoulli", "draw_binomial", "draw_cauchy", "draw_exponential", "draw_gamma", "draw_geometric",
    "draw_integers", "draw_log_gamma", "draw_log_normal", "draw_normal", "draw_normal_pairs", "draw_permutation",
    "draw_poisson", "draw_uniform", "draw_wide_integers", "drop_random", "fill_random", "sample_random",
]

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

#: Least number of different integers that take two words each, as in PyTorch.
_WIDE_RANGE = 1 << 28


def fill_random(out: DeviceBuffer, distribution: str, seed: int, offset: int, first: Any, second: Any) -> DeviceBuffer:
    """Fill a buffer of any dtype with random numbers that depend on the seed, the offset and the index alone.

    Args:
        out: the buffer, which is returned.
        distribution: the name of the distribution, whose parameters are ``first`` and ``second``: "uniform" (the ends,
            the upper excluded), "normal" and "log_normal" (mean and standard deviation, of the logarithms), "cauchy"
            (median and scale), "exponential" (mean, 0), "geometric" (the probability of success, 0), "bernoulli" (the
            probability of a nonzero value, and that value) or "integers" (the lowest, and their number).
        seed, offset: from 0 to 2**64 - 1.
    """
    compute = _FLOAT64 if out.dtype == _FLOAT64 else _FLOAT32
    wide = compute == _FLOAT64 and distribution != "bernoulli"
    if distribution == "integers":
        wide = second >= _WIDE_RANGE
        numbers = random.wide_integers if wide else random.integers
        second = _signed(second % 2**64)
    else:
        numbers = getattr(random, distribution)
        first, second = float(first), float(second)
    parts: dict[str, Any] = {"numbers": numbers}
    if wide:
        parts |= {"unit": random.unit_of_words, "positive": random.positive_of_words}
    kernel, served = (random.fill_wide, 2) if wide else (random.fill_narrow, 4)
    target = as_numbers(out)
    blocks = blocks_for(-(-out.size // (32 * served)) * 32)
    launch(kernel, compute, target, out.size, _signed(seed), _signed(offset), first, second, blocks=blocks, **parts)
    return out


def drop_random(x: DeviceBuffer, out: DeviceBuffer, mask: DeviceBuffer, kept: float, seed: int, offset: int) -> None:
    """Store dropout of ``x`` in ``out``, and which elements were kept, each with the probability ``kept``, in ``mask``.

    The random numbers are those of :func:`fill_random`.
    """
    numbers: Any = x.size, _signed(seed), _signed(offset), kept, 1 / kept
    launch(random.drop, x.dtype, x, *numbers, out, as_numbers(mask), blocks=blocks_for(-(-x.size // 128) * 32))


def sample_random(out: DeviceBuffer, distribution: str, *operands: Any, seed: int, offset: int) -> None:
    """Fill a buffer with random numbers of which each has parameters of its own.

    Args:
        out: the buffer.
        distribution: "gamma", "poisson" or "binomial", the kernel.
        operands: the kernel's operands, which begin with buffers of parameters.
        seed, offset: from 0 to 2**64 - 1.
    """
    kernel = getattr(sampling, distribution)
    numbers = out.size, _signed(seed), _signed(offset)
    launch(kernel, _FLOAT64, out, *numbers, *operands, blocks=blocks_for(out.size))


def _signed(number: int) -> int:
    """Return the signed number with the same 64 bits, which kernels take."""
    return number - (number >> 63 << 64)


def _drawn(p: Plan, generator: Any, out: Buffer, distribution: str, *numbers: Any) -> Buffer:
    """Add the step in which the generator counts a draw and fills a buffer; return the buffer."""
    p.call(_fill, generator, out, distribution, *numbers)
    return out


def _fill(generator: Any, out: DeviceBuffer, distribution: str, first: Any, second: Any = 0.0) -> None:
    generator.fill(out, distribution, first, second)


def draw_uniform(p: Plan, generator: Any, out: Buffer, low: Any, high: Any) -> Buffer:
    """Return the buffer of numbers from [low, high)."""
    return _drawn(p, generator, out, "uniform", low, high)


def draw_normal(p: Plan, generator: Any, out: Buffer, mean: Any, std: Any) -> Buffer:
    """Return the buffer of normally distributed numbers."""
    return _drawn(p, generator, out, "normal", mean, std)


draw_normal_pairs = draw_normal


def draw_bernoulli(p: Plan, generator: Any, out: Buffer, probability: Any, value: Any) -> Buffer:
    """Return the buffer that has ``value`` with the probability, otherwise 0.

    If the probability is a buffer, an element is 1 with its own probability.
    """
    if probability.__class__ is not Buffer:
        return _drawn(p, generator, out, "bernoulli", probability, value)
    draws = draw_uniform(p, generator, p.new(out.size, probability.dtype), 0.0, 1.0)
    p.run(random.below, draws.dtype, as_numbers(out), out.size, draws, probability, work=out.size)
    return out


def draw_exponential(p: Plan, generator: Any, out: Buffer, rate: Any) -> Buffer:
    """Return the buffer of exponentially distributed numbers; none is 0."""
    return _drawn(p, generator, out, "exponential", rate)


def draw_geometric(p: Plan, generator: Any, out: Buffer, probability: Any) -> Buffer:
    """Return the buffer of numbers of trials up to the first success."""
    return _drawn(p, generator, out, "geometric", probability)


def draw_cauchy(p: Plan, generator: Any, out: Buffer, median: Any, scale: Any) -> Buffer:
    """Return the buffer of numbers with the Cauchy distribution."""
    return _drawn(p, generator, out, "cauchy", median, scale)


def draw_log_normal(p: Plan, generator: Any, out: Buffer, mean: Any, std: Any) -> Buffer:
    """Return the buffer of numbers whose logarithms are normally distributed."""
    return _drawn(p, generator, out, "log_normal", mean, std)


def draw_gamma(p: Plan, generator: Any, out: Buffer, shapes: Buffer) -> Buffer:
    """Return the buffer of standard gamma numbers of the given shapes, never 0."""
    return _sampled(p, generator, out, "gamma", shapes, False, float(np.finfo(out.dtype).tiny))


def draw_log_gamma(p: Plan, generator: Any, out: Buffer, shapes: Buffer) -> Buffer:
    """Return the buffer of the logarithms of such numbers."""
    return _sampled(p, generator, out, "gamma", shapes, True, -np.inf)


def draw_poisson(p: Plan, generator: Any, out: Buffer, rates: Buffer) -> Buffer:
    """Return the buffer of Poisson numbers of the given rates."""
    return _sampled(p, generator, out, "poisson", rates)


def draw_binomial(p: Plan, generator: Any, out: Buffer, counts: Buffer, probabilities: Buffer) -> Buffer:
    """Return the buffer of binomial numbers of the given counts of trials and probabilities of success."""
    return _sampled(p, generator, out, "binomial", counts, probabilities)


def _sampled(p: Plan, generator: Any, out: Buffer, distribution: str, *operands: Any) -> Buffer:
    p.call(_sample, generator, out, distribution, *operands)
    return out


def _sample(generator: Any, out: DeviceBuffer, distribution: str, *operands: Any) -> None:
    generator.sample(out, distribution, *operands)


def draw_integers(p: Plan, generator: Any, out: Buffer, low: Any, high: Any) -> Buffer:
    """Return the buffer of integers from [low, high); the range is at most 2**64."""
    return _drawn(p, generator, out, "integers", low, high)


draw_wide_integers = draw_integers


def draw_permutation(p: Plan, generator: Any, out: Buffer) -> Buffer:
    """Return the buffer of the numbers from 0 on in random order: the positions of random keys in sorted order."""
    keys = draw_integers(p, generator, p.new(out.size, INT64), -(2**63), 2**63)
    return sort_axis(p, keys, 1, out.size, 1, False)[1]
