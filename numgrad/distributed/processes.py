"""The processes of a program: their numbers, their shares of a machine's processors, and their end when one fails."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from types import TracebackType
from typing import Any

from threadpoolctl import threadpool_limits

from ..settings import set_num_threads
from .mpi import mpi

__all__ = ["abort_on_errors", "check_is_no_child", "end_all", "number_processes"]

#: Seconds that MPI's launcher may take to pass on what this process has printed, before it ends all processes.
_UNDERWAY = 0.5

#: The change that a program needs if it makes its own processes.
_NOT_SPAWNED = (
    "instead of multiprocessing.spawn(function, ...) call function(int(os.environ['RANK']), ...), because MPI starts "
    "the processes"
)

#: True if uncaught exceptions end all processes.
_aborts = False


def check_is_no_child() -> None:
    """Raise RuntimeError in the child of a process that MPI has started."""
    if multiprocessing.parent_process() is not None and "RANK" in os.environ:
        raise RuntimeError(
            f"this is a child of rank {os.environ['RANK']}, which takes no part in communication. Protect the main "
            f"part of the program with 'if __name__ == \"__main__\":', and {_NOT_SPAWNED}"
        )


def number_processes(communicator: Any, expected: int = -1) -> None:
    """Set ``RANK``, ``WORLD_SIZE``, ``LOCAL_RANK``, ``LOCAL_WORLD_SIZE``, unless they are, and the number of threads.

    The processors of a machine are divided among its processes, unless ``NUMBA_NUM_THREADS`` is set, and, for products
    of matrices, ``OMP_NUM_THREADS``, ``OPENBLAS_NUM_THREADS`` or ``MKL_NUM_THREADS``.

    Args:
        communicator: MPI's communicator of the processes.
        expected: the number of processes; by default that in ``WORLD_SIZE``, if it is set.

    Raises:
        ValueError: there is another number of processes.
    """
    rank, size = communicator.Get_rank(), communicator.Get_size()
    expected = int(os.environ.get("WORLD_SIZE", size)) if expected < 0 else expected
    if expected != size:
        is_child = multiprocessing.parent_process() is not None
        raise ValueError(
            f"MPI has started {size} process{'es' * (size > 1)}, not {expected}: start the program with 'python -m "
            f"numgrad launch --processes {expected}', or with the mpiexec of the MPI library that mpi4py uses"
            f"{f'; and {_NOT_SPAWNED}' * is_child}"
        )
    on_machine = communicator.Split_type(mpi().COMM_TYPE_SHARED)
    local_rank, local_size = on_machine.Get_rank(), on_machine.Get_size()
    on_machine.Free()
    numbers = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": local_rank, "LOCAL_WORLD_SIZE": local_size}
    for name, value in numbers.items():
        os.environ.setdefault(name, str(value))
    if local_size > 1:
        _limit_threads(max(1, _processors() // local_size))


def _limit_threads(count: int) -> None:
    """Run kernels and products of matrices on at most so many threads, unless the environment has their number."""
    if "NUMBA_NUM_THREADS" not in os.environ:
        set_num_threads(count)
    if os.environ.keys().isdisjoint(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")):
        threadpool_limits(count, "blas")


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def abort_on_errors() -> None:
    """Make an uncaught exception of this process end all processes, after its traceback is printed."""
    global _aborts
    communicator = mpi().COMM_WORLD
    if _aborts or communicator.Get_size() == 1:
        return
    _aborts = True
    before = sys.excepthook

    def end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        print(f"Rank {communicator.Get_rank()} has failed, which ends all others:", file=sys.stderr)
        before(kind, error, traceback)
        end_all(130 if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = end


def end_all(status: int) -> None:
    """End all processes with an exit status."""
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_UNDERWAY)
    mpi().COMM_WORLD.Abort(status)
