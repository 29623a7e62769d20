"""``torch.multiprocessing``: Python's ``multiprocessing``.  Tensors that are sent to another process are copied."""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

__all__ = [*_multiprocessing.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]


def get_all_sharing_strategies() -> set[str]:
    """The one way in which ``DataLoader`` shares memory with its processes: by files without a name, handed over."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """That way."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Nothing: it is always that way."""
