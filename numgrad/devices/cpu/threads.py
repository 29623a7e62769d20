"""Threads of kernels: the sizes that are worth several threads, and the waiting of Numba's threads."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import MutableMapping

import numba

__all__ = ["PARALLEL_FROM", "set_threads", "stay_on_one_thread", "thread_count", "worth_threads"]

#: The least number of elements for which the simplest kernels, such as an addition, run on several threads.
#:
#: Note [When threads pay]: giving half of the work to a second thread takes some 7 microseconds.  Microseconds on one
#: and on two cores of an AMD EPYC: an addition of 65,536 elements 9 and 12, of 131,072 18 and 18; sin of 32,768 16 and
#: 14, of 65,536 32 and 24; softmax of 16,384 23 and 17, of 65,536 79 and 42.  More cores gain more.  So the size is
#: multiplied by the cost of an element (``PointwiseProgram.weight``, the ``size`` of ``launch``).
PARALLEL_FROM = 65536

#: Number of times that a thread of GNU's OpenMP checks for the others before it sleeps: some 400 microseconds.
#:
#: Note [Threads that wait]: GNU's default is thirty times as large, 11 ms on an AMD EPYC.  If other processes use the
#: cores, a thread of a kernel then spins through the time slice of the thread for which it waits: tanh of a million
#: elements took 16 ms on average, and 4 ms with this number, as on one thread.  On a core of its own a thread still
#: spins from one kernel to the next, unless the program does something else for longer.  Then the next kernel wakes it,
#: which takes some 35 microseconds.
_SPINS = "10000"


def _load_openmp(variables: MutableMapping[str, str] = os.environ) -> None:
    """Load GNU's OpenMP, which reads this number when it is loaded, unless the user has configured its waiting."""
    if "OMP_WAIT_POLICY" in variables or "GOMP_SPINCOUNT" in variables:
        return
    variables["GOMP_SPINCOUNT"] = _SPINS
    try:
        importlib.import_module("numba.np.ufunc.omppool")
    except ImportError:  # another threading layer will be used
        pass
    finally:
        del variables["GOMP_SPINCOUNT"]  # other libraries and processes keep their default


_load_openmp()


def _threads_start() -> bool:
    """Return True if Numba has the requested threading layer; warn if not."""
    if numba.config.THREADING_LAYER == "default":  # always available; the threads start at the first kernel
        return True
    try:
        numba.get_num_threads()
    except ValueError as error:
        warnings.warn(
            f"Numba has no threading layer {numba.config.THREADING_LAYER!r} here (NUMBA_THREADING_LAYER), so all "
            f"kernels run on one thread. {error}",
            RuntimeWarning, stacklevel=2,
        )
        return False
    return True


_threads_allowed = _threads_start()


def threads_take_turns() -> bool:
    """Return True if only one thread of the program at a time may enter Numba's threading layer."""
    return numba.threading_layer() == "workqueue"


def worth_threads(size: int) -> bool:
    """Return True if work on ``size`` elements is divided among threads."""
    return size >= PARALLEL_FROM and _threads_allowed and numba.get_num_threads() > 1


def thread_count() -> int:
    """Return the greatest number of threads of a kernel of this thread of the program."""
    return numba.get_num_threads() if _threads_allowed else 1


def set_threads(count: int) -> None:
    """Run kernels on at most ``count`` threads, limited by those of Numba (``NUMBA_NUM_THREADS``)."""
    if _threads_allowed:
        numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))


def stay_on_one_thread() -> None:
    """Run kernels on one thread in this process from now on."""
    global _threads_allowed
    _threads_allowed = False


if hasattr(os, "register_at_fork"):  # the threads of the parent do not exist in the child, and waiting for them hangs
    os.register_at_fork(after_in_child=stay_on_one_thread)
