"""Handles by which hooks are removed again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

__all__ = ["RemovableHandle"]

_ids = itertools.count()


class RemovableHandle:
    """Returned by everything that registers a hook; ``remove()`` takes the hook out again.

    Also a context manager that removes the hook at the end.
    """

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]):
        self._hooks = hooks
        self.id = next(number for number in _ids if number not in hooks)  # a dictionary from a pickle has its own
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook out; doing so twice is no error."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()
