"""Random numbers."""

from __future__ import annotations

import functools

import numpy as np

from numgrad_kernels.cpu import random
from numgrad_kernels.store import Kernel

from .launching import kernel_for, launch

__all__ = ["draw", "random_kernel", "shuffle"]


_DRAWS, _FLOAT64 = np.dtype(np.uint64), np.dtype(np.float64)


@functools.cache
def random_kernel(name: str, dtype: np.dtype) -> Kernel:
    """The kernel that makes "uniform" or "normal" random numbers of this dtype, or these as "normal_pairs"."""
    function = getattr(random, f"normal_{dtype.name}" if name == "normal" else name)
    signature = {"normal": (), "uniform": (_DRAWS, _DRAWS), "normal_pairs": (_DRAWS, _DRAWS, _FLOAT64)}[name]
    parts = {"convert": getattr(random, f"uniform_{dtype.name}")} if name == "uniform" else {}
    return kernel_for(function, dtype, (*signature, float, float, dtype), 0, **parts)()


def draw(state: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with draws of the Mersenne Twister in this state: see the kernel."""
    launch(random.draw, _DRAWS, state, out)


def shuffle(draws: np.ndarray, order: np.ndarray) -> None:
    """Exchange the elements of ``order`` as 32-bit ``draws``, one fewer than they, say."""
    launch(random.shuffle, order.dtype, draws, order)
