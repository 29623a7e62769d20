"""Merging of a GPU program's pointwise kernels, for fewer launches and fewer passes over memory.

Kernels are grouped and merged as on the CPU, but there are no tiles: a thread keeps the values of an element in
registers from the first kernel of a merged program to the last.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from ..devices import begin_cuda
from ..devices.common import NUMBERS
from .fused import GPU_LIMITS, fused_members
from .groups import Access, Group, Member, contiguous, grouped, used_blocks
from .recorded_steps import Block, DeviceCall, RecordedStep, Span
from .tiled import mark_uses


def merged_steps(steps: Sequence[RecordedStep], kept: Collection[Block], device: int) -> list[RecordedStep]:
    """Return the steps of a program for a GPU, with pointwise kernels merged; this compiles the merged kernels.

    Args:
        steps: the recorded steps.
        kept: the blocks that are used after the program.
        device: the index of the GPU.
    """
    items = grouped(steps, gpu_member)
    users = Counter([block for item in items for block in used_blocks(item)])
    merged: list[RecordedStep] = []
    for item in items:
        if not isinstance(item, Group):
            merged.append(item)
            continue
        temporary = item.temporaries(lambda block: users[block] == 1 and block not in kept)
        for member in fused_members(item, temporary, GPU_LIMITS):
            merged += member.launches if len(member.launches) == 1 else [_launch(member, device)]
    if len(merged) < len(steps):
        mark_uses(merged, users)
    return merged


def gpu_member(step: RecordedStep) -> Member | None:
    """Return the group member that runs this kernel; None if it is not pointwise."""
    kernel = begin_cuda().pointwise_kernels.get(step.function) if isinstance(step, DeviceCall) else None
    if kernel is None:
        return None
    program, rank = kernel
    if program.branches:
        return None
    operands = dict(zip(program.parameters, step.operands, strict=False))  # loops' numbers follow
    size, *numbers = step.operands[len(operands) :]
    arrays = program.all_arrays
    spans = {name: operands.pop(name) for name in arrays}
    if not size or not all(isinstance(span, Span) for span in spans.values()):
        return None
    if any(number.__class__ not in NUMBERS for number in operands.values()):
        return None
    sizes, strides, starts = (size,), dict.fromkeys(arrays, (1,)), dict.fromkeys(arrays, 0)
    if rank:
        extents = size // math.prod(numbers[: rank - 1]), *numbers[: rank - 1]
        axes = [axis for axis in range(rank) if extents[axis] != 1] or [0]
        steps, sizes = numbers[rank - 1 :], tuple([extents[axis] for axis in axes])
        for number, name in enumerate(arrays):
            strides[name] = tuple([steps[number * rank + axis] for axis in axes])
        starts = dict(zip(arrays, steps[rank * len(arrays) :], strict=True))
    accesses = {
        name: Access(span.block, span.offset + starts[name] * span.dtype.itemsize, span.dtype, strides[name])
        for name, span in spans.items()
    }
    writes = {name: accesses[name] for name in program.written}
    if any(0 in access.strides for access in writes.values()) and size > 1:
        return None
    return Member([step], sizes, {name: accesses[name] for name in program.arrays}, writes, operands, program)


def _launch(member: Member, device: int) -> DeviceCall:
    """Return the launch of a merged member."""
    program, sizes, launches = member.program, member.sizes, member.launches
    assert program is not None
    accesses = member.reads | member.writes
    strides = [accesses[name].strides for name in program.all_arrays]
    size, rank = math.prod(sizes), 0 if all(each == contiguous(sizes) for each in strides) else len(sizes)
    kernel, grid = begin_cuda().merged_kernel(program, rank, size, device, [each.function for each in launches])
    spans = {name: _span(access, None if rank else size) for name, access in accesses.items()}
    numbers: list[Any] = [size]
    if rank:
        numbers += [*sizes[1:], *[step for each in strides for step in each], *[0] * len(strides)]
    operands = *[(spans | member.numbers)[name] for name in program.parameters], *numbers
    operations = ", ".join(dict.fromkeys([each.operation for each in launches if each.operation]))
    written = tuple([spans[name] for name in program.written])
    return DeviceCall(operands, operations, launches[0].location, kernel, kernel.name, grid, written)


def _span(access: Access, count: int | None) -> Span:
    """Return the span of ``count`` elements, or of all, starting at the first accessed element."""
    size = access.dtype.itemsize
    count = (access.block.size - access.offset) // size if count is None else count
    return Span(access.block, access.offset, access.dtype, (count,), (size,))
