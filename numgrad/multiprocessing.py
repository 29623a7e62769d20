"""Python's ``multiprocessing``, with PyTorch's ``spawn``.  Tensors sent to another process are copied."""

from __future__ import annotations

import multiprocessing as _multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import connection
from typing import Any

__all__ = [
    *_multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]  # fmt: skip


def get_all_sharing_strategies() -> set[str]:
    """Return the only strategy of ``DataLoader`` for sharing memory with its processes: passing unnamed files."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """Return the only sharing strategy."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Do nothing: there is only one strategy."""


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """Failure of a process that ``spawn`` has started.

    Attributes:
        msg: the message.
        error_index: the number of the process, which is its first argument.
        pid: its number in the system.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg, error_index, error_pid)
        self.msg, self.error_index, self.pid = msg, error_index, error_pid

    def __str__(self) -> str:
        return self.msg


class ProcessRaisedException(ProcessException):
    """Failure of a process whose function has raised an exception; the message contains its traceback."""


class ProcessExitedException(ProcessException):
    """Failure of a process that has ended with an exit code other than 0, or by a signal.

    Attributes:
        exit_code: the exit code; negative for a signal.
        signal_name: the name of the signal, or None.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int = 1, signal_name: str | None = None
    ):
        super().__init__(msg, error_index, error_pid)
        self.args = msg, error_index, error_pid, exit_code, signal_name
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """Processes that ``start_processes`` has started.

    Args:
        processes: the processes.
        tracebacks: for each process, the end of a pipe from which its traceback is read.
    """

    def __init__(self, processes: list[Any], tracebacks: list[Any]):
        self.processes = processes
        self._tracebacks = tracebacks
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the numbers of the processes in the system."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends, and return True if all have ended.

        If one has failed, terminate the others, and kill them if they have not ended after the grace period.

        Args:
            timeout: the greatest number of seconds to wait; None for no limit.
            grace_period: the number of seconds until processes are killed; None to wait for them.

        Raises:
            ProcessRaisedException: the function of a process has raised an exception.
            ProcessExitedException: a process has ended with another exit code than 0.
        """
        failed = None
        for sentinel in connection.wait([*self.sentinels], timeout) if self.sentinels else []:
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode and failed is None:
                failed = index
        if failed is None:
            return not self.sentinels
        self._end(grace_period)
        raise self._failure(failed)

    def _end(self, grace_period: float | None) -> None:
        """End all processes."""
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        limit = None if grace_period is None else time.monotonic() + grace_period
        for process in self.processes:
            process.join(None if limit is None else max(0, limit - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, index: int) -> ProcessException:
        """Return the exception that describes the failure of a process."""
        process, pipe = self.processes[index], self._tracebacks[index]
        try:
            text = pipe.recv()
        except EOFError:  # it has ended without an exception
            code = process.exitcode
            if code >= 0:
                return ProcessExitedException(
                    f"process {index} terminated with exit code {code}", index, process.pid, code
                )
            name = signal.Signals(-code).name
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, name
            )
        return ProcessRaisedException(
            f"\n\n-- Process {index} terminated with the following error:\n{text}", index, process.pid
        )


def _run(function: Callable[..., Any], index: int, args: tuple[Any, ...], pipe: Any) -> None:
    """Call a function in a new process, and send the traceback if it raises an exception."""
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the parent process ends, too
    except Exception:
        pipe.send(traceback.format_exc()[-50_000:])  # as much as a pipe takes while nobody reads
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start processes that call ``fn(number, *args)`` with numbers from 0.

    Args:
        fn: the function; with "spawn" and "forkserver", one that can be imported.
        args: its further arguments, which can be pickled.
        nprocs: the number of processes.
        join: True to wait until all have ended, and return None; False to return a ``ProcessContext``.
        daemon: True to end the processes with this one.
        start_method: "spawn", "fork" or "forkserver".

    Raises:
        ProcessException: a process has failed, see ``ProcessContext.join``; the others have been terminated.
    """
    context = _multiprocessing.get_context(start_method)
    processes, pipes = [], []
    for index in range(nprocs):
        receiver, sender = context.Pipe(False)
        process = context.Process(target=_run, args=(fn, index, args, sender), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        sender.close()  # only the new process writes, so that reading ends with it
        processes.append(process)
        pipes.append(receiver)
    started = ProcessContext(processes, pipes)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start processes that call ``fn(number, *args)``: see ``start_processes``."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
