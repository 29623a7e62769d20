"""Random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import random

from .launching import launch

__all__ = ["random_kernel", "shuffle"]


def random_kernel(name: str, dtype: np.dtype) -> Callable[..., None]:
    """The kernel that makes "uniform" or "normal" random numbers of this dtype."""
    function = getattr(random, f"{name}_{dtype.name}")

    def run(*arguments: Any) -> None:
        launch(function, dtype, *arguments)

    return run


def shuffle(draws: np.ndarray, order: np.ndarray) -> None:
    """Exchange the elements of ``order`` as 32-bit ``draws``, one fewer than they, say."""
    launch(random.shuffle, order.dtype, draws, order)
