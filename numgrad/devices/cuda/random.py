"""Random numbers on a GPU, by a counter."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cuda import random

from ..rows import DeviceRow
from .launching import blocks_for, launch
from .memory import as_numbers

__all__ = ["fill_random", "true_where_below"]

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

#: From this many on, integers take two words each, as in PyTorch.
_WIDE_RANGE = 1 << 28


def fill_random(out: DeviceRow, distribution: str, seed: int, offset: int, first: Any, second: Any) -> DeviceRow:
    """Fill a row of any dtype with random numbers, of which each depends on the seed, the offset and its index alone.

    Args:
        out: the row, which is returned.
        distribution: and what ``first`` and ``second`` are: "uniform" (the ends, the upper excluded), "normal" (mean
            and standard deviation), "exponential" (mean, 0), "bernoulli" (the probability of a value other
            than 0, and that value) or "integers" (the lowest, and how many).
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


def _signed(number: int) -> int:
    """The number that has the same 64 bits with a sign: what kernels take."""
    return number - (number >> 63 << 64)


def true_where_below(draws: DeviceRow, probabilities: DeviceRow, out: DeviceRow) -> DeviceRow:
    """Write whether each draw is below the probability at the same index; returns ``out``, a row of any dtype."""
    target = as_numbers(out)
    launch(random.below, draws.dtype, target, out.size, draws, probabilities, blocks=blocks_for(out.size))
    return out
