"""Threads take turns to record: one program is recorded at a time."""

from __future__ import annotations

import os
import threading

from ..devices import recording


class Turn:
    """A lock that belongs to the thread that took it: one that Ctrl-C kept from giving it back may take it again.

    As a context manager it is True for the thread that has it, and False where another thread does.

    Attributes:
        taken: the identity of the thread that has it, under "thread".
    """

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}  # whose ``setdefault`` is atomic

    def __enter__(self) -> bool:
        try:
            return self.taken.setdefault("thread", threading.get_ident()) == threading.get_ident()
        except BaseException:  # Ctrl-C
            self.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        if self.taken.get("thread") == threading.get_ident():
            self.taken.clear()


#: One program is recorded at a time.
recording_turn = Turn()


def _after_fork() -> None:
    """In the child: a thread that is not here may have been recording."""
    if recording_turn.taken:
        recording_turn.taken.clear()
        recording.record_with(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
