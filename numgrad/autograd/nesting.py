"""Passes nested too deeply for one stack: each of them runs in a new thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .grad_mode import state
from .operations import operations

#: Passes nested in one thread (backward called inside backward) before the next one gets its own thread.
NESTING = 30


def in_thread(function: Callable[[], list[Any]]) -> list[Any]:
    """Call ``function`` in another thread with the modes and streams of this one."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import and rarely needed

    modes = state.__dict__.copy()
    if operations.streams is not None:
        function = operations.streams.carried(function)

    def target() -> list[Any]:
        state.__dict__.update(modes)
        return function()

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(target).result()
