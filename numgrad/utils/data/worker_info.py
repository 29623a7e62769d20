"""What a worker of a DataLoader is told of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "get_worker_info", "set_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker is told of itself.

    Attributes:
        id: its number, from 0 on.
        num_workers: how many there are.
        seed: what its generators were started with: the loader's seed plus ``id``.
        dataset: its copy of the data set.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a :class:`DataLoader`, what it is told of itself; elsewhere None."""
    return _info


def set_worker_info(info: WorkerInfo) -> None:
    """Have this process be a worker."""
    global _info
    _info = info
