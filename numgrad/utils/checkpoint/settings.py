"""What holds for all checkpoints made in a block, in whatever thread, whatever they are told themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: What the innermost block says; None leaves it to each checkpoint.
_early_stop: bool | None = None
_debug: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """``with set_checkpoint_early_stop(False):`` checkpoints made in the block compute all of their function again.

    Otherwise they stop as soon as backward has what it needs.  What counts is where forward runs; backward may run
    outside of the block.
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Within the ``with`` block, every checkpoint has this in place of its own ``debug``; None leaves it its own."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def wants_early_stop(own: bool) -> bool:
    """Whether a checkpoint whose own ``early_stop`` is this stops early."""
    return own if _early_stop is None else _early_stop


def wants_debug(own: bool) -> bool:
    """Whether a checkpoint whose own ``debug`` is this keeps a log of operations."""
    return own if _debug is None else _debug


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
