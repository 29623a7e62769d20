"""Work in a background thread, such as compiling kernels for programs that run often.

A fork waits until a function that runs in the background has returned.  In the child, where the thread does not exist,
the locks that it held would never be released, such as llvmlite's.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

_tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
_lock = threading.Lock()
_worker: threading.Thread | None = None

#: Held while a function runs.
_running = threading.RLock()


def in_background(task: Callable[[], None]) -> None:
    """Call a function in the background thread, after the functions passed earlier."""
    global _worker
    with _lock:
        _tasks.put(task)
        if _worker is None:
            _worker = threading.Thread(target=_work, name="numgrad", daemon=False)
            _worker.start()


def finish() -> None:
    """Wait until nothing is left to do in the background."""
    while (worker := _worker) is not None:
        worker.join()


def _work() -> None:
    """Call the functions in the queue until it is empty, or until the process ends."""
    global _worker
    while True:
        with _lock:
            if _tasks.empty() or not threading.main_thread().is_alive():
                _worker = None
                return
        task = _tasks.get()
        try:
            with _running:
                task()
        except Exception as error:  # the program remains as it was, and the thread continues
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, _worker)))


def _in_child() -> None:
    """Reset the queue in a child process: a fork does not copy the thread."""
    global _tasks, _lock, _worker, _running
    _tasks, _lock, _worker, _running = queue.SimpleQueue(), threading.Lock(), None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _running.acquire(), after_in_parent=lambda: _running.release(), after_in_child=_in_child
    )
