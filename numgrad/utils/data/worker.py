"""Worker process of a DataLoader: reads the batches requested by the loader, and sends them back."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from ...devices.cpu.blas import multiply_on_one_thread
from ...devices.cpu.threads import stay_on_one_thread
from ...random import manual_seed
from .fetching import Fetcher, Reading
from .transfer import packed, send
from .worker_info import WorkerInfo, set_worker_info

__all__ = ["PATIENCE", "Ended", "Failure", "Job", "Restart", "run"]


#: Seconds that a worker has to exit voluntarily.
PATIENCE = 5.0


@dataclass(frozen=True)
class Job:
    """Data passed to all workers of a loader."""

    reading: Reading
    seed: int
    num_workers: int
    init: Callable[[int], None] | None


class Restart(NamedTuple):
    """Sent instead of indices to start a new pass over the data set, and instead of a batch as the answer."""


class Ended(NamedTuple):
    """Sent instead of a batch at the end of a worker's samples."""


class Failure(NamedTuple):
    """Sent instead of a batch: the exception that prevented it."""

    kind: type[Exception] | None
    text: str

    @classmethod
    def of(cls, error: Exception, worker: int) -> Failure:
        """Return the failure for an exception in a worker, in a form that another process can receive."""
        original = "".join(traceback.format_exception(error))
        text = f"Caught {type(error).__name__} in DataLoader worker process {worker}.\nOriginal {original}"
        try:
            pickle.loads(pickle.dumps(type(error)))
        except Exception:  # the class exists only there, for example one defined in a function
            return cls(None, text)
        return cls(type(error), text)

    def error(self) -> Exception:
        """Return the exception, of its own class if that can be constructed from a text."""
        text = _Verbatim(self.text)
        try:
            if self.kind is None or issubclass(self.kind, StopIteration):  # would end the loop
                return RuntimeError(text)
            return self.kind(text)
        except Exception:  # the constructor takes other arguments
            return RuntimeError(text)


class _Verbatim(str):
    """Text that a KeyError shows verbatim."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def run(job: Job, number: int, connection: Connection, other_end: Connection) -> None:
    """Run worker ``number``: answer tasks from ``connection`` until it is closed.

    A task consists of the number of a batch and its indices, the answer of the same number and the batch.
    """
    other_end.close()  # otherwise this process itself would keep the connection open
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C interrupts the user's program, which closes the connection
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_take, args=(connection, tasks), daemon=True).start()
    stay_on_one_thread()
    multiply_on_one_thread()
    _start_generators(job.seed, number)
    set_worker_info(WorkerInfo(number, job.num_workers, job.seed + number, job.reading.dataset))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        _answer(job, number, connection, tasks)


def _start_generators(seed: int, number: int) -> None:
    """Seed Python's, numgrad's and NumPy's generators; NumPy's gets another seed, because its algorithm is Python's."""
    random.seed(seed + number)
    manual_seed(seed + number)
    np.random.seed(np.random.SeedSequence([number, seed & 0xFFFFFFFF, seed >> 32]).generate_state(4))


def _take(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    """Queue tasks as they arrive, so that the sender need not wait; at the end, queue None, and later force an exit."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        tasks.put(None)
    time.sleep(PATIENCE)
    os._exit(1)  # the sample being read does not finish


def _answer(job: Job, number: int, connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    fetcher = _fetcher(job, number, job.init)
    while (task := tasks.get()) is not None:
        position, index = task
        result: Any = fetcher
        if isinstance(index, Restart):
            result = index
            fetcher = fetcher if isinstance(fetcher, Failure) else _fetcher(job, number)
        elif isinstance(fetcher, Fetcher):
            result = _fetched(job, fetcher, index, number)
        send(connection, _packed(position, result, number))


def _fetcher(job: Job, number: int, init: Callable[[int], None] | None = None) -> Fetcher | Failure:
    try:
        if init is not None:
            init(number)
        return Fetcher(job.reading)
    except Exception as error:
        return Failure.of(error, number)


def _fetched(job: Job, fetcher: Fetcher, index: Any, number: int) -> Any:
    try:
        return fetcher.fetch(index)
    except Exception as error:
        return Ended() if isinstance(error, StopIteration) and job.reading.iterable else Failure.of(error, number)


def _packed(position: Any, result: Any, number: int) -> Any:
    try:
        return packed((position, result))
    except Exception as error:  # the result cannot be pickled
        return packed((position, Failure.of(error, number)))
