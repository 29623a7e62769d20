"""``torch.cuda.nvtx``: ranges for NVIDIA's profilers, which have no effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def range_push(msg: str) -> int:
    """Return 0, the depth of the range."""
    return 0


def range_pop() -> int:
    """Return 0, the depth of the range that ends."""
    return 0


def range_start(msg: str) -> int:
    """Return 0, the number of the range."""
    return 0


def range_end(range_id: int) -> None:
    """Do nothing."""


def mark(msg: str) -> None:
    """Do nothing."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Context manager or decorator without effect."""
    yield
