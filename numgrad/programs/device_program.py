"""A recorded program of a GPU: a list of launches, and of other work, that are put on its stream one after the other.

The list is written as a function of Python's: it is given the rows of a call, makes rows at the places that the plan
gives, and launches.  That takes the host a part of what operations take, and the GPU has no idle time in between.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..devices import begin_cuda
from ..devices.cpu.linking import Copied, Place
from ..devices.rows import DeviceRow
from .plan import Plan
from .steps import Block, DeviceCall, Span

_BYTE = np.dtype(np.uint8)


def memory_on(device: int, count: int, dtype: np.dtype) -> Callable[[], DeviceRow]:
    """What gives a new row on a GPU."""
    return functools.partial(begin_cuda().empty_row, count, dtype, device)


class DeviceProgram:
    """A program that can be run on rows.

    Attributes:
        plan: the Plan.
        takes, passed: ``run(rows)`` is given the rows of these lines of the plan; it returns 0.
        lock: held by the thread that runs it.
        text: of the function.
    """

    brief = False
    addresses = None  # there is no table of them
    texts: Sequence[str] = ()
    machine_code: Sequence[Any] = ()

    def __init__(self, plan: Plan, device: int, passed: Sequence[int]):
        self.plan, self.passed, self.takes = plan, tuple(passed), "rows" if passed else ""
        self.lock = threading.Lock()
        self._device = device
        self._fixed = {0: memory_on(device, plan.arena, _BYTE)()}
        for line, what in enumerate(plan.lines, 2):
            if not isinstance(what, Block):
                self._fixed[line] = what
            elif what.held is not None:
                self._fixed[line] = what.held[what.address - what.held.address :]
        self._names: dict[str, Any] = {"DeviceRow": DeviceRow, "run_kernel": begin_cuda().run_kernel}
        self._rows: dict[Any, str] = {}
        self._made: list[str] = []
        self._names["stream"] = begin_cuda().stream
        steps = [self._statement(step) for stretch in plan.steps for step in stretch]
        taken = [f"{', '.join([f'line{line}' for line in self.passed])}, = rows"] if passed else []
        lines = [*taken, f"here = stream({device})", *self._made, *steps, "return 0"]
        self.text = "\n".join([f"def run({self.takes}):", *["    " + line for line in lines]])
        exec(self.text, self._names)
        self.run: Callable[..., int] = self._names["run"]

    def clear_reports(self) -> None:
        """Nothing: what kernels report on a GPU is raised when it is waited for."""

    def _statement(self, step: DeviceCall | Copied) -> str:
        if isinstance(step, Copied):
            target, source = (self._row(Place(one.line, one.offset, step.size), _BYTE) for one in _ends(step))
            return f"{target}.put({source})"
        operands = [*map(str, step.grid), *["here"] * bool(step.grid), *map(self._operand, step.operands)]
        if step.grid:
            return f"run_kernel({self._name(step.function)}, {', '.join(operands)})"
        return f"{self._name(step.function)}({', '.join(operands)})"

    def _operand(self, value: Any) -> str:
        if isinstance(value, Span):
            return self._row(self.plan.place(value), value.dtype)
        if isinstance(value, list):
            return f"[{', '.join(map(self._operand, value))}]"
        return repr(value) if value.__class__ in (int, bool) else self._name(value)

    def _row(self, place: Place, dtype: np.dtype) -> str:
        """A row at a place: made once, or for each call if it lies elsewhere in each."""
        key = place, dtype
        if key in self._rows:
            return self._rows[key]
        if place.line not in self.passed:
            line = self._fixed[place.line]
            row = DeviceRow(line.address + place.offset, place.count, dtype, self._device, line.block)
            name = self._name(row)
        else:
            name, line_name = f"row{len(self._rows)}", f"line{place.line}"
            self._made.append(
                f"{name} = DeviceRow({line_name}.address + {place.offset}, {place.count}, {self._name(dtype)}, "
                f"{self._device}, {line_name}.block)"
            )
        self._rows[key] = name
        return name

    def _name(self, value: Any) -> str:
        name = f"v{len(self._names)}"
        self._names[name] = value
        return name


def _ends(step: Copied) -> tuple[Place, Place]:
    assert step.source is not None
    return step.target, step.source
