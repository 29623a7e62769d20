"""Programs on separate memory, whose steps can be run and timed without side effects."""

from __future__ import annotations

import copy
from functools import cached_property, partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from ...devices.cpu.linking import link
from ...programs.linked import LinkedProgram
from ...programs.program import Program
from ...programs.recorded_steps import Block, HostCall, start_address

#: The number of runs, of which the fastest is used; the first run is slower, since memory and caches are cold.
RUNS = 5


class StepwiseProgram:
    """A program whose steps are linked one by one, on copies of the memory that existed before.

    Args:
        program: the program.
        forward: for a program of backward, the one that saves its values.
    """

    def __init__(self, program: Program, forward: StepwiseProgram | None = None):
        self._forward = forward
        plan = copy.copy(program.plan)
        plan.steps = [
            part for segment in plan.steps
            for part in ([segment] if isinstance(segment, HostCall) else [[step] for step in segment])
        ]
        self._program = LinkedProgram(plan, program.recorder.one_thread)
        self.saved: np.ndarray = np.zeros(plan.saved_size, np.uint8) if forward is None else forward.saved
        self._program.addresses[1] = start_address(self.saved)
        self._memory: list[np.ndarray] = []
        for line, what in enumerate(plan.lines, 2):
            self._program.addresses[line] = self._address(what) if isinstance(what, Block) else self._kept(what.copy())

    @cached_property
    def times(self) -> list[float] | None:
        """The time of each step in seconds; None if a kernel reports an error."""
        if self._forward is not None and self._forward.times is None:
            return None
        nothing = partial(link([]).run, 0)
        idle = min([_time(nothing)[0] for _ in range(10)])
        best = [1 << 62] * len(self._program.segments)
        with self._program.context:
            for _ in range(RUNS):
                for number, segment in enumerate(self._program.segments):
                    time, reported = _time(segment)
                    if reported:
                        return None
                    best[number] = min(best[number], max(time - idle, 0))
        return [time / 1e9 for time in best]

    def _kept(self, array: np.ndarray) -> int:
        self._memory.append(array)
        return start_address(array)

    def _address(self, block: Block) -> int:
        """Return the address of a block's copy."""
        array = block.held if block.held is not None else block.array()
        if array is None:  # a result, or the array has been deleted
            return self._kept(np.zeros(block.size, np.uint8))
        return self._kept(array.copy("K")) + block.address - start_address(array)


def _time(run: Any) -> tuple[int, int]:
    """Return the duration of a call in nanoseconds, and its result."""
    begun = perf_counter_ns()
    result = run()
    return perf_counter_ns() - begun, result
