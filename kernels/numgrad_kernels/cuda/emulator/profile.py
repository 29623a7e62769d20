"""Profiles of a launch: how warps access memory and diverge, and where races are.

While the threads of a block run, each notes the basic blocks that it enters and the addresses that it accesses.  The
lanes of a warp are then merged as a GPU executes them, in lockstep: lanes that took different branches meet again where
these end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from . import checks
from .checks import ADDRESS, COLUMNS, EARLIER, PLACE, RACE, THREAD
from .flow import basic_blocks, lockstep_order
from .translation import Translator

#: Bytes that one transaction of global memory moves, and the number and the width of the banks of shared memory.
SECTOR, BANKS, BANK = 32, 32, 4

#: Columns of the counts of an instruction: how often a warp executed it, in how many lanes in all, and how often it
#: accessed memory; the steps that this took (transactions of global, passes of shared memory), and the least possible.
ISSUES, LANES, REQUESTS, STEPS, LEAST = range(5)

#: Rows of a trace: what does not fit is not counted.
_ROWS = 1 << 20


class Line(NamedTuple):
    """A line of Python: the name of its file, its number, and its text."""

    file: str
    number: int
    text: str


class Race(NamedTuple):
    """Two instructions that race: the fault (see ``checks.py``), and who executed them.

    ``earlier`` and ``threads[1]`` are -1 if unknown, and ``blocks`` are the numbers of the two blocks.
    """

    fault: int
    position: int
    earlier: int
    threads: tuple[int, int]
    blocks: tuple[int, int]


class Profile:
    """The counts of a traced kernel's launch, by instruction, and its races."""

    def __init__(self, translator: Translator):
        code = translator.program.code
        self.accesses = translator.accesses
        self.trace = np.empty((_ROWS, COLUMNS), np.int64)
        self.counts = np.zeros((len(code), 5), np.int64)
        self.races: dict[tuple[int, int], Race] = {}
        self.is_complete = True
        self.early_ends = 0, 0  #: threads that ended while others waited at a barrier, and its number
        self.shared = np.zeros(len(code), np.bool_)  #: instructions that access shared memory
        self._sizes = np.zeros(len(code), np.int64)
        for position, (size, _) in translator.accesses.items():
            self._sizes[position] = size
        self._blocks = basic_blocks(translator.program)
        self._order = lockstep_order(translator.program)

    def add(self, c: np.ndarray, block: int, threads: int) -> None:
        """Add what the trace of a block contains, with the context after its run."""
        rows = self.trace[: c[checks.ROWS]]
        self.is_complete &= len(rows) < len(self.trace)
        self.early_ends = int(c[checks.ENDED]), int(c[checks.ENDED_AT])
        races = np.flatnonzero(rows[:, RACE])
        _, firsts = np.unique(rows[races][:, [PLACE, RACE]], axis=0, return_index=True)
        for number in races[firsts]:
            self._add_race(rows[number], rows[:number], block)
        by_thread = rows[np.argsort(rows[:, THREAD], kind="stable")]
        bounds = np.searchsorted(by_thread[:, THREAD], np.arange(threads + 1))
        start = c[checks.SHARED_START]
        for first in range(0, threads, 32):
            _merge(
                by_thread, bounds[first : first + 33], self._order, self._sizes, start, start + c[checks.SHARED_SIZE],
                self.counts, self.shared,
            )

    def instruction_counts(self) -> np.ndarray:
        """Return the counts of all instructions: those of a basic block are executed as often as it begins."""
        counts = self.counts.copy()
        for first, end in zip(self._blocks, [*self._blocks[1:], len(counts)], strict=True):
            counts[first:end, : LANES + 1] = self.counts[first, : LANES + 1]
        return counts

    def _add_race(self, row: np.ndarray, rows: np.ndarray, block: int) -> None:
        """Add the first race of an instruction in a block, with the rows before it, unless a block had it before."""
        position, fault = int(row[PLACE]), int(row[RACE])
        earlier, who = -1, int(row[EARLIER] & 0xFFFF) - 1
        other_block = int(row[EARLIER] >> 48 & 0x7FFF) - 1
        if other_block == block:
            earlier_access = self._before(row, rows)
            if earlier_access is not None:
                earlier, who = int(earlier_access[PLACE]), int(earlier_access[THREAD])
        threads = int(row[THREAD]), who if who < 0x7FFF else -1
        self.races.setdefault((position, fault), Race(fault, position, earlier, threads, (block, other_block)))

    def _before(self, row: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
        """Return the last of the rows whose access, by another thread, races with that of ``row``."""
        racing = {
            checks.READ_OF_WRITTEN: (checks.WRITE,), checks.TWO_WRITES: (checks.WRITE,),
            checks.ATOMIC_OF_WRITTEN: (checks.WRITE,), checks.WRITE_OF_READ: (checks.READ, checks.ATOMIC),
        }[int(row[RACE])]
        places = [position for position, (_, code) in self.accesses.items() if code & 3 in racing]
        start, end = row[ADDRESS], row[ADDRESS] + self._sizes[row[PLACE]]
        overlaps = (rows[:, ADDRESS] < end) & (rows[:, ADDRESS] + self._sizes[rows[:, PLACE]] > start)
        candidates = rows[overlaps & (rows[:, THREAD] != row[THREAD]) & np.isin(rows[:, PLACE], places)]
        return candidates[-1] if len(candidates) else None


@njit(cache=True)
def _distinct(numbers):
    """Return how many different numbers there are."""
    numbers.sort()
    return 1 + np.sum(numbers[1:] != numbers[:-1])


@njit(cache=True)
def _transactions(addresses, size):
    """Return the transactions for the accesses of a warp to global memory, and the least for as many bytes."""
    sectors = np.concatenate((addresses // SECTOR, (addresses + size - 1) // SECTOR))
    return _distinct(sectors), -(-_distinct(addresses) * size // SECTOR)


@njit(cache=True)
def _passes(addresses, size):
    """Return the passes for the accesses of a warp to shared memory, and the least: each reads a word of each bank.

    Words of one bank need a pass each, unless they are the same.  Lanes that access more than one word go in groups.
    """
    lanes = max(1, BANKS * BANK // max(size, BANK))
    passes, least = 0, 0
    for first in range(0, len(addresses), lanes):
        words = np.unique(addresses[first : first + lanes] // max(size, BANK))
        passes += np.bincount(words % lanes).max()
        least += 1
    return passes, least


@njit(cache=True)
def _merge(trace, bounds, order, sizes, start, end, counts, shared):
    """Count what the lanes of a warp execute together.

    Args:
        trace: the rows of all threads, those of a thread together.
        bounds: where the rows of the lanes begin; the last number is where those of the last lane end.
        order: the number of each instruction in the order of execution.
        sizes: the sizes of the accesses, by instruction.
        start, end: of shared memory.
        counts, shared: the counts to add to, and the instructions that access shared memory, to mark.
    """
    heads = bounds[:-1].copy()
    addresses = np.empty(len(heads), np.int64)
    none = 2 * len(counts)
    while True:
        earliest = none  # of two rows with one place, that which begins the block comes first
        for lane in range(len(heads)):
            if heads[lane] < bounds[lane + 1]:
                row = trace[heads[lane]]
                earliest = min(earliest, 2 * order[row[PLACE]] + (row[ADDRESS] >= 0))
        if earliest == none:
            return
        position, active = 0, 0
        for lane in range(len(heads)):
            if heads[lane] < bounds[lane + 1]:
                row = trace[heads[lane]]
                if 2 * order[row[PLACE]] + (row[ADDRESS] >= 0) == earliest:
                    position = row[PLACE]
                    addresses[active] = row[ADDRESS]
                    heads[lane] += 1
                    active += 1
        if earliest % 2 == 0:
            counts[position, ISSUES] += 1
            counts[position, LANES] += active
            continue
        shared[position] = start <= addresses[0] < end
        chosen = addresses[:active].copy()
        steps, least = _passes(chosen, sizes[position]) if shared[position] else _transactions(chosen, sizes[position])
        counts[position, REQUESTS] += 1
        counts[position, STEPS] += steps
        counts[position, LEAST] += least
