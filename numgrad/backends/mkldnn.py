"""``torch.backends.mkldnn``: numgrad has its own convolutions, and uses no library."""

from __future__ import annotations

__all__ = ["enabled", "is_available"]

enabled = False


def is_available() -> bool:
    """Return False."""
    return False
