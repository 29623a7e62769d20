"""A recorded program for a GPU: a list of launches and other work, added to its stream one after the other.

The list is a generated Python function: it takes the buffers of a call, creates the other buffers as the plan says, and
launches the kernels.  That takes the host a fraction of the time of separate operations, so the GPU is not idle between
kernels.  Consecutive launches are parts of the function, which become CUDA graphs (see ``devices.cuda.graphs``).
"""

from __future__ import annotations

import functools
import itertools
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

#: Least number of steps of a graph.
_LEAST = 4


def memory_on(device: int, count: int, dtype: np.dtype) -> Callable[[], DeviceBuffer]:
    """Return a function that allocates a buffer on a GPU."""
    return functools.partial(begin_cuda().empty_buffer, count, dtype, device)


def results_on(device: int, wanted: Sequence[tuple[int, int, np.dtype]]) -> Callable[[], list[DeviceBuffer]]:
    """Return a function that allocates the buffers of results on a GPU, where the last ones were if that is free again.

    Graphs contain addresses, so they can be used again if the addresses are the same.

    Args:
        device: the number of the GPU.
        wanted: for each buffer its number of bytes, its number of elements, and their dtype.
    """
    memory, pieces = begin_cuda().memory, [None] * len(wanted)

    def allocate() -> list[DeviceBuffer]:
        buffers = memory.allocator(device).allocate_again(wanted, pieces, memory.stream(device))
        pieces[:] = [buffer.block.piece for buffer in buffers]
        return buffers

    return allocate


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
        steps = [step for segment in plan.steps for step in segment]
        parts = [[*part] for _, part in itertools.groupby(steps, self._is_repeatable)]
        bodies, used = zip(*map(self._part, parts), strict=True) if parts else ((), ())
        heads = [f"part{n}({', '.join(['here', *[f'line{m}' for m in lines]])})" for n, lines in enumerate(used)]
        taken = [f"{', '.join([f'line{line}' for line in self.passed])}, = buffers"] if passed else []
        main = [*taken, f"here = stream({device})", *heads, "return 0"]
        self.text = "\n".join([*map(_function, heads, bodies), _function(f"run({self.takes})", main)])
        exec(self.text, self._names)
        others = [what for what in self._fixed.values() if what.__class__ is DeviceBuffer]
        for number, (part, lines) in enumerate(zip(parts, used, strict=True)):
            if len(part) >= _LEAST and self._is_repeatable(part[0]):
                once = [sum(line in each for each in used) == 1 and self._is_result(line) for line in lines]
                name = f"part{number}"
                self._names[name] = gpu.Replayed(self._names[name], others, once)
        self.run: Callable[..., int] = self._names["run"]

    def clear_reports(self) -> None:
        """Do nothing: errors that kernels report on a GPU are raised at the next synchronisation."""

    @staticmethod
    def _is_repeatable(step: DeviceCall | Copied) -> bool:
        return isinstance(step, Copied) or begin_cuda().is_repeatable(step.function)

    def _is_result(self, line: int) -> bool:
        """Return True if a line of the plan is a result, whose memory is new in each call."""
        return line > 1 and self.plan.lines[line - 2] in self.plan.results

    def _part(self, steps: Sequence[DeviceCall | Copied]) -> tuple[list[str], list[int]]:
        """Return the statements that put these steps on a stream, and the passed lines of the plan that they use."""
        self._new = []
        for key in [key for key in self._buffers if key[0].line in self.passed]:
            del self._buffers[key]
        statements = [self._statement(step) for step in steps]
        used = {place.line for place, _ in self._buffers}
        return [*self._new, *statements], [line for line in self.passed if line in used]

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
            name, line_name = f"buffer{len(self._new)}", f"line{place.line}"
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


def _function(head: str, lines: Sequence[str]) -> str:
    """Return the text of a function."""
    return "\n".join([f"def {head}:", *["    " + line for line in lines]])
