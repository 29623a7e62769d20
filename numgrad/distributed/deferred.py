"""Calls that begin when they have been compared with those of the other ranks.

Note [Compared first]
Such a call returns at once, too, if it is asynchronous.  Its tensors are sent in the next ``wait`` or ``is_completed``
of any handle after the calls of all ranks were found to be equal.  MPI demands that all ranks begin the collectives of
a communicator in the same order.  So calls of a group begin in the order in which they were made, and comparisons have
their own communicator.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Deferred", "begin_compared", "waiting"]

#: For each group, its calls that have not begun, in their order.
waiting: dict[Any, deque[Deferred]] = {}

_beginning = threading.Lock()


class Deferred:
    """A request to begin other requests when a comparison is complete; it completes with them.

    Args:
        group: the group of the call.
        comparison: the comparison.
        begin: begins the requests, and returns them.
    """

    def __init__(self, group: Any, comparison: Any, begin: Callable[[], Sequence[Any]]):
        self._comparison, self._begin = comparison, begin
        self._requests: Sequence[Any] | None = None
        self._error: Exception | None = None
        waiting.setdefault(group, deque()).append(self)

    def begin(self) -> bool:
        """Begin the requests if the comparison is complete; return False if it is not."""
        try:
            if not self._comparison.Test():
                return False
            self._requests = self._begin()
        except Exception as error:  # raised by the handle of this call
            self._error = error
        return True

    def Test(self) -> bool:
        """Return True if the requests are complete.

        Raises:
            DistBackendError, MPI's Exception: the calls differ, or the requests could not begin.
        """
        if self._error is not None:
            raise self._error
        return self._requests is not None and all(request.Test() for request in self._requests)


def begin_compared() -> None:
    """Begin the calls that have been compared, unless another thread does so."""
    if not _beginning.acquire(blocking=False):
        return
    try:
        for group, calls in [*waiting.items()]:
            while calls and calls[0].begin():
                calls.popleft()
            if not calls:
                waiting.pop(group, None)
    finally:
        _beginning.release()
