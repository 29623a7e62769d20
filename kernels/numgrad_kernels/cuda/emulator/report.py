"""Reports on a launch: its faults, and for each line of Python the steps of memory, and the lanes that were idle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from . import checks
from .kernel import EmulatedKernel, FaultError
from .profile import ISSUES, LANES, LEAST, REQUESTS, STEPS, Line, Profile

_KINDS = {checks.READ: "read", checks.WRITE: "write", checks.ATOMIC: "atomic"}
_RACES = {
    checks.READ_OF_WRITTEN: ("reads", "writes"), checks.TWO_WRITES: ("writes", "writes"),
    checks.WRITE_OF_READ: ("writes", "reads"), checks.ATOMIC_OF_WRITTEN: ("updates", "writes"),
}


@dataclass(frozen=True)
class Finding:
    """A fault.

    Attributes:
        kind: "race", "barrier", or "access": one that is misaligned or out of bounds, which ends the launch.
        line, other_line: the numbers of the line, and of the line that it races with; 0 if unknown or none.
        message: the fault in words.
    """

    kind: str
    line: int
    other_line: int
    message: str


@dataclass(frozen=True)
class LineAccess:
    """Accesses of memory in a line.

    Attributes:
        line, text: the line's number and text.
        space: "global" or "shared".
        kind: "read", "write" or "atomic".
        requests: how often a warp executes such an access.
        steps: how many steps a request takes, on average: transactions of 32 bytes of global memory, or passes of
            shared memory, which are more than one if lanes access different words of one bank.
        least: the least steps in which as many bytes could be accessed.
    """

    line: int
    text: str
    space: str
    kind: str
    requests: int
    steps: float
    least: float


@dataclass(frozen=True)
class Divergence:
    """A line in which lanes were idle: its number and text, and the share of idle lanes."""

    line: int
    text: str
    idle: float


@dataclass(frozen=True)
class LaunchReport:
    """A checked launch of a kernel.

    Attributes:
        kernel, blocks, threads: the name of the kernel, and the extents of the launch.
        findings: the faults.
        accesses: the accesses of memory, by line.
        divergence: the lines in which lanes were idle, because others of their warp had taken another branch.
        is_complete: False if a block had too many accesses to count them all.
    """

    kernel: str
    blocks: tuple[int, ...]
    threads: tuple[int, ...]
    findings: tuple[Finding, ...]
    accesses: tuple[LineAccess, ...]
    divergence: tuple[Divergence, ...]
    is_complete: bool

    @property
    def ok(self) -> bool:
        """True if there is no fault."""
        return not self.findings

    def __str__(self) -> str:
        lines = [f"{self.kernel}[{_extents(self.blocks)}, {_extents(self.threads)}]"]
        lines += [f"  {finding.kind}: {finding.message}" for finding in self.findings] or ["  no faults"]
        for space, unit in (("global", "transactions of 32 bytes"), ("shared", "passes")):
            chosen = [access for access in self.accesses if access.space == space]
            if chosen:
                lines.append(f"{space} memory: {unit} for each access of a warp, and the least possible")
                lines += [
                    f"  line {part.line:<4} {part.kind:6} {part.steps:5.1f} {part.least:5.1f} "
                    f"{'!' if part.steps > part.least else ' '} {part.text}"
                    for part in chosen
                ]
        if self.divergence:
            lines.append("divergence: idle lanes")
            lines += [f"  line {part.line:<4} {part.idle:18.0%}   {part.text}" for part in self.divergence]
        if not self.is_complete:
            lines.append("Only the first accesses of each block were counted: launch fewer threads or a smaller loop.")
        return "\n".join(lines)

    __repr__ = __str__


def report(
    kernel: EmulatedKernel, profile: Profile, blocks: Sequence[int], threads: Sequence[int], fault: FaultError | None,
    arrays: Sequence[tuple[str, np.ndarray]],
) -> LaunchReport:
    """Return the report on a launch of a traced kernel.

    Args:
        kernel, profile, blocks, threads: the launch.
        fault: what ended it.
        arrays: the name of each array that was passed, and the array.
    """
    findings = list({frozenset((race.line, race.other_line)): race for race in _races(kernel, profile)}.values())
    ended, barrier = profile.early_ends
    if ended:
        line = kernel.line(kernel.translator.resumes[barrier - 1])
        words = f"{ended} threads ended before {_named(line)}, a barrier of all threads"
        findings.append(Finding("barrier", line.number, 0, words))
    if fault is not None:
        line = kernel.line(fault.position)
        kind = "barrier" if fault.address is None else "race" if "race" in fault.what else "access"
        where = _element(fault.address, arrays) if "all buffers" in fault.what and fault.address is not None else ""
        findings.append(Finding(kind, line.number, 0, f"{_named(line)}: {fault.what}{where} ({fault.who})"))
    return LaunchReport(
        kernel.name, tuple(blocks), tuple(threads), tuple(findings), tuple(_accesses(kernel, profile)),
        tuple(_divergence(kernel, profile)), profile.is_complete,
    )


def _named(line: Line) -> str:
    return f"line {line.number} ({line.text})" if line.text else f"line {line.number}"


def _element(address: int, arrays: Sequence[tuple[str, np.ndarray]]) -> str:
    """Return which element of the nearest array an address would be, in words."""
    distances = []
    for name, array in arrays:
        start = array.ctypes.data
        number = (address - start) // array.itemsize
        words = f": element {number} of {name}, which has {array.size}"
        distances.append((max(start - address, address - start - array.nbytes), words))
    distance, words = min(distances, default=(-1, ""))
    return words if 0 <= distance < 1 << 20 else ""


def _extents(extents: Sequence[int]) -> str:
    """Return extents as they are written in a launch, without ones at the end."""
    used = max((number for number, extent in enumerate(extents) if extent != 1), default=0) + 1
    return str(extents[0]) if used == 1 else f"({', '.join(map(str, extents[:used]))})"


def _races(kernel: EmulatedKernel, profile: Profile) -> Iterator[Finding]:
    for race in profile.races.values():
        does, did = _RACES[race.fault]
        line = kernel.line(race.position)
        earlier = kernel.line(race.earlier) if race.earlier >= 0 else Line("", 0, "")
        what = f"what {_named(earlier)} {did}" if earlier.number else f"what another thread {did}"
        thread, other = race.threads
        block, other_block = race.blocks
        if block == other_block:
            who = f"thread {thread} and {f'thread {other}' if other >= 0 else 'another'} of block {block}"
            who += ", no barrier between"
        else:
            who = f"thread {thread} of block {block} and a thread of another block"
        yield Finding("race", line.number, earlier.number, f"{_named(line)} {does} {what}: {who}")


def _accesses(kernel: EmulatedKernel, profile: Profile) -> list[LineAccess]:
    """Return the accesses by line, in order."""
    sums: dict[tuple[Line, str, str], list[int]] = {}
    for position, (_, code) in kernel.translator.accesses.items():
        key = kernel.line(position), "shared" if profile.shared[position] else "global", _KINDS[code & 3]
        totals = sums.setdefault(key, [0, 0, 0])
        for number, column in enumerate((REQUESTS, STEPS, LEAST)):
            totals[number] += int(profile.counts[position, column])
    return [
        LineAccess(line.number, line.text, space, kind, requests, steps / requests, least / requests)
        for (line, space, kind), (requests, steps, least) in sorted(sums.items()) if requests
    ]


def _divergence(kernel: EmulatedKernel, profile: Profile) -> list[Divergence]:
    """Return the lines with idle lanes, in order."""
    sums: dict[Line, list[int]] = {}
    for position, counts in enumerate(profile.instruction_counts()):
        line = kernel.line(position)
        if line.number:
            totals = sums.setdefault(line, [0, 0])
            totals[0] += int(counts[ISSUES])
            totals[1] += int(counts[LANES])
    shares = {line: 1 - lanes / (32 * issues) for line, (issues, lanes) in sums.items() if issues}
    return [
        Divergence(line.number, line.text, idle) for line, idle in sorted(shares.items())
        if idle > 0 and not line.text.startswith(("def ", "@"))  # the compiler's own, at the kernel's start and end
    ]
