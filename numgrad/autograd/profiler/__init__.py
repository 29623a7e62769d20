"""Profiling: the time taken by each operation, each backward node and each named block of the program."""

from __future__ import annotations

import os
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..grad_mode import ModeDecorator
from ..operations import operations
from ..watching import BLOCK, span
from .event_list import EventList, Results
from .events import FunctionEvent
from .recording import ProfileRecording

__all__ = ["EventList", "FunctionEvent", "emit_nvtx", "profile", "record_function"]


@dataclass(eq=False, repr=False)
class profile(Results):  # noqa: N801 - PyTorch's name
    """Context manager that records the operations of this thread in the block, and their times.

    It records an event for every operation of the table, under PyTorch's name (``aten::mul``), for every custom
    Function (under its class's name), and for every block named by :class:`record_function`.  Every node that backward
    reaches has two events: the engine's turn (``autograd::engine::evaluate_function: MulBackward0``), including the
    summation of gradients and the leaves that it completes, and within it the node's own computation
    (``MulBackward0``).  Functions that make a tensor from no other and draw no numbers (``zeros``, ``arange``,
    ``tensor``), and ``detach``, have no event of their own, but the operations that they call do.  The time to make
    kernels, that is to write them and to compile them or load them from disk, is counted separately.

    Only the thread that entered the block is watched.  Profiles may be nested, and each records everything.
    The records stay in memory until the profile is freed.

    With ``use_cuda``, events also have the time of the kernels that GPUs ran for them: ``device_time_total`` and
    ``self_device_time_total``, also available as ``cuda_time_total`` and so on, and ``kernels`` for each single run.
    The time is the GPU's own, measured by events on its stream, and includes the few microseconds of a launch.  Unlike
    PyTorch's, this profile waits for each kernel before the next launch.  The CPU's times contain this waiting, and
    work that would otherwise overlap does not.

    Args:
        enabled: False to record nothing.
        use_cuda: profile GPUs, too; warns if there are none.
        use_device: "cuda" for the same.
        record_shapes: record the shapes and dtypes of the arguments.
        with_flops: accepted as in PyTorch; operations are not counted.
        profile_memory: show "CPU Mem" and "Self CPU Mem" in tables, and with GPUs "CUDA Mem" and "Self CUDA Mem".
        with_stack: record the calls of the program that led to each event.
        with_modules, use_kineto, acc_events: no effect.
        use_cpu: must be True.

    Raises:
        ValueError: ``use_cpu`` is False.
        RuntimeError: the profile is entered a second time.

    Example:
        >>> import numgrad
        >>> x = numgrad.ones(2, 2, requires_grad=True)
        >>> with numgrad.autograd.profiler.profile() as prof:
        ...     y = (x * x).sum()
        ...     y.backward()
        >>> [event.name for event in prof.function_events][:2]
        ['aten::mul', 'aten::sum']
        >>> table = prof.key_averages().table(sort_by="self_cpu_time_total")
    """

    enabled: bool = True
    _: KW_ONLY
    use_cuda: bool = False
    use_device: str | None = None
    record_shapes: bool = False
    with_flops: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_modules: bool = False
    use_kineto: bool = False
    use_cpu: bool = True
    acc_events: bool = False

    def __post_init__(self) -> None:
        self.entered = False
        self._recording: ProfileRecording | None = None
        self._finished = False
        if not self.use_cpu:
            raise ValueError("use_cpu=False is not supported: the work of GPUs is recorded with that of the CPU")
        if self.use_cuda and self.use_device is None:
            self.use_device = "cuda"
        if self.use_device is not None and not (self.use_device == "cuda" and operations.devices.gpu_count()):
            warnings.warn(f"{self.use_device} is not available, only the CPU is profiled", stacklevel=3)
            self.use_device = None
        self._events = EventList(
            profile_memory=self.profile_memory, process=os.getpid(), use_device=self.use_device
        )

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._recording = ProfileRecording(
            with_shapes=self.record_shapes, with_stack=self.with_stack, with_gpus=self.use_device is not None
        )
        try:
            self._recording.start()
        except BaseException:  # see Note [Ctrl-C]
            self._recording.stop()
            raise
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._recording is not None and not self._finished:
            try:
                self._recording.stop()
            except BaseException:
                self._recording.stop()
                raise
            self._finished = True

    @property
    def function_events(self) -> EventList:  # type: ignore[override]
        """The events in order of their start; empty until the block has ended."""
        if self._finished and self._recording is not None:
            self._events.since = self._recording.since / 1e3
            self._events += sorted(self._recording.events, key=lambda event: event.time_range.start)
            for number, event in enumerate(self._events, 1):
                event.id = number
            self._events._build_tree()
            self._recording = None
        return self._events

    def check_finished(self) -> None:
        """Raise RuntimeError unless the block has ended."""
        if not self._finished:
            raise RuntimeError("Profiler didn't finish running")

    def __str__(self) -> str:
        return str(self.function_events) if self._finished else repr(self)

    def __repr__(self) -> str:
        if not self._finished:
            return "<unfinished numgrad.autograd.profile>"
        return repr(self.function_events)


class record_function(ModeDecorator):  # noqa: N801 - PyTorch's name
    """Context manager and decorator that makes profiles show the block under ``name``.

    Args:
        name: the name of the block.
        args: a remark that is written to traces.

    Raises:
        TypeError: ``name`` or ``args`` is not a str.

    Example:
        >>> import numgrad
        >>> from numgrad.autograd.profiler import profile, record_function
        >>> with profile() as prof:
        ...     with record_function("squares"):
        ...         y = numgrad.ones(2) ** 2
        >>> block = prof.function_events[0]
        >>> block.name, [event.name for event in block.cpu_children][-1]
        ('squares', 'aten::pow')
    """

    def __init__(self, name: str, args: str | None = None):
        if not isinstance(name, str):
            raise TypeError(f"record_function(): name must be a str, not {type(name).__name__}")
        if args is not None and not isinstance(args, str):
            raise TypeError(f"record_function(): args must be a str, not {type(args).__name__}")
        self.name = name
        self.args = args
        self._entered: list[span] = []

    def __enter__(self) -> record_function:
        self._entered.append(span(BLOCK, self.name, self.args).__enter__())
        return self

    def __exit__(self, *exception: Any) -> None:
        if not self._entered:
            raise RuntimeError("record_function: the block was not entered")
        self._entered.pop().__exit__(*exception)

    def clone(self) -> record_function:
        return record_function(self.name, self.args)


class emit_nvtx:  # noqa: N801 - PyTorch's name
    """Context in which PyTorch names its operations for NVIDIA's profilers.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        raise NotImplementedError("numgrad names no operations for NVIDIA's profilers: see cuda.nvtx.range")
