"""What a worker of a DataLoader does: it reads the batches that it is told to, and sends them back."""

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


#: Seconds that a worker has to end by itself.
PATIENCE = 5.0


@dataclass(frozen=True)
class Job:
    """What all workers of a loader are given."""

    reading: Reading
    seed: int
    num_workers: int
    init: Callable[[int], None] | None


class Restart(NamedTuple):
    """In place of indices: a new pass over the data set begins; and in place of a batch, the answer to that."""


class Ended(NamedTuple):
    """In place of a batch: a worker's samples have come to their end."""


class Failure(NamedTuple):
    """In place of a batch: the exception that it ended with."""

    kind: type[Exception] | None
    text: str

    @classmethod
    def of(cls, error: Exception, worker: int) -> Failure:
        """The failure that an exception in a worker is, as another process can be told of it."""
        original = "".join(traceback.format_exception(error))
        text = f"Caught {type(error).__name__} in DataLoader worker process {worker}.\nOriginal {original}"
        try:
            pickle.loads(pickle.dumps(type(error)))
        except Exception:  # it is known there only: a class of a function's, for one
            return cls(None, text)
        return cls(type(error), text)

    def error(self) -> Exception:
        """The exception, of its own class if one can be made of a text."""
        text = _Verbatim(self.text)
        try:
            if self.kind is None or issubclass(self.kind, StopIteration):  # which would end the loop
                return RuntimeError(text)
            return self.kind(text)
        except Exception:  # it is made of other arguments
            return RuntimeError(text)


class _Verbatim(str):
    """A text that a KeyError shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def run(job: Job, number: int, connection: Connection, other_end: Connection) -> None:
    """Be worker ``number``: answer the tasks that come through ``connection`` until it is closed.

    A task is the number of a batch with its indices, the answer the same number with the batch.
    """
    other_end.close()  # else this process itself would keep the connection open
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the user's program is interrupted, and closes it
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_take, args=(connection, tasks), daemon=True).start()
    stay_on_one_thread()
    multiply_on_one_thread()
    _start_generators(job.seed, number)
    set_worker_info(WorkerInfo(number, job.num_workers, job.seed + number, job.reading.dataset))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        _answer(job, number, connection, tasks)


def _start_generators(seed: int, number: int) -> None:
    """Start Python's, numgrad's and NumPy's generators, NumPy's from another state than Python's, which is its like."""
    random.seed(seed + number)
    manual_seed(seed + number)
    np.random.seed(np.random.SeedSequence([number, seed & 0xFFFFFFFF, seed >> 32]).generate_state(4))


def _take(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    """Take tasks as they come, so that who sends them need not wait; None is the end, of which it is seen to here."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        tasks.put(None)
    time.sleep(PATIENCE)
    os._exit(1)  # the sample that is being read does not come to an end


def _answer(job: Job, number: int, connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    fetcher = _begun(job, number, job.init)
    while (task := tasks.get()) is not None:
        position, index = task
        result: Any = fetcher
        if isinstance(index, Restart):
            result = index
            fetcher = fetcher if isinstance(fetcher, Failure) else _begun(job, number)
        elif isinstance(fetcher, Fetcher):
            result = _fetched(job, fetcher, index, number)
        send(connection, _packed(position, result, number))


def _begun(job: Job, number: int, init: Callable[[int], None] | None = None) -> Fetcher | Failure:
    try:
        if init is not None:
            init(number)
        return Fetcher(job.reading)
    except Exception as error:
        return Failure.of(error, number)


def _fetched(job: Job, fetcher: Fetcher, index: Any, number: int) -> Any:
    try:
        return fetcher.fetch(index)
    except StopIteration as error:
        return Ended() if job.reading.iterable else Failure.of(error, number)
    except Exception as error:
        return Failure.of(error, number)


def _packed(position: Any, result: Any, number: int) -> Any:
    try:
        return packed((position, result))
    except Exception as error:  # it cannot be pickled
        return packed((position, Failure.of(error, number)))
