"""Workers of a DataLoader, as seen by the process that reads their batches."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import socket
import sys
import time
import warnings
import weakref
from collections.abc import Iterable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from ...distributed import uses_mpi
from .collate import pinned
from .fetching import _BaseDataLoaderIter
from .transfer import receive
from .worker import PATIENCE, Ended, Failure, Job, Restart, run

__all__ = ["WorkerIterator", "context_of"]

#: Seconds that a worker has to exit after a signal.
_NOTICE = 1.0


def context_of(context: Any) -> BaseContext:
    """Return the ``multiprocessing`` context for workers: the given one, itself or by name, or the default.

    The default is the user's, if ``multiprocessing.set_start_method`` was called.  Otherwise it is "fork" on Linux,
    regardless of Python's default: programs then need no ``if __name__ == "__main__"``, and data sets may be of any
    class and are not copied.  In a process that has started MPI, "spawn" takes the place of "fork": MPI's
    connections do not survive a fork.

    Raises:
        ValueError, TypeError: the context does not exist.
    """
    if isinstance(context, BaseContext):
        return context
    methods = multiprocessing.get_all_start_methods()
    if context is None:
        context = multiprocessing.get_start_method(allow_none=True)
        if context is None and sys.platform == "linux":
            context = "fork"
        if context == "fork" and uses_mpi():
            context = "spawn"
        return multiprocessing.get_context(context)
    if not isinstance(context, str):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )
    if context not in methods:
        raise ValueError(
            f"multiprocessing_context option should specify a valid start method in {methods}, but got "
            f"multiprocessing_context={context!r}"
        )
    return multiprocessing.get_context(context)


class WorkerIterator(_BaseDataLoaderIter):
    """Iterator over the batches of passes over a data set, read by workers.

    Batches are numbered in the order of requests, which go to the workers in turn.  For each worker, ``ahead`` batches
    are in progress at a time.  Batches are returned in this order, unless ``in_order`` is False.

    Args:
        job: the job of the workers.
        indices: the sampler, whose indices are read again for each pass.
        context: the ``multiprocessing`` context in which they are started.
        ahead: the number of batches that each worker reads ahead.
        timeout: seconds to wait for a batch, 0 for no limit.
        in_order: True to return batches in the order of the sampler.
        pins: True to copy them to pinned memory.
        keeps: True to keep the workers for another pass.
    """

    def __init__(
        self, job: Job, indices: Iterable[Any], context: BaseContext, *, ahead: int, timeout: float, in_order: bool,
        pins: bool, keeps: bool,
    ):  # fmt: skip
        self._sampler, self._ahead, self._timeout = indices, ahead, timeout
        self._in_order, self._pins, self._keeps = in_order, pins, keeps
        self._connections: list[Connection] = []
        self._processes: list[BaseProcess] = []
        self.close = weakref.finalize(self, _end, self._connections, self._processes, os.getpid())
        for number in range(job.num_workers):
            self._start(job, number, context)
        self._begin()

    def _start(self, job: Job, number: int, context: BaseContext) -> None:
        own_end, other_end = context.Pipe()
        process = context.Process(target=run, args=(job, number, other_end, own_end), daemon=True)  # type: ignore[attr-defined]
        with warnings.catch_warnings():  # code in the forked process needs no other thread
            warnings.filterwarnings("ignore", ".*use of fork\\(\\) may lead to deadlocks", DeprecationWarning)
            process.start()
        other_end.close()
        self._connections.append(own_end)
        self._processes.append(process)

    def _begin(self) -> None:
        """Begin a pass."""
        self._indices = iter(self._sampler)
        self._turn = self._sent = 0  # numbers of the next batch to return, and of the next to request
        self._pending: dict[int, int] = {}  # workers of requested batches, by batch number
        self._arrived: dict[int, Any] = {}  # batches that arrived before their turn
        self._reading = [True] * len(self._processes)  # for each worker, True if it has more samples
        self._next_worker = itertools.cycle(range(len(self._processes)))
        for _ in range(self._ahead * len(self._processes)):
            self._ask()

    def restart(self) -> None:
        """Begin another pass with the same workers."""
        for worker in range(len(self._connections)):
            self._send(worker, None, Restart())
        waiting = set(range(len(self._processes)))
        while waiting:  # results that precede the answers belong to the last pass
            worker, (_, result) = self._receive()
            if isinstance(result, Restart):
                waiting.discard(worker)
        self._begin()

    def __len__(self) -> int:
        return len(self._sampler)  # type: ignore[arg-type]

    def __next__(self) -> Any:
        """Return the next batch, or sample; after an exception in making it, continue with the one after it.

        Raises:
            RuntimeError: a worker has exited, or the batch has timed out.
        """
        while True:
            while self._turn < self._sent and self._turn not in self._pending and self._turn not in self._arrived:
                self._turn += 1  # it was returned already, or its worker's samples had ended
            if self._turn in self._arrived:
                return self._delivered(self._arrived.pop(self._turn))
            if not self._pending:
                if not self._keeps:
                    self.close()
                raise StopIteration
            worker, (number, result) = self._receive()
            del self._pending[number]
            if isinstance(result, Ended):
                self._reading[worker] = False
                self._ask()
            elif number == self._turn or not self._in_order:
                return self._delivered(result)
            else:
                self._arrived[number] = result

    def _delivered(self, result: Any) -> Any:
        """Return a batch, after requesting another one in its place."""
        self._ask()
        if isinstance(result, Failure):
            raise result.error()
        return pinned(result) if self._pins else result

    def _ask(self) -> None:
        """Request the next batch from the next worker, if there are both."""
        limit = self._ahead * len(self._processes) // max(sum(self._reading), 1)
        for worker in itertools.islice(self._next_worker, len(self._processes)):
            free = self._in_order or list(self._pending.values()).count(worker) < limit
            if self._reading[worker] and free:
                break
        else:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        self._send(worker, self._sent, index)
        self._pending[self._sent] = worker
        self._sent += 1

    def _send(self, worker: int, number: int | None, index: Any) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # waiting for the worker detects its exit
            self._connections[worker].send((number, index))

    def _receive(self) -> tuple[int, Any]:
        """Return the next result of any worker, with the worker's number."""
        numbers = {connection: worker for worker, connection in enumerate(self._connections)}
        ready = wait([*numbers, *(process.sentinel for process in self._processes)], self._timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        try:
            connection = next(each for each in numbers if each in ready)
            return numbers[connection], receive(connection)
        except (EOFError, OSError, StopIteration):
            error = self._deaths()
            self.close()
            self._pending, self._arrived, self._turn = {}, {}, self._sent
            raise error from None

    def _deaths(self) -> RuntimeError:
        """Return the error that reports which workers have exited, and their exit status."""
        sentinels = wait([process.sentinel for process in self._processes], _NOTICE)
        ended = [process for process in self._processes if process.sentinel in sentinels]
        for process in ended:
            process.join(_NOTICE)  # it may not have exited completely
        pids = ", ".join(str(process.pid) for process in ended)
        manners = ", ".join(_manner(process.exitcode) for process in ended)
        return RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {manners}")


def _manner(exitcode: int | None) -> str:
    """Describe the exit status of a process."""
    if exitcode is not None and exitcode < 0:
        return f"killed by signal {signal.Signals(-exitcode).name}"
    return f"with exit code {exitcode}"


def _end(connections: list[Connection], processes: list[BaseProcess], owner: int) -> None:
    """End the workers, by force if necessary; do nothing in a fork of the process that started them."""
    if os.getpid() != owner:
        return
    for connection in connections:
        _hang_up(connection)
    end = time.monotonic() + PATIENCE
    for process in processes:
        process.join(max(end - time.monotonic(), 0))
        for stop in process.terminate, process.kill:
            if process.is_alive():
                stop()
                process.join(_NOTICE)
        process.close()


def _hang_up(connection: Connection) -> None:
    """Close a connection for both sides, even if forks of this process also have it open."""
    if hasattr(socket, "AF_UNIX"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)
    connection.close()
