"""Information about a worker of a DataLoader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "get_worker_info", "set_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """Information about a worker.

    Attributes:
        id: its number, starting at 0.
        num_workers: the number of workers.
        seed: the seed of its generators: the loader's seed plus ``id``.
        dataset: its copy of the data set.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return information about this worker of a :class:`DataLoader`; None in other processes."""
    return _info


def set_worker_info(info: WorkerInfo) -> None:
    """Mark this process as a worker."""
    global _info
    _info = info
