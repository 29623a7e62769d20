"""``torch.multiprocessing``: Python's ``multiprocessing``.  Tensors sent to another process are copied."""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

__all__ = [*_multiprocessing.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]


def get_all_sharing_strategies() -> set[str]:
    """Return the only strategy of ``DataLoader`` for sharing memory with its processes: passing unnamed files."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """Return the only sharing strategy."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Do nothing: there is only one strategy."""
