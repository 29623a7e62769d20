"""``torch.backends.mkldnn``: numgrad's convolutions are its own."""

from __future__ import annotations

__all__ = ["enabled", "is_available"]

enabled = False


def is_available() -> bool:
    """Return False."""
    return False
