"""``torch.backends.openmp``."""

from __future__ import annotations

import importlib.util

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether the kernels' threads may be OpenMP's: Numba was built with it."""
    return importlib.util.find_spec("numba.np.ufunc.omppool") is not None
