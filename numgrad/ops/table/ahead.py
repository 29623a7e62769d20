"""What a program will need kernels for is told to a second process, which compiles them while this one goes on.

Note [Kernels ahead]
When a call is recorded for the first time, its gradient will be wanted soon; when an optimizer is made, its step.  A
program that has just had to compile a kernel will have to compile those for that, too.  So a second process of low
priority, ``numgrad.commands.ahead``, is told of the call, by layouts, and does it and its backward on tensors of its
own with kernels that do nothing, which leaves the kernels on disk.  Where both want the same kernel at once, one waits
for the other (``cache.claimed``).  The process ends when the pipe to it is closed: with this one, however that ends.

It runs no code of the program's: it looks for modules where the program does, and nowhere else, and imports none that
only an argument refers to.

There is none where there is only one processor, nowhere to keep kernels, under pytest, with ``NUMGRAD_BACKGROUND=0``,
in a program whose kernels are on disk, and where Python is part of another executable.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import devices
from ...core.layout import Layout

if TYPE_CHECKING:
    import subprocess

#: Bytes that a pipe of Linux takes whole or not at all.  What is longer is not told, nor what finds the pipe full.
_LONGEST = 4096

#: Bytes before each message that say how long it is.
LENGTH = 2

#: Kernels that this process had compiled when it was last asked.
_compiled = 0

_process: subprocess.Popen[bytes] | None = None
_wanted = True
_telling = threading.Lock()


class Sample(NamedTuple):
    """Stands for a tensor of this layout among the arguments of a call."""

    layout: Layout
    requires_grad: bool


def tell(job: Callable[[], Any]) -> None:
    """Have the second process do what ``job`` returns, unless nothing was compiled since the last time.

    That is a name, which ``numgrad.commands.ahead`` knows, and arguments.  What two threads would tell at once, one of
    them does not.
    """
    global _compiled
    compiled = devices.kernels_compiled()
    if compiled == _compiled or not _wanted or not _telling.acquire(blocking=False):
        return
    try:
        _compiled = compiled
        process = _process or _start()
        if process is not None:
            _write(process, pickle.dumps(job()))
    except Exception:  # an argument of a user's own
        pass
    finally:
        _telling.release()


def _write(process: subprocess.Popen[bytes], message: bytes) -> None:
    """Send a message behind its length, whole or not at all."""
    message = len(message).to_bytes(LENGTH, "little") + message
    if len(message) > _LONGEST:
        return
    try:
        written = os.write(process.stdin.fileno(), message)  # type: ignore[union-attr]
        if written < len(message):
            _stop()
    except BlockingIOError:  # the pipe is full
        pass
    except OSError:  # the process has ended
        _stop()


def _start() -> subprocess.Popen[bytes] | None:
    global _process, _wanted
    import subprocess  # which most programs do not need

    environment = os.environ
    _wanted = (
        environment.get("NUMGRAD_BACKGROUND") != "0" and "PYTEST_VERSION" not in environment
        and bool(sys.executable) and not hasattr(sys, "frozen") and hasattr(os, "set_blocking")  # Windows: from 3.12 on
        and _processors() > 1 and devices.keeps_kernels()
    )
    if not _wanted:
        return None
    path = os.pathsep.join([os.path.abspath(entry) for entry in sys.path])
    try:
        _process = subprocess.Popen(
            [sys.executable, "-P", "-m", "numgrad.commands.ahead"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**environment, "PYTHONPATH": path, "NUMGRAD_BACKGROUND": "0", "NUMGRAD_DEBUG": "0"},
        )
        os.set_blocking(_process.stdin.fileno(), False)  # type: ignore[union-attr]
        atexit.register(_stop)
    except OSError:
        _wanted = False
    return _process


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _stop() -> None:
    """End the process, and start no other."""
    global _process, _wanted
    process, _process, _wanted = _process, None, False
    if process is not None:
        process.kill()
        process.wait()
        process.stdin.close()  # type: ignore[union-attr]


def _forget() -> None:
    """In the child of a fork: the process is the parent's."""
    global _process, _wanted, _telling
    _telling = threading.Lock()  # a thread that is not here may hold the other
    if _process is not None:
        _process.returncode = 0  # it is not waited for
        _process.stdin.close()  # type: ignore[union-attr]
    _process, _wanted = None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
