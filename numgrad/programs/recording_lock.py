"""The lock for recording: only one thread at a time records a program."""

from __future__ import annotations

import os
import threading

from ..devices import recording


class RecordingLock:
    """A lock that its holder can acquire again, for the case that Ctrl-C prevented its release.

    As a context manager it does not wait: its value is True if the thread has acquired the lock, and False if another
    thread holds it.

    Attributes:
        holder: the identity of the thread that holds it, under "thread".
    """

    def __init__(self) -> None:
        self.holder: dict[str, int] = {}  # ``setdefault`` is atomic

    def __enter__(self) -> bool:
        try:
            return self.holder.setdefault("thread", threading.get_ident()) == threading.get_ident()
        except BaseException:  # see Note [Ctrl-C]
            self._release()
            raise

    def __exit__(self, *exception: object) -> None:
        try:
            self._release()
        except BaseException:  # see Note [Ctrl-C]
            self._release()
            raise

    def _release(self) -> None:
        if self.holder.get("thread") == threading.get_ident():
            self.holder.clear()


recording_lock = RecordingLock()


def _after_fork() -> None:
    """Release the lock in a child process, where the thread that held it does not exist."""
    if recording_lock.holder:
        recording_lock.holder.clear()
        recording.record_with(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
