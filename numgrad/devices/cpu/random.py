"""Random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import random

from .launching import launch

__all__ = ["random_kernel"]


def random_kernel(name: str, dtype: np.dtype) -> Callable[..., None]:
    """The kernel that makes "uniform" or "normal" random numbers of this dtype."""
    function = getattr(random, f"{name}_{dtype.name}")

    def run(*arguments: Any) -> None:
        launch(function, dtype, *arguments)

    return run
