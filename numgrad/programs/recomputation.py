"""Values that backward computes again instead of reading them from saved memory.

Note [Computing again]
Where forward and backward are two programs, backward reads what forward has saved.  Values of cheap pointwise kernels
need not be saved: backward runs these kernels again just before it uses the values, and tiles keep the values in the
cache.  The kernels read saved values, and such arguments, parameters and results as backward reads anyway, whose
version counters show changes.  This pays if fewer bytes pass through memory in both programs together.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .groups import blocks_of, cpu_member, used_blocks
from .memory_plan import consecutive
from .program import Program
from .recorded_steps import CONSTANT, FRESH, OUTSIDE, Block, KernelCall, Load, RecordedStep, Span
from .tiled import TiledGroup, memory_blocks, tiled_steps

#: The largest number of kernels that run again, per block that is not saved.
_KERNELS = 8


def recomputed(
    forward: Program, backward: Program, shared: Mapping[Block, Block]
) -> tuple[Program, list[Any], list[Block]] | None:
    """Return a backward program that computes values again, and the steps and saved blocks of its forward program.

    None if this does not pay.

    Args:
        shared: by block of forward, the block of the same memory in backward.
    """
    first, second = forward.recorder, backward.recorder
    saved = list(forward.plan.offsets)
    makers = _makers(first.steps, saved, shared)
    left = [block for block in saved if block not in makers]
    dropped = {shared[block]: block for block in saved if block in makers}
    if first.device >= 0 or not dropped:
        return None
    steps: list[RecordedStep] = []
    copies: dict[Block, Block] = {}
    again: set[int] = set()
    for step in second.steps:
        used = [dropped[block] for block in used_blocks(step) if block in dropped]
        needed = _needed(used, makers, first.steps) - again
        again |= needed
        steps += [*[_moved(first.steps[number], shared, copies) for number in sorted(needed)], step]
    before = [
        tiled_steps(first.steps, {*forward.plan.results, *saved}), tiled_steps(second.steps, backward.plan.results)
    ]
    for block in dropped:
        block.origin = FRESH
    after = [tiled_steps(first.steps, {*forward.plan.results, *left}), tiled_steps(steps, backward.plan.results)]
    if len(again) > _KERNELS * len(dropped) or not all(map(_has_tiles, after)) or _traffic(after) >= _traffic(before):
        for block in dropped:
            block.origin = OUTSIDE
        return None
    second.blocks += copies.values()
    program = copy.copy(backward)
    offsets, _ = consecutive(left)
    program.run_steps(after[1], {shared[block]: offset for block, offset in offsets.items()})
    return program, after[0], left


def _makers(steps: Sequence[RecordedStep], saved: Sequence[Block], shared: Mapping[Block, Block]) -> dict[Block, int]:
    """Return the blocks that backward can compute again, each with the number of the step that computes it."""
    writers: Counter[Block] = Counter()
    for step in steps:
        uses = blocks_of(step)
        writers.update(used_blocks(step) if uses is None else uses[1])
    single = {OUTSIDE: 0, FRESH: 1}  # the number of writers of a block whose elements have one value in forward
    available = {
        block for block, other in shared.items()
        if writers[block] == single.get(block.origin) and not other.written and block.address == other.address
    }
    makers: dict[Block, int] = {}
    for number, step in enumerate(steps):
        member = cpu_member(step)
        if member is None or member.program is None or member.program.weight > 1:
            continue
        writes = {access.block for access in member.writes.values()}
        reads = used_blocks(step) - writes
        constants = {block for block in reads if block.origin == CONSTANT and not block.written} - member.loaded()
        if reads - constants <= available and all(block.origin == FRESH and writers[block] == 1 for block in writes):
            makers |= {block: number for block in writes if block in saved or block not in shared}
            available |= writes
    return makers


def _needed(blocks: list[Block], makers: Mapping[Block, int], steps: Sequence[RecordedStep]) -> set[int]:
    """Return the numbers of the steps that compute these blocks, directly or through others."""
    numbers: set[int] = set()
    while blocks:
        number = makers.get(blocks.pop())
        if number is not None and number not in numbers:
            numbers.add(number)
            blocks += used_blocks(steps[number])
    return numbers


def _moved(step: Any, shared: Mapping[Block, Block], copies: dict[Block, Block]) -> KernelCall:
    """Return a step of forward as a step of backward; blocks that are not shared are copied."""

    def block_of(block: Block) -> Block:
        if block not in shared and block not in copies:
            copies[block] = replace(block, array=lambda: None)
        return shared.get(block) or copies[block]

    def moved(operand: Any) -> Any:
        if isinstance(operand, Load):
            return Load(moved(operand.span))
        return replace(operand, block=block_of(operand.block)) if isinstance(operand, Span) else operand

    return replace(step, operands=tuple(map(moved, step.operands)))


def _has_tiles(steps: Iterable[Any]) -> bool:
    return any(isinstance(step, TiledGroup) for step in steps)


def _traffic(programs: Iterable[Sequence[Any]]) -> int:
    """Return the number of bytes that the steps of programs read and write in memory, each block once in a step."""
    return sum([block.size for steps in programs for step in steps for block in memory_blocks(step)])
