"""A recorded program after linking: its memory, the table of addresses, and the machine code that uses the table."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..devices.cpu.blas import one_thread
from ..devices.cpu.linking import FINDS_ROWS, link
from ..tensors.tensor import tensor_of
from .recorded_steps import ALIGNMENT, Block, HostCall, Load, Placed, Span, start_address

#: A program that reads and writes fewer bytes is brief.
BRIEF = 1 << 20


class Arena:
    """Memory shared by programs that do not run at the same time, such as those of one function.

    Attributes:
        buffer: the memory.
        lock: held by the thread that runs one of them.
    """

    def __init__(self) -> None:
        self.buffer = _aligned_buffer(0)
        self.lock = threading.Lock()
        self._sizes: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def serve(self, program: Any, size: int) -> None:
        """Record that a program needs ``size`` bytes, and resize the memory to the largest recorded size."""
        with self.lock:
            self._sizes[program] = size
            largest = max(self._sizes.values())
            if largest != self.buffer.nbytes:
                self.buffer = _aligned_buffer(largest)


def _aligned_buffer(size: int) -> np.ndarray:
    """Return a buffer of this many bytes, aligned to a cache line."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -start_address(memory) % ALIGNMENT
    return memory[start : start + size]


class LinkedProgram:
    """A program whose machine code reads addresses from a table.

    Attributes:
        plan: a MemoryPlan, or the steps, lines, arena and reports of a saved program.
        addresses: the table; the caller sets the lines for blocks outside, results and a shared arena.
        lock: held by the thread that runs the program.
        takes: the argument of ``run``: the identity of the tuple of passed buffers, or nothing.
        passed: the lines of the table whose buffers are passed to ``run`` in a tuple, see Note [Passed buffers].
        brief: True if the program keeps the interpreter lock while it runs, so that it needs no other lock.
        table: the table as an array.
        texts: the IR of each segment of machine code.
        machine_code: the linked segments.
        segments: the functions that run the steps, one after the other; each returns 0 unless a kernel has reported an
            error.
        run: the function that runs the program; it returns 0 unless a kernel has reported an error.
    """

    def __init__(self, plan: Any, one_thread_only: bool, passed: Sequence[int] = (), arena: Arena | None = None):
        self.plan = plan
        is_machine_code = len(plan.steps) == 1 and not isinstance(plan.steps[0], HostCall) and not one_thread_only
        self.passed = tuple(passed) if is_machine_code and FINDS_ROWS else ()
        self.brief = is_machine_code and arena is None and plan.traffic < BRIEF
        self.takes = "id(buffers)" if self.passed else ""
        self.lock = threading.Lock() if arena is None else arena.lock
        self.table = np.zeros(2 + len(plan.lines), np.int64)
        if arena is None:
            self._arena = _aligned_buffer(plan.arena)
            self.table[0] = start_address(self._arena)
        else:
            arena.serve(self, plan.arena)
        for line, what in enumerate(plan.lines, 2):
            array = what.held if isinstance(what, Block) else what
            if array is not None:
                self.table[line] = start_address(array)
        self.addresses = memoryview(self.table)  # type: ignore[arg-type]
        self.context: Any = one_thread() if one_thread_only else contextlib.nullcontext()
        self.texts: list[str] = []
        self.machine_code: list[Any] = []
        self.segments = [self._segment(segment) for segment in plan.steps]
        self.run = self.segments[0] if is_machine_code else functools.partial(self._run, self.segments)

    def _segment(self, segment: Any) -> Any:
        if isinstance(segment, HostCall):
            return functools.partial(self._call_host, segment)
        linked = link(segment, self.passed, self.brief)
        self.texts.append(linked.text)
        self.machine_code.append(linked)
        return functools.partial(linked.run, start_address(self.table))

    def _run(self, segments: list[Any]) -> int:
        with self.context:
            for segment in segments:
                if step := segment():
                    return step
        return 0

    def _call_host(self, call: HostCall) -> int:
        results = call.function(*map(self._value, call.operands))
        for span, array in zip(call.results, results or (), strict=True):
            self._array(span)[...] = array
        return 0

    def _value(self, operand: Any) -> Any:
        """Return the value of a host function's operand for the current run."""
        if isinstance(operand, Span):
            return self._array(operand)
        if isinstance(operand, Load):
            return self._array(operand.span).item()
        if isinstance(operand, Placed):
            return tensor_of(operand.layout, self._array(operand.span))
        return type(operand)(map(self._value, operand)) if isinstance(operand, tuple | list) else operand

    def _array(self, span: Span) -> np.ndarray:
        """Return an array of the program in the memory of the current run."""
        if not span.count:
            return np.empty(span.shape, span.dtype)
        place = self.plan.place(span)
        reach = sum([(n - 1) * step for n, step in zip(span.shape, span.strides, strict=True)]) + span.dtype.itemsize
        memory = (ctypes.c_char * reach).from_address(self.table.item(place.line) + place.offset)
        return np.ndarray(span.shape, span.dtype, memory, 0, span.strides)  # type: ignore[arg-type]

    def clear_reports(self) -> None:
        """Reset the arrays in which kernels report errors."""
        for report in self.plan.reports:
            report.fill(False if report.dtype.kind == "b" else -1)
