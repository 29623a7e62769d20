"""A recorded program, linked: its memory, the table of addresses, and machine code that works on it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.tensor import tensor_of
from ..devices.cpu.blas import one_thread
from ..devices.cpu.linking import FINDS_ROWS, link
from .plan import ALIGNMENT
from .steps import Block, HostCall, Load, Placed, Span, place_of

#: A program that moves fewer bytes is brief.
BRIEF = 1 << 20


class Arena:
    """Memory that programs have in common which run one after the other, such as those of one function.

    Attributes:
        row: all of it.
        lock: held by the thread that runs one of them.
    """

    def __init__(self) -> None:
        self.row = _aligned(0)
        self.lock = threading.Lock()

    def grow(self, size: int) -> None:
        """Have at least so many bytes."""
        with self.lock:
            if size > self.row.nbytes:
                self.row = _aligned(size)


def _aligned(size: int) -> np.ndarray:
    """So many bytes, which begin where a cache line does."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -place_of(memory) % ALIGNMENT
    return memory[start : start + size]


class LinkedProgram:
    """A program that can be run on a table of addresses.

    Attributes:
        plan: a Plan, or what has the steps, the lines, the arena and the reports of one that was saved.
        addresses: the table; whoever runs the program fills in the lines of blocks outside, of results and of an
            arena that is not its own.
        lock: held by the thread that runs it.
        takes: what ``run`` is given: the identity of that tuple, or nothing.
        passed: the lines of the table whose rows are passed to ``run`` in a tuple, see Note [Rows passed].
        brief: whether other threads of Python wait for it, so that it needs no lock.
        table: the same as an array.
        texts: the IR of each stretch of machine code.
        machine_code: these, linked.
        stretches: what does the steps, one stretch after the other: each returns 0 unless a kernel has reported.
    """

    def __init__(self, plan: Any, one_thread_only: bool, passed: Sequence[int] = (), arena: Arena | None = None):
        self.plan = plan
        machine_code_alone = len(plan.steps) == 1 and not isinstance(plan.steps[0], HostCall) and not one_thread_only
        self.passed = tuple(passed) if machine_code_alone and FINDS_ROWS else ()
        self.brief = machine_code_alone and arena is None and plan.traffic < BRIEF
        self.takes = "id(rows)" if self.passed else ""
        self.lock = threading.Lock() if arena is None else arena.lock
        self.table = np.zeros(2 + len(plan.lines), np.int64)
        if arena is None:
            self._arena = _aligned(plan.arena)
            self.table[0] = place_of(self._arena)
        else:
            arena.grow(plan.arena)
        for line, what in enumerate(plan.lines, 2):
            array = what.held if isinstance(what, Block) else what
            if array is not None:
                self.table[line] = place_of(array)
        self.addresses = memoryview(self.table)  # type: ignore[arg-type]
        self.context: Any = one_thread() if one_thread_only else contextlib.nullcontext()
        self.texts: list[str] = []
        self.machine_code: list[Any] = []
        self.stretches = stretches = [self._stretch(stretch) for stretch in plan.steps]
        #: ``run()`` does what is to be done; it returns 0, unless a kernel has reported that something is wrong.  It is
        #: given ``id(rows)``, a tuple, if rows are passed.
        self.run = stretches[0] if machine_code_alone else functools.partial(self._run, stretches)

    def _stretch(self, stretch: Any) -> Any:
        if isinstance(stretch, HostCall):
            return functools.partial(self._call_host, stretch)
        linked = link(stretch, self.passed, self.brief)
        self.texts.append(linked.text)
        self.machine_code.append(linked)
        return functools.partial(linked.run, place_of(self.table))

    def _run(self, stretches: list[Any]) -> int:
        with self.context:
            for stretch in stretches:
                if step := stretch():
                    return step
        return 0

    def _call_host(self, call: HostCall) -> int:
        results = call.function(*map(self._given, call.operands))
        for span, array in zip(call.results, results or (), strict=True):
            self._array(span)[...] = array
        return 0

    def _given(self, value: Any) -> Any:
        """An operand of a host function as it is in this run."""
        if isinstance(value, Span):
            return self._array(value)
        if isinstance(value, Load):
            return self._array(value.span).item()
        if isinstance(value, Placed):
            return tensor_of(value.layout, self._array(value.span))
        return type(value)(map(self._given, value)) if isinstance(value, tuple | list) else value

    def _array(self, span: Span) -> np.ndarray:
        """An array of the program's, where it lies in this run."""
        if not span.count:
            return np.empty(span.shape, span.dtype)
        place = self.plan.place(span)
        reach = sum([(n - 1) * step for n, step in zip(span.shape, span.strides, strict=True)]) + span.dtype.itemsize
        memory = (ctypes.c_char * reach).from_address(self.table.item(place.line) + place.offset)
        return np.ndarray(span.shape, span.dtype, memory, 0, span.strides)  # type: ignore[arg-type]

    def clear_reports(self) -> None:
        """Forget what kernels have reported."""
        for report in self.plan.reports:
            report.fill(False if report.dtype.kind == "b" else -1)
