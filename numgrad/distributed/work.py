"""Handles of communication in progress."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..autograd.locations import Location
from ..futures import Future
from ..tensors.tensor import Tensor
from .deferred import begin_compared, waiting
from .errors import DistBackendError
from .groups import ProcessGroup, seconds_of
from .mpi import mpi

__all__ = ["Work"]

#: Seconds after which a waiting call looks for messages of other ranks, and seconds between looks.
_FIRST_LOOK, _BETWEEN_LOOKS = 0.5, 0.05

#: Seconds that a call waits without sleeping, but lets others have the processor; each sleep after that as a share of
#: the time that the call has waited, because large messages make no progress in it; and the longest sleep in seconds.
_AWAKE, _SHARE, _LONGEST = 0.002, 0.01, 0.0005

#: Lets another process have the processor, if one is ready to run.
_give_way: Callable[[], None] = getattr(os, "sched_yield", functools.partial(time.sleep, 0))


#: Calls in progress whose handles were deleted: MPI still reads and writes the memory of their tensors.
_unattended: list[Work] = []


class Work:
    """Handle of a call in progress, returned with ``async_op=True``.

    The tensors of the call may be used after ``wait()``.  MPI makes progress while a rank is in ``wait()`` or
    ``is_completed()`` of any handle.

    Attributes:
        name: the name of the function.
        group: the number of its process group.
        count: the number of collectives of the group that this rank has begun, or None for messages.
        peers: the ranks in the world that take part.
        timeout: seconds that ``wait`` may take.
        misfit: returns a reason why the call cannot complete, or None.
    """

    def __init__(self, name: str, location: Location, group: ProcessGroup, peers: Sequence[int] | None = None):
        self.name = name
        self.group = group.number
        self.count: int | None = None
        self.peers = group.ranks if peers is None else peers
        self._location = location
        self.timeout = group.timeout
        self._contact = group.contact
        self._requests: list[Any] = []
        self._finish: list[Callable[[], None]] = []
        self.misfit: Callable[[], str | None] = lambda: None
        self._error: DistBackendError | None = None
        #: The tensors that the call changes.
        self.tensors: list[Tensor] = []

    def start(self, requests: Sequence[Any], finish: Sequence[Callable[[], None]] = ()) -> None:
        """Take over MPI's requests, and functions to be called in order when all are complete."""
        for work in [*_unattended]:
            if work.is_completed() and not work._requests:
                _unattended.remove(work)
        self._requests, self._finish = [*requests], [*finish]

    def __del__(self) -> None:
        if self._requests:
            _unattended.append(self)

    def describe(self) -> str:
        """Return the name of the call with its place in the program."""
        number = "" if self.count is None else f", number {self.count} of group {self.group}"
        return f"{self.name} ({self._location.brief}{number})"

    def is_completed(self) -> bool:
        """Return True if the communication is complete, after which the tensors may be used, or has failed."""
        if waiting:
            begin_compared()
        try:
            while self._requests and self._error is None:
                if not self._requests[0].Test():
                    return False
                del self._requests[0]
            finish, self._finish = self._finish, []
            for function in finish if self._error is None else ():
                function()
        except mpi().Exception as error:
            self._error = DistBackendError(f"{self.describe()} failed: {error}")
        except DistBackendError as error:
            self._error = error
        return True

    def get_future(self) -> Future[list[Tensor]]:
        """Return the future of the tensors of the call."""
        return _FutureOfWork(self)

    def is_success(self) -> bool:
        """Return True if the communication is complete and has not failed."""
        return self.is_completed() and self._error is None

    def exception(self) -> DistBackendError | None:
        """Return the error of a call that has failed, otherwise None."""
        return self._error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the communication is complete, and return True.

        Raises:
            DistBackendError: that takes longer than ``timeout``, by default the group's; or a rank has ended that
                should take part, and the message says who is missing.  The ranks' calls differ, or MPI reports an
                error.
        """
        if not self.is_completed():
            self._await(timeout)
        if self._error is not None:
            raise self._error
        return True

    def _await(self, timeout: timedelta | None) -> None:
        limit = self.timeout if timeout is None else seconds_of(timeout)
        start = time.monotonic()
        look = start + min(_FIRST_LOOK, limit)
        while not self.is_completed():
            now = time.monotonic()
            if now > look:
                look = now + _BETWEEN_LOOKS
                self._look(now - start, limit)
            if now < start + _AWAKE:
                _give_way()
            else:
                time.sleep(min((now - start) * _SHARE, _LONGEST))

    def _look(self, elapsed: float, limit: float) -> None:
        in_vain = self._contact.check(self) or self.misfit()
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
            self._set(self._work.tensors, self._work.exception())
        return self._is_set

    def _finish(self) -> None:
        if not self.done():
            self._work.wait()
            self.done()
