"""Merging of a group's pointwise kernels, for fewer passes over a tile.

Note [Merging]
A merged kernel reads its operands from registers instead of memory.  But there are few registers: one loop that
computes several expensive functions, or many values, is slower than several loops over elements in the cache.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..devices.cpu.pointwise import Merger, PointwiseProgram
from .groups import Access, Group, Member
from .recorded_steps import Block, Load, Span


@dataclass(frozen=True)
class Limits:
    """The largest numbers of programs, expensive functions and arrays in a merged program.

    Attributes:
        loads: True if kernels can read a number from memory, rather than an array of equal elements.
    """

    programs: int
    expensive: float
    arrays: int
    loads: bool


#: Loops over vectors on the CPU are limited by the number of registers.  Threads of a GPU have many registers, and
#: kernels are limited by memory traffic.
CPU_LIMITS, GPU_LIMITS = Limits(24, 2, 8, True), Limits(48, math.inf, 16, False)

#: Number of clusters, counted from the last, that a kernel may join.
_OPEN = 8


class _Cluster:
    """Pointwise members with the same loops, which are to be merged.

    Attributes:
        members: the members.
        sizes: the sizes of the loops.
        reads, writes: the accesses in these loops.
        users: the number of members of the group that use each of its temporary blocks.
        limits: the limits of the merged program.
    """

    def __init__(self, member: Member, group: Group, users: Mapping[Block, int], limits: Limits):
        self.sizes = _loops(member, group)
        self.users = users
        self.limits = limits
        self.members: list[Member] = []
        self.reads: set[Access] = set()
        self.writes: set[Access] = set()
        self.add(member)

    def add(self, member: Member) -> None:
        self.members.append(member)
        self.reads |= {_within(access, member, self.sizes) for access in member.reads.values()}
        self.writes |= {_within(access, member, self.sizes) for access in member.writes.values()}

    def takes(self, member: Member, group: Group) -> bool:
        """Return True if a member may be merged with those of the cluster."""
        first = self.members[0]
        if not (_is_mergeable(first) and _is_mergeable(member)) or _loops(member, group) != self.sizes:
            return False
        both = [*self.members, member]
        programs = [each.program for each in both if each.program is not None]
        used = Counter([block for each in both for block in {access.block for access in each.accesses}])
        arrays = {block for block, count in used.items() if self.users.get(block) != count}
        expensive = [program.weight - 1 for program in programs]
        limits = self.limits
        return (
            programs[0].compute == programs[-1].compute and len(programs) <= limits.programs
            and len(arrays) <= limits.arrays and sum(expensive) <= max(limits.expensive, *expensive)
        )

    def conflicts(self, member: Member) -> bool:
        """Return True if a member must not be moved before those of the cluster."""
        reads, writes = ({access.block for access in each.values()} for each in (member.reads, member.writes))
        mine = {access.block for access in self.writes}
        used = mine | {access.block for access in self.reads} | set().union(*[each.loaded() for each in self.members])
        return bool(mine & (reads | writes | member.loaded()) or used & writes)


def _loops(member: Member, group: Group) -> tuple[int, ...]:
    """Return the sizes of a member's loops in the group: those of the group, unless the member works on rows."""
    return group.sizes if math.prod(member.sizes) == math.prod(group.sizes) else member.sizes


def _within(access: Access, member: Member, sizes: tuple[int, ...]) -> Access:
    inner = access.within(member.sizes, sizes)
    assert inner is not None
    return inner


def _is_mergeable(member: Member) -> bool:
    program = member.program
    return program is not None and program.compute.kind == "f" and all(
        dtype == program.compute or dtype.kind == "b" for _, dtype in program.outputs
    ) and not any(i.dtype is not None and i.dtype.kind == "c" for i in program.arguments)


def fused_members(group: Group, temporary: Collection[Block], limits: Limits) -> list[Member]:
    """Return the members of a group, some of them merged.

    Args:
        temporary: the blocks that only the group uses.
        limits: the limits of a merged program.
    """
    clusters: list[_Cluster] = []
    uses = Counter([block for member in group.members for block in {access.block for access in member.accesses}])
    counts = {block: uses[block] for block in temporary}
    for member in group.members:
        for cluster in reversed(clusters[-_OPEN:]):
            if cluster.takes(member, group):
                cluster.add(member)
                break
            if cluster.conflicts(member):
                clusters.append(_Cluster(member, group, counts, limits))
                break
        else:
            clusters.append(_Cluster(member, group, counts, limits))
    users = Counter([
        block for cluster in clusters for block in {access.block for access in cluster.reads | cluster.writes}
    ])
    return [
        member for cluster in clusters
        for member in _merged(cluster, {block for block in temporary if users[block] == 1})
    ]


def _merged(cluster: _Cluster, inner: Collection[Block]) -> list[Member]:
    """Return a list with the member that runs a cluster, or an empty list if its results are unused.

    Args:
        inner: the blocks that nothing else uses.
    """
    sizes, members = cluster.sizes, cluster.members
    if len(members) == 1:
        return members
    first: PointwiseProgram = members[0].program  # type: ignore[assignment]
    merger = Merger(first.compute)
    outputs: dict[Access, None] = {}
    numbers: dict[Any, Any] = {}
    for member in members:
        program = member.program
        assert program is not None
        sources: list[tuple[Any, bool]] = []
        for argument in program.arguments:
            name = program.variables[argument.name]
            if name in member.reads:
                access = _within(member.reads[name], member, sizes)
                if any(access.strides) or not cluster.limits.loads:
                    sources.append((access, False))
                    continue
                number: Any = Load(Span(access.block, access.offset, access.dtype, (1,), (access.dtype.itemsize,)))
            else:
                number = member.numbers[name]
            key: Any = argument.dtype, repr(number)
            if isinstance(number, Load):
                key = number.span.block, number.span.offset, number.span.dtype
            numbers[key] = number
            sources.append((key, True))
        targets = [_within(member.writes[name], member, sizes) for name in program.written]
        merger.add(program, sources, targets)
        outputs |= dict.fromkeys(targets)
    written = [access for access in outputs if access.block not in inner]
    if not written:
        return []
    name = "_".join(dict.fromkeys([member.program.name.removesuffix("_op") for member in members if member.program]))
    merged, keys = merger.program(name[:60], written)
    operands = dict(zip(merged.parameters, keys, strict=True))
    arrays = {name: key for name, key in operands.items() if isinstance(key, Access)}
    return [Member(
        [launch for member in members for launch in member.launches], sizes,
        {name: arrays[name] for name in merged.arrays}, {name: arrays[name] for name in merged.written},
        {name: numbers[key] for name, key in operands.items() if name not in arrays}, merged,
    )]
