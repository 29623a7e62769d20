"""Profiles of long programs, step by step, under PyTorch's names; see ``numgrad.autograd.profiler`` for the events.

Example:
    >>> import numgrad
    >>> from numgrad.profiler import ProfilerActivity, profile, schedule
    >>> def show(prof):
    ...     print([(row.key, row.count) for row in prof.key_averages()][:2])
    >>> x = numgrad.ones(3)
    >>> when = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> with profile(activities=[ProfilerActivity.CPU], schedule=when, on_trace_ready=show) as prof:
    ...     for step in range(6):
    ...         y = x.sin()
    ...         prof.step()
    [('ProfilerStep*', 2), ('aten::sin', 2)]
"""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .autograd import profiler as single
from .autograd.profiler import record_function
from .autograd.profiler.event_list import EventList, Results
from .autograd.profiler.recording import STEP
from .devices import gpu_count

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]


class ProfilerAction(enum.Enum):
    """Action of a profile in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(enum.Enum):
    """Activities that may be profiled; supported are the CPU and GPUs."""

    CPU = 0
    XPU = 1
    CUDA = 2


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be profiled, including GPUs if there are any."""
    return {ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * (gpu_count() > 0)}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a function that determines a profile's action in each step.

    The profile skips ``skip_first`` steps.  Then it repeats a cycle ``repeat`` times, or forever for 0: it waits for
    ``wait`` steps, warms up for ``warmup`` and records ``active``, and delivers the results after the last of them.
    Nothing is recorded while it waits or warms up.  With ``skip_first_wait``, the first ``wait`` is omitted.

    Raises:
        ValueError: a number is negative, or ``active`` is 0.

    Example:
        >>> import numgrad
        >>> schedule = numgrad.profiler.schedule(wait=1, warmup=1, active=2)
        >>> [schedule(step).name for step in range(4)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """
    counts = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    if min(counts.values()) < 0 or active == 0:
        numbers = [f"{name}={value} (need {'>' if name == 'active' else '>='} 0)" for name, value in counts.items()]
        raise ValueError(f"Invalid profiler schedule arguments. Got {', '.join(numbers)}.")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        cycle, position = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if (repeat and cycle >= repeat) or position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Return a function for ``on_trace_ready`` that writes a trace into a directory under a unique name.

    The name consists of that of the worker, by default the host's and the process's, and the time.
    """

    def write(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile(Results):  # noqa: N801 - PyTorch's name
    """Context manager that records the operations of this thread; in a loop, ``prof.step()`` ends each step.

    After each cycle of the schedule, or at the end without one, ``on_trace_ready`` is called with the results.  They
    are those of the last cycle until the next one begins.

    Args:
        activities: the activities to profile, by default all supported ones; must contain ``ProfilerActivity.CPU``.
        schedule: the action in each step, see :func:`schedule`; by default everything is recorded.
        on_trace_ready: called with this profile when there are results.
        record_shapes, profile_memory, with_stack, with_flops, with_modules: see ``numgrad.autograd.profiler.profile``.

    Raises:
        ValueError: the CPU is not among the activities.

    Example:
        >>> import numgrad
        >>> with numgrad.profiler.profile() as prof:
        ...     total = numgrad.ones(3).sum()
        >>> [event.key for event in prof.key_averages()]
        ['aten::sum']
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ):
        self.activities = supported_activities() if activities is None else set(activities)
        if ProfilerActivity.CPU not in self.activities:
            raise ValueError("No valid profiler activities found: ProfilerActivity.CPU must be among them")
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: single.profile | None = None
        self.with_stack = with_stack
        self._recording = False
        wants_gpus = ProfilerActivity.CUDA in self.activities
        if wants_gpus and not gpu_count():
            warnings.warn("cuda is not available, only the CPU is profiled", stacklevel=2)
        self._options = {
            "record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
            "with_flops": with_flops, "with_modules": with_modules, "use_cuda": wants_gpus and gpu_count() > 0,
        }
        self._steps = schedule is not None
        self._step: record_function | None = None
        self._metadata: dict[str, Any] = {}

    def start(self) -> None:
        """Start with the scheduled action of the current step."""
        if self.current_action not in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._end()
        elif not self._recording:
            self._recording = True
            self.profiler = single.profile(**self._options)  # type: ignore[arg-type]
            self.profiler.__enter__()
        if self._steps:
            self._step = record_function(f"{STEP}#{self.step_num}")
            self._step.__enter__()

    def stop(self) -> None:
        """Stop, and deliver the results of the current cycle."""
        self._end_step()
        if self._recording:
            self._hand_over()

    def step(self) -> None:
        """Mark the end of a step and the beginning of the next one."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if self._recording and before is ProfilerAction.RECORD_AND_SAVE:
            self._hand_over()
        self.start()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def _end(self) -> None:
        if self._recording and self.profiler is not None:
            self._recording = False
            self.profiler.__exit__(None, None, None)

    def _hand_over(self) -> None:
        self._end()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _started(self) -> single.profile:
        if self.profiler is None:
            raise RuntimeError("Profiler must be initialized before accessing events: nothing has been recorded")
        return self.profiler

    @property
    def function_events(self) -> EventList:  # type: ignore[override]
        """The events of the last cycle."""
        return self._started().function_events

    def events(self) -> EventList:
        """Return the events of the last cycle.

        Raises:
            RuntimeError: nothing has been recorded.
        """
        return self.function_events

    def check_finished(self) -> None:
        """Raise RuntimeError unless something has been recorded and the recording has ended."""
        self._started().check_finished()

    def add_metadata(self, key: str, value: str) -> None:
        """Add the text ``value`` to traces, under ``key``."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add the value of the JSON text ``value`` to traces, under ``key``.

        Raises:
            ValueError: the text is not JSON.
        """
        self._metadata[key] = json.loads(value)


def kineto_available() -> bool:
    """Return True: :class:`profile` has the arguments and results that it has with PyTorch's library Kineto."""
    return True
