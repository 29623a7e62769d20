"""Random numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import random

from .launching import kernel_for, launch

__all__ = ["draw", "random_kernel", "shuffle"]


_DRAWS = np.dtype(np.uint64)


def _launcher(function: Callable[..., None], compute: np.dtype, *kinds: Any) -> Callable[..., None]:
    kernel = kernel_for(function, compute, kinds, 0)

    def run(*arguments: Any) -> None:
        kernel().entry(*arguments)

    return run


@functools.cache
def random_kernel(name: str, dtype: np.dtype) -> Callable[..., None]:
    """The kernel that makes "uniform" or "normal" random numbers of this dtype."""
    draws = (_DRAWS,) if name == "uniform" else ()
    return _launcher(getattr(random, f"{name}_{dtype.name}"), dtype, *draws, float, float, dtype)


_draw = _launcher(random.draw, _DRAWS, _DRAWS, _DRAWS)


def draw(state: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with draws of the Mersenne Twister in this state: see the kernel."""
    _draw(state, out)


def shuffle(draws: np.ndarray, order: np.ndarray) -> None:
    """Exchange the elements of ``order`` as 32-bit ``draws``, one fewer than they, say."""
    launch(random.shuffle, order.dtype, draws, order)
