"""``torch.backends.openmp``."""

from __future__ import annotations

import importlib.util

__all__ = ["is_available"]


def is_available() -> bool:
    """Return True if Numba was built with OpenMP, which kernels may then use for their threads."""
    return importlib.util.find_spec("numba.np.ufunc.omppool") is not None
