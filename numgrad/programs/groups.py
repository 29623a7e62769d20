"""Groups of kernels in a program that can run tile by tile; see Note [Tiles] in ``devices.cpu.tiling``.

Note [Groups]
Pointwise kernels and reductions visit elements in loops.  Kernels with the same loops form a group if each element, or
row of elements, written by one of them is used by the others only in the same iteration of the loops.  A kernel joins
the last group to which it can be moved.  It cannot be moved before a step that uses the blocks that it writes, that
writes the blocks that it uses, or that may raise an error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..devices.cpu.launching import hand_written_kernels
from ..devices.cpu.pointwise import PointwiseProgram, pointwise_kernels
from ..devices.cpu.reductions import FOLD_COLUMNS, FOLD_LEAVES, FOLD_ROWS, LEAF, lines_of_columns
from ..devices.cpu.threads import thread_count
from .recorded_steps import FRESH, Block, DeviceCall, KernelCall, Load, Placed, RecordedStep, Span
from .trees import leaves

#: The largest number of elements of a tile of rows, and of a tile without rows.
ROWS_TILE, TILE = 4096, 1024

#: Limits for reductions of columns: the bytes of a line, and their number in a group.
_LINE, _FOLDS = 1 << 14, 4

#: Number of groups, counted from the last, that a kernel may join.
_OPEN = 8


@dataclass(frozen=True, slots=True)
class Access:
    """The elements of a block that a kernel visits.

    Attributes:
        block: the block.
        offset: the byte at which the first element begins.
        dtype: the dtype of the elements.
        strides: for each loop, the distance from one element to the next, in elements.
    """

    block: Block
    offset: int
    dtype: np.dtype
    strides: tuple[int, ...]

    def within(self, loops: tuple[int, ...], sizes: tuple[int, ...]) -> Access | None:
        """Return the access, of loops of ``loops`` sizes, in the loops of a group; None if it does not fit them."""
        if loops == sizes:
            return self
        if len(loops) != 1:
            return None
        (stride,) = self.strides
        if loops[0] == math.prod(sizes):
            return replace(self, strides=tuple([stride * each for each in contiguous(sizes)]))
        return replace(self, strides=(stride, *[0] * (len(sizes) - 1))) if loops[0] == sizes[0] else None


def contiguous(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of contiguous elements."""
    return tuple([math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))])


@dataclass(eq=False)
class Member:
    """A kernel of a group.

    Attributes:
        launches: the recorded launches that it replaces, of type KernelCall, or DeviceCall on a GPU.
        sizes: the sizes of its loops.
        reads, writes: the accesses, by parameter.
        numbers: its other operands, by parameter: numbers, ``Load`` or ``Span``.
        program: the pointwise program; None for a reduction.
        totals: the results of a reduction of columns or leaves, by parameter, which are complete after many tiles.
        block: the number of elements added up in a total.
        state: the bytes of memory that it keeps between the tiles, by parameter.
    """

    launches: list[Any]
    sizes: tuple[int, ...]
    reads: dict[str, Access]
    writes: dict[str, Access]
    numbers: dict[str, Any] = field(default_factory=dict)
    program: PointwiseProgram | None = None
    totals: dict[str, Span] = field(default_factory=dict)
    block: int = 0
    state: dict[str, int] = field(default_factory=dict)

    @property
    def accesses(self) -> Iterator[Access]:
        return itertools.chain(self.reads.values(), self.writes.values())

    def loaded(self) -> set[Block]:
        """Return the blocks from which it reads numbers or whole buffers."""
        spans = [operand.span if isinstance(operand, Load) else operand for operand in self.numbers.values()]
        return {span.block for span in spans if isinstance(span, Span)}

    def total_blocks(self) -> set[Block]:
        """Return the blocks of its totals."""
        return {span.block for span in self.totals.values()}


class Group:
    """Kernels that can run tile by tile.

    Attributes:
        members: the kernels.
        sizes: the sizes of the loops.
        accesses: by block, all accesses, in the loops of the group.
        written: the blocks that they write.
        loaded: the blocks from which they read numbers.
        totals: the blocks of memory of the totals.
        blocks: the numbers of elements that are added up in totals.
    """

    def __init__(self, member: Member):
        self.members: list[Member] = []
        self.sizes = member.sizes
        self.accesses: dict[Block, set[Access]] = {}
        self.written: set[Block] = set()
        self.loaded: set[Block] = set()
        self.totals: set[Block] = set()
        self.blocks: set[int] = set()
        self._add(member)

    def _add(self, member: Member) -> None:
        self.members.append(member)
        for access in member.accesses:
            inner = access.within(member.sizes, self.sizes)
            assert inner is not None
            self.accesses.setdefault(access.block, set()).add(inner)
        self.written |= {access.block for access in member.writes.values()}
        self.loaded |= member.loaded()
        self.totals |= member.total_blocks()
        self.blocks |= {member.block} - {0}

    def join(self, member: Member) -> bool:
        """Add a kernel if it can run tile by tile with the others; return True if it was added."""
        joined = self._loops_with(member)
        if joined is None:
            return False
        self.sizes, self.accesses = joined
        self._add(member)
        return True

    def shares_with(self, member: Member) -> bool:
        """Return True if the group uses a block that a kernel uses."""
        return any(access.block in self.accesses for access in member.accesses)

    def _loops_with(self, member: Member) -> tuple[tuple[int, ...], dict[Block, set[Access]]] | None:
        """Return the sizes of the loops of the group with a kernel and its accesses there; None if it cannot join."""
        loops, sizes = member.sizes, self.sizes
        if len(sizes) == 1 and len(loops) > 1 and math.prod(loops) == sizes[0]:
            sizes = loops
        if loops != sizes and not self.shares_with(member):
            return None
        written, totals = {access.block for access in member.writes.values()}, member.total_blocks()
        if written & self.loaded or member.loaded() & self.written:
            return None
        used = {access.block for access in member.accesses} | member.loaded()
        if totals & (self.accesses.keys() | self.loaded | self.totals) or self.totals & used:
            return None  # totals are complete only after many tiles
        unit = math.prod(sizes[1:])
        if len(totals | self.totals) > _FOLDS or any(block % unit for block in {member.block, *self.blocks}):
            return None
        accesses_of = self.accesses
        if sizes != self.sizes:
            accesses_of = {
                block: {access.within(self.sizes, sizes) for access in accesses}  # type: ignore[misc]
                for block, accesses in accesses_of.items()
            }
            if any(None in accesses for accesses in accesses_of.values()):
                return None
        for access in member.accesses:
            inner = access.within(member.sizes, sizes)
            others = accesses_of.get(access.block, set())
            is_written = access.block in written or access.block in self.written
            if inner is None or (is_written and others - {inner}):
                return None
        return sizes, accesses_of

    @property
    def launches(self) -> list[Any]:
        """The recorded launches of the kernels."""
        return [launch for member in self.members for launch in member.launches]

    @property
    def unit(self) -> int:
        """The number of elements in an iteration of the first loop."""
        return math.prod(self.sizes[1:])

    @property
    def most(self) -> int:
        """The most elements of a tile."""
        return ROWS_TILE if len(self.sizes) > 1 else TILE

    def tile(self, elements: int) -> int:
        """Return the number of iterations of the first loop in a tile of about ``elements`` elements.

        The elements that are added up in one total begin with a tile.
        """
        rounds = max(1, elements // self.unit)
        if not self.blocks:
            return rounds
        entries, _ = lines_of_columns(self.unit)
        lines = min(max(1, rounds // entries), min(self.blocks) // self.unit // entries)
        return entries * (1 << (lines.bit_length() - 1))

    def together(self, tile: int) -> int:
        """Return the number of successive tiles that must run in the same thread."""
        return max(self.blocks, default=self.unit * tile) // self.unit // tile

    def is_worthwhile(self) -> bool:
        """Return True if tiles keep elements in the cache that several kernels use."""
        return len(self.members) > 1 and self.sizes[0] > self.tile(self.most) and self.unit <= 4 * ROWS_TILE

    def temporaries(self, is_temporary: Callable[[Block], bool]) -> dict[Block, int]:
        """Return the blocks that scratch memory can replace, and their bytes per iteration of the first loop."""
        sizes: dict[Block, int] = {}
        for block, accesses in self.accesses.items():
            if block.origin != FRESH or block not in self.written or len(accesses) > 1 or not is_temporary(block):
                continue
            (access,) = accesses
            first = next(member for member in self.members if block in {each.block for each in member.accesses})
            if block in {each.block for each in first.reads.values()}:
                continue
            if access.strides == contiguous(self.sizes):
                sizes[block] = self.unit * access.dtype.itemsize
            elif access.strides == (1, *[0] * (len(self.sizes) - 1)):
                sizes[block] = access.dtype.itemsize
        return sizes


def grouped(
    steps: Iterable[RecordedStep], member_of: Callable[[Any], Member | None]
) -> list[RecordedStep | Group]:
    """Return the steps of a program, reordered without a change in effect and with some of them in groups.

    Args:
        steps: the recorded steps.
        member_of: returns the group member that is equivalent to a step; None if there is none.
    """
    items: list[RecordedStep | Group] = []
    groups: list[int] = []  # their indices
    read: dict[Block, int] = {}  # the last items that read a block
    written: dict[Block, int] = {}
    barrier = -1
    for step in steps:
        member = member_of(step)
        uses = blocks_of(step)
        reads, writes = uses or ((), ())
        before = [written.get(block, -1) for block in (*reads, *writes)] + [read.get(block, -1) for block in writes]
        least = max([barrier, *before])
        position = len(items)
        if member is not None:
            open_groups = [(number, items[number]) for number in reversed(groups[-_OPEN:]) if number >= least]
            open_groups.sort(key=lambda each: not each[1].shares_with(member))  # type: ignore[union-attr]
            position = next((n for n, group in open_groups if group.join(member)), position)  # type: ignore[union-attr]
        if position == len(items):
            items.append(step if member is None else Group(member))
            if member is not None:
                groups.append(position)
        if uses is None:
            barrier = position
        for block in reads:
            read[block] = max(position, read.get(block, -1))
        for block in writes:
            written[block] = max(position, written.get(block, -1))
    return items


def blocks_of(step: RecordedStep) -> tuple[set[Block], set[Block]] | None:
    """Return the blocks that a step reads and those that it writes; None if it may fail or its effects are unknown."""
    if isinstance(step, DeviceCall):
        facts = getattr(step.function, "facts", None)  # of a kernel
        if facts is None or facts.hides or facts.reports:
            return None
        return used_blocks(step), {span.block for span in step.written}
    if not isinstance(step, KernelCall) or step.kernel.facts.reports:
        return None
    facts = step.kernel.facts
    reads, writes = set(), set()
    for name, operand in zip(facts.parameters, step.operands, strict=True):
        span = operand.span if isinstance(operand, Load) else operand
        if isinstance(span, Span):
            if name in facts.written:
                writes.add(span.block)
            if name in facts.read or name not in facts.written:
                reads.add(span.block)
    for _, _, span in step.addresses:
        reads.add(span.block)
        writes.add(span.block)
    return reads, writes


def used_blocks(step: RecordedStep | Group) -> set[Block]:
    """Return all blocks that a step uses."""
    if isinstance(step, Group):
        return set().union(*[used_blocks(launch) for launch in step.launches])
    spans = [operand.span if isinstance(operand, Load | Placed) else operand for operand in leaves(step.operands)]
    spans += [span for _, _, span in getattr(step, "addresses", ())]
    spans += getattr(step, "results", ())
    return {span.block for span in spans if isinstance(span, Span)}


# -- kernels of groups -------------------------------------------------------------------------------------------------


def cpu_member(launch: RecordedStep) -> Member | None:
    """Return the group member that runs this kernel; None if its loops are not of a kind that groups have."""
    if not isinstance(launch, KernelCall) or launch.addresses or launch.watched:
        return None
    operands = dict(zip(launch.kernel.facts.parameters, launch.operands, strict=True))
    if launch.kernel in pointwise_kernels:
        return _pointwise(launch, operands)
    function = hand_written_kernels[launch.kernel][0] if launch.kernel in hand_written_kernels else None
    if function is FOLD_ROWS and operands["out"].count > 1:
        return _fold_of_rows(launch, operands)
    if function is FOLD_COLUMNS:
        return _fold_of_columns(launch, operands)
    return _fold_of_leaves(launch, operands) if function is FOLD_LEAVES else None


def _elements(span: Span) -> Access:
    return Access(span.block, span.offset, span.dtype, (1,))


def _pointwise(launch: KernelCall, operands: dict[str, Any]) -> Member | None:
    program, rank, is_contiguous = pointwise_kernels[launch.kernel]
    if program.branches:
        return None
    arrays = program.arrays + program.written
    numbers = {name: operand for name, operand in operands.items() if name in program.parameters and name not in arrays}
    if is_contiguous:
        sizes: tuple[int, ...] = (operands[program.written[0]].count,)
        accesses = {name: _elements(operands[name]) for name in arrays}
    else:
        nest: Span = operands["nest"]
        if nest.block.written or nest.block.held is None:
            return None
        start = nest.offset // nest.dtype.itemsize
        table = nest.block.held.view(np.int64)[start : start + nest.count].reshape(1 + len(arrays), rank).tolist()
        axes = [axis for axis in range(rank) if table[0][axis] != 1] or [0]
        sizes = tuple([table[0][axis] for axis in axes])
        accesses = {}
        for name, strides in zip(arrays, table[1:], strict=True):
            span = operands[name]
            offset = span.offset + operands[f"{name}_o"] * span.dtype.itemsize
            accesses[name] = Access(span.block, offset, span.dtype, tuple([strides[axis] for axis in axes]))
    writes = {name: accesses[name] for name in program.written}
    repeats = any(0 in access.strides for access in writes.values()) and math.prod(sizes) > 1
    if not math.prod(sizes) or repeats:
        return None
    return Member([launch], sizes, {name: accesses[name] for name in program.arrays}, writes, numbers, program)


def _fold_of_rows(launch: KernelCall, operands: dict[str, Any]) -> Member | None:
    x, out, length, parameters = operands["x"], operands["out"], operands["length"], operands["parameters"]
    if not length:
        return None
    row = {"x": Access(x.block, x.offset, x.dtype, (length, 1))}
    total = {"out": Access(out.block, out.offset, out.dtype, (1, 0))}
    numbers = {name: operands[name] for name in ("length", "initial", "divisor")}
    if parameters.count > 1:
        row["parameters"] = Access(parameters.block, parameters.offset, parameters.dtype, (1, 0))
    else:
        numbers["parameters"] = parameters
    return Member([launch], (out.count, length), row, total, numbers)


def _fold_of_columns(launch: KernelCall, operands: dict[str, Any]) -> Member | None:
    """Return the group member for a reduction of columns; None if it does not fit, as with more threads than blocks."""
    x, length, inner = operands["x"], operands["length"], operands["inner"]
    entries, lines = lines_of_columns(inner)
    few = launch.kernel.parallel and length <= entries * lines * (thread_count() - 1)
    size = entries * inner * launch.kernel.facts.compute.itemsize
    if x.count != length * inner or not x.count or operands["parameters"].count > 1 or few or size > _LINE:
        return None
    row = Access(x.block, x.offset, x.dtype, (inner, 1))
    numbers = {name: operands[name] for name in ("length", "inner", "parameters", "initial", "divisor")}
    return Member(
        [launch], (length, inner), {"x": row}, {}, numbers, None, {"out": operands["out"]}, entries * lines * inner,
        {"part": size, "total": size},
    )


def _fold_of_leaves(launch: KernelCall, operands: dict[str, Any]) -> Member:
    x = operands["x"]
    numbers = {"parameters": operands["parameters"], "initial": operands["initial"], "length": x.count}
    state = {"lanes": 64 * launch.kernel.facts.compute.itemsize}
    return Member([launch], (x.count,), {"x": _elements(x)}, {}, numbers, None, {"out": operands["out"]}, LEAF, state)
