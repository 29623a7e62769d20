"""``torch.backends.mps``: Apple's GPUs, which numgrad does not compute on."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False."""
    return False


def is_built() -> bool:
    """Return False."""
    return False
