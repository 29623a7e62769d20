"""The plan of a program's memory: the places of its blocks in a replay, and its steps with these places.

Note [The plan of memory]
A replay has a table of addresses.  Line 0 is the arena, one piece of memory for all blocks that only the program itself
uses.  Two blocks may overlap there if the last step that uses one comes before the first step that uses the other.
Programs of one function share a large arena, and run one after the other.  Line 1 is the memory saved for a backward
program, which is new in each call.  The other lines are the blocks outside that the program uses, the blocks of its
results, and constants.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..devices.cpu.linking import Copied, Place, ReadNumber, Run
from .recorded_steps import CONSTANT, OUTSIDE, Block, HostCall, KernelCall, Load, Span, aligned
from .recorder import Recorder
from .tiled import TiledGroup

_ARENA, _SAVED, _FIRST = 0, 1, 2


class MemoryPlan:
    """The places of a program's blocks.

    Args:
        recorder: the recorder of the program.
        results: the blocks of results, which are new in each call.
        saved: the blocks saved for a backward program; for the backward program itself, a dictionary of their offsets.
        steps: the steps, if some are to run tile by tile; otherwise those of the recorder.
        lines: the blocks of the first lines, whether or not a step uses them.

    Attributes:
        steps: the steps with places: a list of Run and Copied, or a HostCall, for each segment; on a GPU one list of
            DeviceCall and Copied.
        recorded: the steps without places.
        lines: the blocks and arrays whose addresses are in the table, from line 2 on.
        reports: the arrays in which kernels report errors.
        arena, saved_size: numbers of bytes.
        offsets: the offsets of the saved blocks.
        traffic: the number of bytes of all operands.
        may_fail: True if a step calls a host function, or a kernel that may report an error.
        undone: the blocks outside that change before the last step that may fail, and are restored if it does.
    """

    def __init__(
        self, recorder: Recorder, results: Sequence[Block], saved: dict[Block, int] | Sequence[Block] = (),
        steps: Sequence[Any] | None = None, lines: Sequence[Any] = (),
    ):
        blocks = recorder.blocks
        self.recorded = steps = recorder.steps if steps is None else steps
        self.lines: list[Any] = []
        self.reports: list[np.ndarray] = []
        self._places: dict[Any, tuple[int, int]] = {}
        self.results = list(results)
        launches = [launch for step in steps for launch in (step.launches if isinstance(step, TiledGroup) else [step])]
        operands = [operand for step in launches if isinstance(step, KernelCall) for operand in step.operands]
        self.traffic = sum([span.count * span.dtype.itemsize for span in operands if isinstance(span, Span)])
        self.offsets, self.saved_size = (saved, 0) if isinstance(saved, dict) else consecutive(saved)
        self._places |= {block: (_SAVED, offset) for block, offset in self.offsets.items()}
        for block in lines:
            self._add_line(block)
        temporary, returned = [], set(results)
        for block in blocks:
            if block in self._places or block.last < 0:
                continue
            is_constant = block.origin == CONSTANT and not block.written
            if block.origin == OUTSIDE or block in returned or is_constant:
                self._add_line(block)
            else:
                temporary.append(block)
        self.arena = self._fill_arena(temporary)
        failing = [number for number, step in enumerate(steps) if _may_fail(step)]
        self.may_fail = bool(failing)
        last = failing[-1] if failing else 0
        self.undone = [block for block in blocks if block.origin == OUTSIDE and 0 <= block.changed < last]
        self.steps = self._placed_steps(steps, self.begun(recorder))

    def arena_offset(self, block: Block) -> int | None:
        """Return the offset of a block in the arena; None if it is not in the arena."""
        line, offset = self._places.get(block, (_SAVED, 0))
        return offset if line == _ARENA else None

    @staticmethod
    def begun(recorder: Recorder) -> list[Block]:
        """Return the blocks that are initialized by a copy in each run, in the order of their first steps."""
        begun = [block for block in recorder.blocks if block.initial is not None and block.last >= 0]
        return sorted(begun, key=lambda block: block.first)

    def _add_line(self, what: Any) -> int:
        self.lines.append(what)
        line = len(self.lines) - 1 + _FIRST
        self._places[what if isinstance(what, Block) else id(what)] = line, 0
        return line

    def _fill_arena(self, blocks: Sequence[Block]) -> int:
        """Place each block at its first use in the smallest gap that holds it; return the size of the arena."""
        live: list[tuple[int, int, int]] = []  # last step, begin and end of the blocks in use, as a heap
        gaps: list[tuple[int, int]] = []  # in order, none adjacent to another
        end = used = 0
        for block in sorted(blocks, key=lambda block: (block.first, -block.size)):
            while live and live[0][0] < block.first:
                _, *gap = heappop(live)
                _add_gap(gaps, *gap)
            size = aligned(block.size)
            fits = [(stop - start, start) for start, stop in gaps if stop - start >= size]
            if fits:
                length, begin = min(fits)
                index = bisect(gaps, (begin, begin + length)) - 1
                gaps[index : index + 1] = [(begin + size, begin + length)] if length > size else []
            else:
                begin = gaps.pop()[0] if gaps and gaps[-1][1] == end else end
                end = begin + size
            heappush(live, (block.last, begin, begin + size))
            self._places[block] = _ARENA, begin
            used = max(used, begin + block.size)
        return used

    # -- steps -----------------------------------------------------------------------------------------------------

    def place(self, span: Span) -> Place:
        """Return the place of an array."""
        line, offset = self._places[span.block]
        return Place(line, offset + span.offset, span.count)

    def _placed_steps(self, steps: Sequence[Any], begun: list[Block]) -> list[Any]:
        segments: list[Any] = [[]]
        for number, step in enumerate(steps):
            if isinstance(segments[-1], HostCall):
                segments.append([])
            while begun and begun[0].first <= number:
                segments[-1].append(self._initial_copy(begun.pop(0)))
            if isinstance(step, HostCall):
                segments.append(step)
            elif isinstance(step, TiledGroup):
                segments[-1].append(step.placed(self.place, self._constant))
            else:
                segments[-1].append(self._run(step) if isinstance(step, KernelCall) else step)
        if begun:  # initialized results that no step uses
            segments.append([self._initial_copy(block) for block in begun])
        return [segment for segment in segments if segment != []]

    def _constant(self, array: Any) -> Place:
        """Return the place of an array that belongs to the program."""
        return Place(self._add_line(array), 0, array.size)

    def _initial_copy(self, block: Block) -> Copied:
        """Return the step that copies the initial contents into a block."""
        assert block.initial is not None
        line, offset = self._places[block]
        is_zero = isinstance(block.initial, np.ndarray) and not block.initial.view(np.uint8).any()
        source = None if is_zero else self._constant(block.initial)
        return Copied(Place(line, offset, 1), source, block.size)

    def _run(self, launch: KernelCall) -> Run:
        parameters, reports = launch.kernel.facts.parameters, launch.kernel.facts.reports
        operands: list[Any] = []
        for operand in launch.operands:
            if isinstance(operand, Load):
                operand = ReadNumber(self.place(operand.span), operand.span.dtype)
            elif isinstance(operand, Span):
                operand = self.place(operand)
            elif isinstance(operand, np.ndarray):  # a report, which belongs to the program
                self.reports.append(operand)
                operand = self._constant(operand)
            operands.append(operand)
        reporting = tuple([number for number, name in enumerate(parameters) if name in reports])
        addresses = tuple([(number, index, self.place(span)) for number, index, span in launch.addresses])
        return Run(launch.kernel, tuple(operands), reporting, addresses)


def _add_gap(gaps: list[tuple[int, int]], start: int, stop: int) -> None:
    """Add a gap in the arena, merged with those adjacent to it."""
    index = bisect(gaps, (start, stop))
    if index < len(gaps) and gaps[index][0] == stop:
        stop = gaps.pop(index)[1]
    if index and gaps[index - 1][1] == start:
        index -= 1
        start = gaps.pop(index)[0]
    gaps.insert(index, (start, stop))


def _may_fail(step: Any) -> bool:
    return isinstance(step, HostCall) or (isinstance(step, KernelCall) and bool(step.kernel.facts.reports))


def consecutive(blocks: Sequence[Block]) -> tuple[dict[Block, int], int]:
    """Return the offsets of blocks that lie one after the other, and their size."""
    offsets, end = {}, 0
    for block in blocks:
        offsets[block] = end
        end += aligned(block.size)
    return offsets, end
