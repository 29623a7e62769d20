"""Handles of communication in progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..autograd.locations import Location
from ..futures import Future
from ..tensors.tensor import Tensor
from .contact import Contact

__all__ = ["DistBackendError", "DistError", "Work"]

#: Seconds after which a waiting call looks for messages of other ranks, and seconds between looks.
_FIRST_LOOK, _BETWEEN_LOOKS = 0.5, 0.05

#: Seconds that a call waits without sleeping, if no other rank needs the processor; seconds of each sleep after that,
#: short because large messages make no progress in it; and seconds of each sleep of a call that waits for long.
_SPIN, _NAP, _SLEEP = 0.0002, 0.00001, 0.0005


class DistError(RuntimeError):
    """Error of distributed computing."""

    __module__ = "numgrad.distributed"


class DistBackendError(DistError):
    """Error of communication: a call timed out, or a rank that it waits for has ended, or the ranks' calls differ."""

    __module__ = "numgrad.distributed"


class Work:
    """Handle of a call in progress, returned with ``async_op=True``.

    The tensors of the call may be used after ``wait()``.  MPI makes progress while a rank is in ``wait()`` or
    ``is_completed()`` of any handle.

    Attributes:
        name: the name of the function.
        group: the number of its process group.
        count: the number of collectives of the group that this rank has begun, or None for messages.
        peers: the ranks in the world that take part.
    """

    def __init__(
        self, name: str, location: Location, group: int, count: int | None, peers: Sequence[int], timeout: float,
        contact: Contact,
    ):  # fmt: skip
        self.name = name
        self.group = group
        self.count = count
        self.peers = peers
        self._location = location
        self._timeout = timeout
        self._contact = contact
        self._requests: list[Any] = []
        self._finish: list[Callable[[], None]] = []
        #: The tensors that the call changes.
        self.tensors: list[Tensor] = []

    def start(self, requests: Sequence[Any], finish: Sequence[Callable[[], None]] = ()) -> None:
        """Take over MPI's requests, and functions to be called in order when all are complete."""
        self._requests, self._finish = [*requests], [*finish]

    def describe(self) -> str:
        """Return the name of the call with its place in the program."""
        number = "" if self.count is None else f", number {self.count} of group {self.group}"
        return f"{self.name} ({self._location.brief}{number})"

    def is_completed(self) -> bool:
        """Return True if the communication is complete; the tensors may then be used."""
        while self._requests:
            if not self._requests[0].Test():
                return False
            del self._requests[0]
        finish, self._finish = self._finish, []
        for function in finish:
            function()
        return True

    def get_future(self) -> Future[list[Tensor]]:
        """Return the future of the tensors of the call."""
        return _FutureOfWork(self)

    def is_success(self) -> bool:
        """Return True if the communication is complete."""
        return self.is_completed()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the communication is complete, and return True.

        Raises:
            DistBackendError: that takes longer than ``timeout``, by default the group's; or a rank has ended that
                should take part.  The message says who is missing.
        """
        if self.is_completed():
            return True
        limit = self._timeout if timeout is None else timeout.total_seconds()
        start = time.monotonic()
        look = start + min(_FIRST_LOOK, limit)
        while not self.is_completed():
            now = time.monotonic()
            if now > look:
                look = now + _BETWEEN_LOOKS
                self._look(now - start, limit)
            if not self._contact.own_processor or now > start + _SPIN:
                time.sleep(_NAP if now < start + 1 else _SLEEP)
        return True

    def _look(self, elapsed: float, limit: float) -> None:
        in_vain = self._contact.check(self)
        if in_vain is not None and not self.is_completed():
            raise DistBackendError(f"{self.describe()} cannot complete: {in_vain}")
        if elapsed > limit:
            raise DistBackendError(f"{self.describe()} timed out after {limit:g} s: {self._contact.ask(self)}")


class _FutureOfWork(Future[list[Tensor]]):
    """Future of the tensors that a call changes."""

    def __init__(self, work: Work):
        super().__init__()
        self._work = work

    def done(self) -> bool:
        if not self._is_set and self._work.is_completed():
            self.set_result(self._work.tensors)
        return self._is_set

    def _finish(self) -> None:
        if not self._is_set:
            self._work.wait()
            self.set_result(self._work.tensors)
