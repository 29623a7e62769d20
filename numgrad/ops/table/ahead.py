"""Compilation of the kernels that a program will need soon, in a second process.

Note [Kernels ahead]
A call that is recorded for the first time will soon need its gradient, and a new optimizer will soon need its step.  A
program that has just compiled a kernel will have to compile those, too.  So a second process of low priority,
``numgrad.commands.ahead``, receives a description of the call by layouts.  It calls the operation and its rules with
zeros of these layouts, and compiles the kernels in their plans, which it does not run.  If both processes need the same
kernel at once, one waits for the other (``cache.claimed``).  The second process ends when its pipe is closed, which
happens however this process ends.

The second process runs no code of the program.  It searches for modules in the program's paths only, and imports no
module that only an argument refers to.

No second process is started if there is only one processor or no place to keep kernels, under pytest, with
``NUMGRAD_BACKGROUND=0``, in a program whose kernels are on disk, or if Python is part of another executable.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import devices
from ...core.layout import Layout

#: Bytes that a pipe of Linux takes whole or not at all.  Longer messages are dropped, and so are messages while the
#: pipe is full.
_LONGEST = 4096

#: Bytes before each message that hold its length.
LENGTH = 2

#: Number of kernels that this process had compiled at the last check.
_compiled = 0

_process: subprocess.Popen[bytes] | None = None
_enabled = True
_submitting = threading.Lock()


class Sample(NamedTuple):
    """Stand-in for a tensor of this layout among the arguments of a call."""

    layout: Layout
    requires_grad: bool


def submit(job: Callable[[], Any]) -> None:
    """Send the result of ``job`` to the second process if kernels were compiled since the last call.

    A job is a name that ``numgrad.commands.ahead`` defines, and arguments.  If two threads send at once, one message is
    dropped.
    """
    global _compiled
    compiled = devices.kernels_compiled()
    if compiled == _compiled or not _enabled or not _submitting.acquire(blocking=False):
        return
    try:
        _compiled = compiled
        process = _process or _start()
        if process is not None:
            _write(process, pickle.dumps(job()))
    except Exception:  # pickling an argument of a user's class may fail
        pass
    finally:
        _submitting.release()


def _write(process: subprocess.Popen[bytes], message: bytes) -> None:
    """Send a message after its length, whole or not at all."""
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
    global _process, _enabled

    environment = os.environ
    _enabled = (
        environment.get("NUMGRAD_BACKGROUND") != "0" and "PYTEST_VERSION" not in environment
        and bool(sys.executable) and not hasattr(sys, "frozen") and hasattr(os, "set_blocking")  # Windows: from 3.12 on
        and _processors() > 1 and devices.keeps_kernels()
    )
    if not _enabled:
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
        _enabled = False
    return _process


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _stop() -> None:
    """End the process and start no other."""
    global _process, _enabled
    process, _process, _enabled = _process, None, False
    if process is not None:
        process.kill()
        process.wait()
        process.stdin.close()  # type: ignore[union-attr]


def _forget() -> None:
    """Drop the parent's process in the child of a fork."""
    global _process, _enabled, _submitting
    _submitting = threading.Lock()  # a thread that the fork did not copy may hold the old lock
    if _process is not None:
        _process.returncode = 0  # the child must not wait for it
        _process.stdin.close()  # type: ignore[union-attr]
    _process, _enabled = None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
