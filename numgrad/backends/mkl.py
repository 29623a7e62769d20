"""``torch.backends.mkl``."""

from __future__ import annotations

from ..devices import blas_name

__all__ = ["is_available"]


def is_available() -> bool:
    """Return True if Intel's MKL computes products of matrices; the extra ``mkl`` installs it."""
    return blas_name() == "MKL"
