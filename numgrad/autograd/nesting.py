"""Backward passes inside one another: one so deep that a thread's stack may not do goes on in a fresh thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .grad_mode import state
from .operations import operations

#: Passes nested in one thread (a backward called inside a backward) before the next gets a thread of its own.
NESTING = 30


def in_thread(function: Callable[[], list[Any]]) -> list[Any]:
    """Call ``function`` in a thread that takes this one's place: it has its modes and streams."""
    outcome: list[Any] = []
    modes = state.__dict__.copy()
    if operations.streams is not None:
        function = operations.streams.carried(function)

    def target() -> None:
        state.__dict__.update(modes)
        try:
            outcome.append((function(), None))
        except BaseException as error:  # handed to the waiting thread
            outcome.append((None, error))

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    result, error = outcome.pop()
    if error is None:
        return result
    try:
        raise error
    finally:
        del error  # which holds this frame
