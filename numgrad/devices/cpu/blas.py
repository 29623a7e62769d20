"""How many threads BLAS may use.

Note [The threads of BLAS]
After a product OpenBLAS's threads wait for the next one by spinning, for some 20 ms.  A kernel's own threads then have
to share the cores with them: where products and kernels take turns, as in every network, each waits for the other's
time slice, and a step of a small network takes ten times as long.  A second thread gains little on matrices of up to
a few hundred rows, so these are multiplied by one, with which no other thread is woken.  Where one program's several
threads multiply at once, the last to leave gives BLAS its threads back.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any

__all__ = ["one_thread_for"]

#: Multiplications from which OpenBLAS uses several threads, and from which they are worth it.
_MANY, _WORTHWHILE = 1 << 18, 1 << 25


class _OneThread:
    """A context in which OpenBLAS uses one thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.threads: list[int] = []

    @functools.cached_property
    def libraries(self) -> list[Any]:
        """The loaded libraries that spin: others' threads sleep."""
        import threadpoolctl  # when it is first needed: programs without such products start faster

        found = threadpoolctl.ThreadpoolController().lib_controllers
        return [library for library in found if library.internal_api == "openblas"]

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                self.threads = [library.get_num_threads() for library in self.libraries]
                self._set([1] * len(self.libraries))
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self._set(self.threads)

    def _set(self, threads: list[int]) -> None:
        for library, number in zip(self.libraries, threads, strict=True):
            library.set_num_threads(number)


_one_thread, _as_it_is = _OneThread(), contextlib.nullcontext()


def one_thread_for(rows: int, inner: int, columns: int) -> Any:
    """The context for a product of (rows, inner) and (inner, columns): see Note [The threads of BLAS]."""
    return _one_thread if _MANY < rows * inner * columns < _WORTHWHILE else _as_it_is
