"""Timing of a statement."""

from __future__ import annotations

import contextlib
import enum
import textwrap
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import numgrad

from .measurement import Measurement, TaskSpec

__all__ = ["Language", "Timer", "set_torch_threads", "timer"]

_Callback = Callable[[int, float], Any]


class Language(enum.Enum):
    """Language of a statement."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Return the time in seconds, after waiting for all work on GPUs."""
    if numgrad.cuda.is_initialized():
        numgrad.cuda.synchronize()
    return timeit.default_timer()


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Context manager that sets the number of threads for computations."""
    before = numgrad.get_num_threads()
    numgrad.set_num_threads(n)
    try:
        yield
    finally:
        numgrad.set_num_threads(before)


class Timer:
    """Timer for a statement.  Unlike ``timeit``, it warms up, uses one thread by default, and waits for GPUs.

    Args:
        stmt: the statement.
        setup: code that runs before each block of runs, untimed.
        timer: returns the time in seconds.
        globals: names available to the statement besides ``torch`` and ``numgrad``.
        label, sub_label, description, env: names for :class:`Compare`: of the table, the row, the column, and of a
            group of otherwise equal rows.
        num_threads: the number of threads for computations.
        language: "python".
        global_setup: for C++ in PyTorch.

    Raises:
        ValueError: the statement is not a string, ``global_setup`` is given, or the language is unknown.
        NotImplementedError: the language is C++.

    Example:
        >>> import numgrad
        >>> timer = numgrad.utils.benchmark.Timer("x + 1", globals={"x": 1})
        >>> timer.timeit(100).number_per_run
        100
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ):
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("statements in C++ cannot be timed: numgrad has no C++ interface")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        stmt, setup = (textwrap.dedent(text).removeprefix("\n").rstrip() for text in (stmt, setup))
        names = {"torch": numgrad, "numgrad": numgrad, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Measure the time of ``number`` runs, after a hundredth as many runs for warming up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._time(max(number // 100, 2))
            return self._measured(number, [self._time(number)])

    def blocked_autorange(self, callback: _Callback | None = None, min_run_time: float = 0.2) -> Measurement:
        """Measure blocks of runs until they have taken ``min_run_time`` seconds together.

        A block is long enough to make the cost of reading the clock negligible.  ``callback`` is called after each with
        its number of runs and its time.
        """
        number = self._block(min_run_time)
        return self._measured(number, self._times(number, lambda times: sum(times) >= min_run_time, callback))

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: _Callback | None = None,
    ) -> Measurement:
        """Measure blocks of runs until the interquartile range is less than ``threshold`` times the median.

        At least four blocks are run, which take at least ``min_run_time`` seconds; the measurement ends in any case
        after ``max_run_time``.
        """
        number = self._block(0.05)

        def done(times: list[float]) -> bool:
            if sum(times) > max_run_time:
                return True
            close = len(times) > 3 and self._measured(number, times).meets_confidence(threshold)
            return close and sum(times) >= min_run_time

        return self._measured(number, self._times(number, done, callback))

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise NotImplementedError, as in PyTorch.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: _Callback | None = None) -> None:
        """Raise NotImplementedError, as in PyTorch.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _time(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def _times(
        self, number: int, done: Callable[[list[float]], bool], callback: _Callback | None
    ) -> list[float]:
        times: list[float] = []
        with set_torch_threads(self._task_spec.num_threads):
            while not times or not done(times):
                times.append(self._time(number))
                if callback is not None:
                    callback(number, times[-1])
        return times

    def _block(self, min_run_time: float) -> int:
        """Return the runs per block: a thousandth of the time, and ten thousand times the overhead of timing."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead = float(np.median([self._time(0) for _ in range(5)]))
            self._time(1)  # kernels may be compiled here
            number = 1
            while number * 10 < 2**31:
                seconds = self._time(number)
                if seconds > min_run_time or (overhead <= 1e-4 * seconds and seconds >= min_run_time / 1000):
                    break
                number *= 10
        return number

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)
