"""Random numbers of the Mersenne Twister in a ``state``, which goes on; see the kernels."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numgrad_kernels.cpu import random
from numgrad_kernels.store import Kernel

from ..memory import no_row
from ..recording import by_host
from .launching import kernel_for, launch

_DRAWS, _FLOAT64, _BOOL = np.dtype(np.uint64), np.dtype(np.float64), np.dtype(np.bool_)

#: Draws taken at a time: few enough to stay in the processor's cache until they are used.
_CHUNK = 1 << 14

#: From this size on PyTorch computes normals in blocks, below it one pair at a time.
BLOCK = 16


@functools.cache
def _kernel(name: str, dtype: np.dtype) -> Kernel:
    """The kernel that makes "uniform" or "normal" random numbers of this dtype, or these as "normal_pairs".

    With "bernoulli" it makes truth values, of probabilities of this dtype.
    """
    function = getattr(random, f"normal_{dtype.name}" if name == "normal" else name)
    numbers = float, float, dtype
    signature: dict[str, tuple[Any, ...]] = {
        "normal": numbers, "uniform": (_DRAWS, _DRAWS, *numbers),
        "normal_pairs": (_DRAWS, _DRAWS, _FLOAT64, *numbers),
        "bernoulli": (_DRAWS, _DRAWS, dtype, float, dtype, _BOOL),
    }
    uniform = name in ("uniform", "bernoulli")
    parts = {"convert": getattr(random, f"uniform_{dtype.name}")} if uniform else {}
    return kernel_for(function, dtype, signature[name], 0, **parts)()


def fill_uniform(state: np.ndarray, out: np.ndarray, low: float, high: float) -> None:
    """Fill ``out`` with numbers from [low, high)."""
    run = _kernel("uniform", out.dtype).entry
    draws_each = out.itemsize // 4
    for start in range(0, out.size, _CHUNK):
        part = out[start : start + _CHUNK]
        run(state, np.empty(part.size * draws_each, _DRAWS), low, high, part)


def fill_normal(state: np.ndarray, out: np.ndarray, mean: float, std: float) -> None:
    """Fill ``out`` with normals as PyTorch computes them in blocks: there is one block at least."""
    run = _kernel("normal", out.dtype).entry
    for start in range(0, out.size, _CHUNK):
        part = out[start : start + _CHUNK]
        fill_uniform(state, part, 0.0, 1.0)
        run(mean, std, part)  # its whole blocks
    if out.size % BLOCK:  # then the last block is drawn afresh, over the end of the one before
        last = out[-BLOCK:]
        fill_uniform(state, last, 0.0, 1.0)
        run(mean, std, last)


def fill_pairs(state: np.ndarray, spare: np.ndarray, out: np.ndarray, mean: float, std: float) -> None:
    """Fill ``out`` with normals in pairs; one that is left over waits in ``spare``, whatever the dtype of the next."""
    draws = np.empty((out.size + 1) // 2 * 4, _DRAWS)
    _kernel("normal_pairs", out.dtype).entry(state, draws, spare, mean, std, out)


def bernoulli(state: np.ndarray, size: int, probability: float | np.ndarray) -> np.ndarray:
    """Truth values, each true with the ``probability``, or with one of its own."""
    if isinstance(probability, np.ndarray):
        number, numbers = 0.0, probability
    else:
        number, numbers = float(probability), no_row(_FLOAT64)
    dtype = numbers.dtype
    out, units = np.empty(size, _BOOL), np.empty(min(size, _CHUNK), dtype)
    if size:
        draws = np.empty(units.size * dtype.itemsize // 4, _DRAWS)
        _kernel("bernoulli", dtype).entry(state, draws, units, number, numbers, out)
    return out


@by_host
def exponentials(state: np.ndarray, size: int, rate: float, dtype: np.dtype) -> np.ndarray:
    """Numbers from the exponential distribution."""
    units = np.empty(size)
    fill_uniform(state, units, 0.0, 1.0)
    return (-np.log1p(-units) / rate).astype(dtype)


@by_host
def integers(state: np.ndarray, size: int, low: int, span: int, two_each: bool) -> np.ndarray:
    """Integers from [low, low + span), of two draws each or of one."""
    draws = _draws(state, 2 * size if two_each else size)
    if two_each:  # the first one is the high half
        draws = draws[0::2] << np.uint64(32) | draws[1::2]
    if span < 2**64:
        draws %= np.uint64(span)
    if low:
        draws += np.uint64(low % 2**64)
    return draws.view(np.int64)


@by_host
def permutation(state: np.ndarray, size: int) -> np.ndarray:
    """The numbers from 0 to ``size - 1`` in random order."""
    order = np.arange(size)
    launch(random.shuffle, order.dtype, _draws(state, max(size - 1, 0)), order)
    return order


def _draws(state: np.ndarray, size: int) -> np.ndarray:
    """The next 32-bit numbers."""
    draws = np.empty(size, _DRAWS)
    launch(random.draw, _DRAWS, state, draws)
    return draws
