"""Where the blocks of a recorded program lie when it is replayed, and the steps by these places.

Note [The plan of memory]
A replay has a table of addresses.  Line 0 is the arena, one piece of memory for all blocks that only the program
itself sees: two of them overlap in it only if the last step of the one comes before the first of the other.  Programs
of one function have a large arena in common, and run one after the other.  Line 1 is what a backward program is to
find, and lies elsewhere for each call.  Then come, a line each, the blocks outside that the program uses, those that
are its results, and constants.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..devices.cpu.linking import Copied, Place, ReadNumber, Run
from .recorder import Recorder
from .steps import CONSTANT, OUTSIDE, Block, HostCall, Launch, Load, Span

#: What blocks in the arena begin at multiples of: a cache line.
ALIGNMENT = 64

_ARENA, _SAVED = 0, 1


class Plan:
    """The places of a program's blocks.

    Args:
        recorder: what was recorded.
        results: blocks that callers get, which are new for each call.
        saved: blocks that a backward program is to find, or that this one finds there, with their places if known.

    Attributes:
        steps: those of the recorder, by places: a list of Run and Copied, or a HostCall, for each stretch; of a GPU
            one list, of DeviceCall and Copied.
        lines: of the table, from 2 on: the blocks whose addresses stand there.
        arena, saved_size: bytes.
        offsets: where the saved blocks lie.
    """

    def __init__(self, recorder: Recorder, results: Sequence[Block], saved: dict[Block, int] | Sequence[Block] = ()):
        self.lines: list[Any] = []
        self.reports: list[np.ndarray] = []
        self._places: dict[Any, tuple[int, int]] = {}
        self.results = list(results)
        #: Bytes of all that its steps are given.
        self.traffic = sum([one.count * one.dtype.itemsize for one in _spans(recorder.steps)])
        if isinstance(saved, dict):
            self.offsets, self.saved_size = saved, 0
        else:
            self.offsets, self.saved_size = _in_a_row(saved)
        for block, offset in self.offsets.items():
            self._places[block] = (_SAVED, offset)
        own, returned = [], set(results)
        for block in recorder.blocks:
            if block in self._places or block.last < 0:
                continue
            if block.origin == OUTSIDE or block in returned or (block.origin == CONSTANT and not block.written):
                self._line(block)
            else:
                own.append(block)
        self.arena = self._fill_arena(own)
        #: Whether a step calls a function of the host's, or a kernel that may report that something is wrong.
        self.may_fail = any(_may_fail(step) for step in recorder.steps)
        #: The blocks outside that are changed before the last step that may fail.
        last = max([number for number, step in enumerate(recorder.steps) if _may_fail(step)], default=0)
        self.undone = [
            block for block in recorder.blocks if block.origin == OUTSIDE and 0 <= block.changed < last
        ]
        self.steps = self._placed_steps(recorder)

    def arena_offset(self, block: Block) -> int | None:
        """Where a block begins in the arena; None if it is not there."""
        line, offset = self._places.get(block, (_SAVED, 0))
        return offset if line == _ARENA else None

    @staticmethod
    def begun(recorder: Recorder) -> list[Block]:
        """The blocks that a run begins with a copy of what they held, in the order in which it comes to them."""
        begun = [block for block in recorder.blocks if block.initial is not None and block.last >= 0]
        return sorted(begun, key=lambda block: block.first)

    def _line(self, what: Any) -> int:
        self.lines.append(what)
        line = len(self.lines) + _SAVED
        self._places[what if isinstance(what, Block) else id(what)] = (line, 0)
        return line

    def _fill_arena(self, blocks: Sequence[Block]) -> int:
        """Give each block a place when it is first used: the smallest gap that holds it, which blocks before it left.

        Return the bytes of the arena.
        """
        live: list[tuple[int, int, int]] = []  # last step, begin and end of the blocks in use, the first to go first
        gaps: list[tuple[int, int]] = []  # in order, with none beside another
        end = used = 0
        for block in sorted(blocks, key=lambda block: (block.first, -block.size)):
            while live and live[0][0] < block.first:
                _, *gap = heappop(live)
                _add_gap(gaps, *gap)
            size = -(-block.size // ALIGNMENT) * ALIGNMENT
            fits = [(stop - start, start) for start, stop in gaps if stop - start >= size]
            if fits:
                length, begin = min(fits)
                place = bisect(gaps, (begin, begin + length)) - 1
                gaps[place : place + 1] = [(begin + size, begin + length)] if length > size else []
            else:
                begin = gaps.pop()[0] if gaps and gaps[-1][1] == end else end
                end = begin + size
            heappush(live, (block.last, begin, begin + size))
            self._places[block] = (_ARENA, begin)
            used = max(used, begin + block.size)
        return used

    # -- steps ------------------------------------------------------------------------------------------------

    def place(self, span: Span) -> Place:
        """Where an array begins."""
        line, offset = self._places[span.block]
        return Place(line, offset + span.offset, span.count)

    def _placed_steps(self, recorder: Recorder) -> list[Any]:
        stretches: list[Any] = []
        begun = self.begun(recorder)
        for number, step in enumerate(recorder.steps):
            if isinstance(step, HostCall) or not stretches or isinstance(stretches[-1], HostCall):
                stretches.append([])
            while begun and begun[0].first <= number:
                stretches[-1].append(self._beginning(begun.pop(0)))
            if isinstance(step, Launch):
                stretches[-1].append(self._run(step))
            elif isinstance(step, HostCall):
                stretches.append(step)
            else:
                stretches[-1].append(step)
        if begun:  # results that no step has to do with
            stretches.append([self._beginning(block) for block in begun])
        return [stretch for stretch in stretches if stretch != []]

    def _beginning(self, block: Block) -> Copied:
        """What gives a block what it held when it was met."""
        assert block.initial is not None
        line, offset = self._places[block]
        zeros = isinstance(block.initial, np.ndarray) and not block.initial.view(np.uint8).any()
        source = None if zeros else Place(self._line(block.initial), 0, 1)
        return Copied(Place(line, offset, 1), source, block.size)

    def _run(self, launch: Launch) -> Run:
        parameters, reports = launch.kernel.facts.parameters, launch.kernel.facts.reports
        operands: list[Any] = []
        for operand in launch.operands:
            if isinstance(operand, Load):
                operand = ReadNumber(self.place(operand.span), operand.span.dtype)
            elif isinstance(operand, Span):
                operand = self.place(operand)
            elif isinstance(operand, np.ndarray):  # a report, which is the program's own
                self.reports.append(operand)
                operand = Place(self._line(operand), 0, operand.size)
            operands.append(operand)
        looked_at = tuple([number for number, name in enumerate(parameters) if name in reports])
        addresses = tuple([(number, index, self.place(span)) for number, index, span in launch.addresses])
        return Run(launch.kernel, tuple(operands), looked_at, addresses)


def _add_gap(gaps: list[tuple[int, int]], start: int, stop: int) -> None:
    """Add a gap in the arena, as one with those beside it."""
    place = bisect(gaps, (start, stop))
    if place < len(gaps) and gaps[place][0] == stop:
        stop = gaps.pop(place)[1]
    if place and gaps[place - 1][1] == start:
        place -= 1
        start = gaps.pop(place)[0]
    gaps.insert(place, (start, stop))


def _may_fail(step: Any) -> bool:
    return isinstance(step, HostCall) or (isinstance(step, Launch) and bool(step.kernel.facts.reports))


def _spans(steps: Sequence[Any]) -> Iterator[Span]:
    """The arrays that kernels are given."""
    for step in steps:
        if isinstance(step, Launch):
            yield from (one for one in step.operands if isinstance(one, Span))


def _in_a_row(blocks: Sequence[Block]) -> tuple[dict[Block, int], int]:
    """The blocks one after the other: where each begins, and all their bytes."""
    offsets, end = {}, 0
    for block in blocks:
        offsets[block] = end
        end += -(-block.size // ALIGNMENT) * ALIGNMENT
    return offsets, end
