"""Whether a kernel runs on several threads, and how Numba's threads wait for one another."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import MutableMapping

import numba

__all__ = ["PARALLEL_FROM", "set_threads", "stay_on_one_thread", "thread_count", "worth_threads"]

#: Elements from which the simplest kernels, such as an addition, are run on several threads.
#:
#: Note [When threads pay]: handing half of the work to a second thread takes some 7 microseconds.  Microseconds on one
#: and on two cores of an AMD EPYC: an addition of 65,536 elements 9 and 12, of 131,072 18 and 18; sin of 32,768 16 and
#: 14, of 65,536 32 and 24; softmax of 16,384 23 and 17, of 65,536 79 and 42.  More cores gain more.  So the size is
#: weighed with the work that an element is (``Program.weight``, the ``size`` given to ``launch``).
PARALLEL_FROM = 65536

#: How often a thread of GNU's OpenMP looks whether the others are done before it sleeps: some 400 microseconds.
#:
#: Note [Threads that wait]: GNU's own number is thirty times as large, 11 ms on an AMD EPYC.  Where other processes use
#: the cores, a kernel's thread then spins away the time slice in which the one that it waits for would have come: tanh
#: of a million elements took 16 ms in the mean, with this number 4, as on one thread.  On a core of its own a thread
#: still spins from one kernel to the next, unless the program does something else for longer; then the next kernel
#: wakes it, which takes some 35 microseconds.
_SPINS = "10000"


def _load_openmp(variables: MutableMapping[str, str] = os.environ) -> None:
    """Load GNU's OpenMP with this number, which it reads when it is loaded, unless the user has set how it waits."""
    if "OMP_WAIT_POLICY" in variables or "GOMP_SPINCOUNT" in variables:
        return
    variables["GOMP_SPINCOUNT"] = _SPINS
    try:
        importlib.import_module("numba.np.ufunc.omppool")
    except ImportError:  # another threading layer will be used
        pass
    finally:
        del variables["GOMP_SPINCOUNT"]  # other libraries, and other processes, wait as they are used to


_load_openmp()


def _threads_start() -> bool:
    """Whether Numba has the threading layer that was asked for, if one was; said here if not, before much is computed.
    """
    if numba.config.THREADING_LAYER == "default":  # one there always is, and the threads start when they are needed
        return True
    try:
        numba.get_num_threads()
    except ValueError as error:
        warnings.warn(
            f"Numba has no threading layer {numba.config.THREADING_LAYER!r} here (NUMBA_THREADING_LAYER), so all is "
            f"computed on one thread. {error}",
            RuntimeWarning, stacklevel=2,
        )
        return False
    return True


_threads_allowed = _threads_start()


def threads_take_turns() -> bool:
    """Whether Numba's threading layer may be entered by one thread of the program at a time only."""
    return numba.threading_layer() == "workqueue"


def worth_threads(size: int) -> bool:
    """Whether work on so many elements is split over threads."""
    return size >= PARALLEL_FROM and _threads_allowed and numba.get_num_threads() > 1


def thread_count() -> int:
    """How many threads a kernel of this thread of the program is run on at most."""
    return numba.get_num_threads() if _threads_allowed else 1


def set_threads(count: int) -> None:
    """Run kernels on ``count`` threads at most, as far as Numba has so many (``NUMBA_NUM_THREADS``)."""
    if _threads_allowed:
        numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))


def stay_on_one_thread() -> None:
    """Run kernels on one thread in this process from now on."""
    global _threads_allowed
    _threads_allowed = False


if hasattr(os, "register_at_fork"):  # the threads of the parent do not exist in the child, and waiting for them hangs
    os.register_at_fork(after_in_child=stay_on_one_thread)
