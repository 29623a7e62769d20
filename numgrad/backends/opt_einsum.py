"""``torch.backends.opt_einsum``: ``einsum`` finds the order of its products itself."""

from __future__ import annotations

__all__ = ["enabled", "is_available", "strategy"]

enabled = False
strategy = None


def is_available() -> bool:
    """Return False."""
    return False
