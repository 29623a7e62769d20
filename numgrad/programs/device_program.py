"""A recorded program for a GPU: a list of launches and other work, added to its stream one after the other.

The list is a generated Python function: it takes the buffers of a call, creates the other buffers as the plan says, and
launches the kernels.  That takes the host a fraction of the time of separate operations, so the GPU is not idle between
kernels.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..devices import begin_cuda
from ..devices.buffers import DeviceBuffer
from ..devices.cpu.linking import Copied, Place
from .memory_plan import MemoryPlan
from .recorded_steps import Block, DeviceCall, Span

_BYTE = np.dtype(np.uint8)


def memory_on(device: int, count: int, dtype: np.dtype) -> Callable[[], DeviceBuffer]:
    """Return a function that allocates a buffer on a GPU."""
    return functools.partial(begin_cuda().empty_buffer, count, dtype, device)


class DeviceProgram:
    """A program that runs on buffers of a GPU.

    Attributes:
        plan: the MemoryPlan.
        takes, passed: ``run(buffers)`` takes the buffers of these lines of the plan; it returns 0.
        lock: held by the thread that runs it.
        text: the text of the function.
    """

    brief = False
    addresses = None  # a program on a GPU has no table
    texts: Sequence[str] = ()
    machine_code: Sequence[Any] = ()

    def __init__(self, plan: MemoryPlan, device: int, passed: Sequence[int]):
        self.plan, self.passed, self.takes = plan, tuple(passed), "buffers" if passed else ""
        self.lock = threading.Lock()
        self._device = device
        self._fixed = {0: memory_on(device, plan.arena, _BYTE)()}
        for line, what in enumerate(plan.lines, 2):
            if not isinstance(what, Block):
                self._fixed[line] = what
            elif what.held is not None:
                self._fixed[line] = what.held[what.address - what.held.address :]
        gpu = begin_cuda()
        self._names: dict[str, Any] = {"DeviceBuffer": DeviceBuffer, "run_kernel": gpu.run_kernel, "stream": gpu.stream}
        self._buffers: dict[Any, str] = {}
        self._new: list[str] = []  # statements that make buffers
        steps = [self._statement(step) for segment in plan.steps for step in segment]
        passed_lines = [f"{', '.join([f'line{line}' for line in self.passed])}, = buffers"] if passed else []
        lines = [*passed_lines, f"here = stream({device})", *self._new, *steps, "return 0"]
        self.text = "\n".join([f"def run({self.takes}):", *["    " + line for line in lines]])
        exec(self.text, self._names)
        self.run: Callable[..., int] = self._names["run"]

    def clear_reports(self) -> None:
        """Do nothing: errors that kernels report on a GPU are raised at the next synchronisation."""

    def _statement(self, step: DeviceCall | Copied) -> str:
        if isinstance(step, Copied):
            assert step.source is not None
            target, source = (self._buffer(Place(end.line, end.offset, step.size), _BYTE) for end in (
                step.target, step.source
            ))
            return f"{target}.put({source})"
        operands = ", ".join(map(self._operand, step.operands))
        if step.grid:
            return f"run_kernel({self._name(step.function)}, {', '.join(map(str, step.grid))}, here, {operands})"
        return f"{self._name(step.function)}({operands})"

    def _operand(self, value: Any) -> str:
        if isinstance(value, Span):
            return self._buffer(self.plan.place(value), value.dtype)
        if isinstance(value, list):
            return f"[{', '.join(map(self._operand, value))}]"
        return repr(value) if value.__class__ in (int, bool) else self._name(value)

    def _buffer(self, place: Place, dtype: np.dtype) -> str:
        """Return the name of a buffer, which is created once, or in each call if its memory is passed."""
        key = place, dtype
        if key in self._buffers:
            return self._buffers[key]
        if place.line not in self.passed:
            line = self._fixed[place.line]
            name = self._name(DeviceBuffer(line.address + place.offset, place.count, dtype, self._device, line.block))
        else:
            name, line_name = f"buffer{len(self._buffers)}", f"line{place.line}"
            self._new.append(
                f"{name} = DeviceBuffer({line_name}.address + {place.offset}, {place.count}, {self._name(dtype)}, "
                f"{self._device}, {line_name}.block)"
            )
        self._buffers[key] = name
        return name

    def _name(self, value: Any) -> str:
        name = f"v{len(self._names)}"
        self._names[name] = value
        return name
