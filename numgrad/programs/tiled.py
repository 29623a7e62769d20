"""Steps of programs whose groups of kernels run tile by tile, with places in scratch memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ..devices.cpu.launching import serial_kernel
from ..devices.cpu.linking import Place, ReadNumber
from ..devices.cpu.pointwise import pointwise_kernel
from ..devices.cpu.reductions import kernel_of_tile
from ..devices.cpu.tiling import Alternating, Scratch, Shifted, Slice, Tiles, TilesRun
from .fused import CPU_LIMITS, fused_members
from .groups import Access, Group, Member, contiguous, cpu_member, grouped, used_blocks
from .recorded_steps import Block, Load, RecordedStep, Span, aligned

#: The largest number of bytes of scratch memory, which is on the stack of a thread and should stay in the cache, and
#: the smallest number of elements to which a tile is reduced for that limit.
_SCRATCH, _LEAST = 1 << 18, 256


class TiledGroup:
    """A group, with its kernels and scratch memory.

    Attributes:
        group: the group; pointwise kernels may be merged.
        launches: the recorded launches. temporary: the blocks in scratch memory, and their bytes per iteration of the
        group's first loop. tile: the number of iterations of the first loop in a tile.
    """

    def __init__(self, group: Group, is_temporary: Callable[[Block], bool]):
        self.group = group
        self.launches = group.launches
        self.parallel = any(launch.kernel.parallel for launch in self.launches)
        self.temporary = group.temporaries(is_temporary)
        group.members = fused_members(group, self.temporary, CPU_LIMITS)
        elements = group.most
        while True:
            self.tile = group.tile(elements)
            offsets, missing = self._scratch_offsets()
            if not missing or elements <= _LEAST:
                break
            elements //= 2
        self._offsets = offsets
        used = {access.block for member in group.members for access in member.accesses}
        self.temporary = {  # merged kernels store no other blocks, and scratch memory is limited
            block: size for block, size in self.temporary.items() if block in self._offsets or block not in used
        }

    def _scratch_offsets(self) -> tuple[dict[Block, int], bool]:
        """Return the offsets of blocks in scratch memory, and whether it is too small for all of them."""
        used: dict[Block, list[int]] = {}  # the numbers of the members that use each block
        for number, member in enumerate(self.group.members):
            for access in member.accesses:
                if access.block in self.temporary:
                    used.setdefault(access.block, []).append(number)
        sizes = {block: aligned(size * self.tile) for block, size in self.temporary.items()}
        offsets: dict[Block, int] = {}
        for block, numbers in used.items():
            occupied = sorted([
                (offset, offset + sizes[other]) for other, offset in offsets.items() if used[other][-1] >= numbers[0]
            ])
            begin = 0
            for start, stop in occupied:
                if start - begin >= sizes[block]:
                    break
                begin = max(begin, stop)
            if begin + sizes[block] <= _SCRATCH:
                offsets[block] = begin
        return offsets, len(offsets) < len(used)

    def placed(self, place: Callable[[Span], Place], constant: Callable[[np.ndarray], Place]) -> Tiles:
        """Return the tiles.

        Args:
            place: returns the place of a span.
            constant: returns the place of an array that belongs to the program.
        """
        self._place, self._constant = place, constant
        self._scratch = max(
            [offset + aligned(self.temporary[block] * self.tile) for block, offset in self._offsets.items()], default=0
        )
        runs = tuple([self._run(member) for member in self.group.members])
        together = self.group.together(self.tile)
        return Tiles(runs, self.group.sizes[0], self.tile, self._scratch, self.parallel, together)

    def _run(self, member: Member) -> TilesRun:
        if member.program is not None:
            return self._pointwise(member)
        if member.totals:
            return self._totals(member)
        (launch,) = member.launches
        kernel = serial_kernel(launch.kernel)
        operands = []
        rounds = member.sizes[0] // self.group.sizes[0]
        for name in kernel.facts.parameters:
            access = member.reads.get(name) or member.writes.get(name)
            if access is None:
                operands.append(self._number(member.numbers[name]))
            else:
                operands.append(Slice(self._memory(access), access.strides[0] * rounds))
        return TilesRun(kernel, tuple(operands))

    def _totals(self, member: Member) -> TilesRun:
        """Return the launch of a reduction that keeps its state between the tiles, in separate scratch memory."""
        (launch,) = member.launches
        kernel, elements = kernel_of_tile(launch.kernel), self.group.unit
        operands: dict[str, Any] = {name: self._number(number) for name, number in member.numbers.items()}
        operands["x"] = Slice(self._memory(member.reads["x"]), elements)
        operands["first"] = Shifted(member.sizes[0] // self.group.sizes[0])  # the index of an element or of an entry
        operands |= {name: self._place(span) for name, span in member.totals.items()}
        for name, size in member.state.items():
            operands[name] = Scratch(self._scratch)
            self._scratch += aligned(size)
        return TilesRun(kernel, tuple([operands[name] for name in kernel.facts.parameters]))

    def _pointwise(self, member: Member) -> TilesRun:
        program, sizes = member.program, member.sizes
        assert program is not None
        # iterations of the kernel's first loop in one iteration of the group's
        rounds = sizes[0] // self.group.sizes[0]
        accesses = member.reads | member.writes
        strides = [accesses[name].strides for name in program.all_arrays]
        numbers = {name: self._number(number) for name, number in member.numbers.items()}
        if all(each == contiguous(sizes) for each in strides):
            kernel = pointwise_kernel(program, 1, True, False)
            elements = rounds * math.prod(sizes[1:])
            slices = {name: Slice(self._memory(access), elements) for name, access in accesses.items()}
            return TilesRun(kernel, tuple([(slices | numbers)[name] for name in program.parameters]))
        inner = "".join(["c" if each[-1] == 1 else "r" if each[-1] == 0 else "a" for each in strides])
        inner = "a" * len(inner) if "a" in inner else inner
        kernel = pointwise_kernel(program, len(sizes), False, False, inner)
        operands: list[Any] = []
        for name in program.parameters:
            access = accesses.get(name)
            if access is None:
                operands.append(numbers[name])
                continue
            memory = self._memory(access)
            step = 0 if isinstance(memory, Scratch) else access.strides[0] * rounds
            operands += [memory, Shifted(step)]
        last = self.group.sizes[0] % self.tile or self.tile
        steps = [step for each in strides for step in each]
        nests = [
            self._constant(np.array([count * rounds, *sizes[1:], *steps], np.int64))
            for count in (self.tile, last)
        ]
        return TilesRun(kernel, (*operands, Alternating(*nests)))

    def _memory(self, access: Access) -> Place | Scratch:
        if access.block in self._offsets:
            return Scratch(self._offsets[access.block])
        size = access.dtype.itemsize
        count = (access.block.size - access.offset) // size
        return self._place(Span(access.block, access.offset, access.dtype, (count,), (size,)))

    def _number(self, operand: Any) -> Any:
        if isinstance(operand, Load):
            return ReadNumber(self._place(operand.span), operand.span.dtype)
        return self._place(operand) if isinstance(operand, Span) else operand


def tiled_steps(steps: Sequence[RecordedStep], kept: Collection[Block]) -> list[RecordedStep | TiledGroup]:
    """Return the steps of a program, with tiles where they make it faster.

    Args:
        steps: the recorded steps.
        kept: the blocks that are used after the program.
    """
    items = grouped(steps, cpu_member)
    users = Counter([block for item in items for block in used_blocks(item)])
    tiled: list[RecordedStep | TiledGroup] = []
    for item in items:
        if not isinstance(item, Group):
            tiled.append(item)
        elif item.is_worthwhile():
            tiled.append(TiledGroup(item, lambda block: users[block] == 1 and block not in kept))
        else:
            tiled += item.launches
    if any(isinstance(step, TiledGroup) for step in tiled):
        mark_uses(tiled, users)
    return tiled


def memory_blocks(step: RecordedStep | TiledGroup) -> set[Block]:
    """Return the blocks that a step uses, without those in scratch memory."""
    return used_blocks(step.group) - step.temporary.keys() if isinstance(step, TiledGroup) else used_blocks(step)


def mark_uses(steps: Sequence[RecordedStep | TiledGroup], blocks: Collection[Block]) -> None:
    """Set the first and the last step that use each block; blocks in scratch memory count as unused."""
    for block in blocks:
        block.first = block.last = -1
    for number, step in enumerate(steps):
        for block in memory_blocks(step):
            block.first = number if block.first < 0 else block.first
            block.last = number
