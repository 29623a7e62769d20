"""Backward passes that share what checkpoints compute again."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["GraphExecGroup", "current_group"]


class GraphExecGroup:
    """``with GraphExecGroup():`` all backward passes in the block share what checkpoints compute again.

    So several passes through parts of one checkpoint compute it once; no two of them may need the same saved tensor,
    even with ``retain_graph=True``.  It counts for checkpoints that are not reentrant, and in this thread.

    Raises:
        RuntimeError: there is such a block around this one.
    """

    def __enter__(self) -> GraphExecGroup:
        if _groups.current is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {_groups.current}")
        _groups.current = self
        return self

    def __exit__(self, *exception: Any) -> None:
        _groups.current = None


class _Groups(threading.local):
    current: GraphExecGroup | None = None


_groups = _Groups()


def current_group() -> GraphExecGroup | None:
    """The group of the block that this thread is in."""
    return _groups.current
