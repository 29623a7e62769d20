"""Groups of some of a program's ranks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .calls import Collective
from .groups import ProcessGroup, add_group, default_group, get_world_size, seconds_of

__all__ = ["new_group", "new_subgroups", "new_subgroups_by_enumeration"]


def new_group(
    ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
    device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """Return a group of some ranks, by default all, which all ranks of the program must make, in the same order.

    The ranks of the group are numbered in ascending order; with ``sort_ranks=False``, in the given one.  On ranks
    outside of it, the result is ``GroupMember.NON_GROUP_MEMBER``, with which collectives do nothing.  ``backend``,
    ``pg_options``, ``group_desc`` and ``device_id`` are accepted and not used.

    Raises:
        ValueError: a rank does not exist or is given twice; or ``use_local_synchronization`` is set.
        DistBackendError: the ranks make different groups.
    """
    world = default_group()
    chosen = tuple(range(world.size()) if ranks is None else ranks)
    if sort_ranks:
        chosen = tuple(sorted(chosen))
    if len({*chosen}) < len(chosen) or not chosen or not {*chosen} <= {*range(world.size())}:
        raise ValueError(f"the ranks of a group must be different ones of {world.size()}, not {[*chosen]}")
    if use_local_synchronization:
        raise ValueError("MPI backend doesn't support use_local_synchronization=True")
    limit = timedelta(seconds=world.timeout if timeout is None else seconds_of(timeout))
    Collective("new_group", world, (), {"ranks": chosen}).start(lambda: ())
    return add_group(chosen, limit)


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, group_desc: str | None = None,
) -> tuple[ProcessGroup, list[Any]]:  # fmt: skip
    """Divide all ranks into groups of successive ones; return the group of this rank, and all: see ``new_group``.

    Args:
        group_size: the number of ranks of each group, by default that of the ranks on a machine.
        group: the group of all ranks, or None.

    Raises:
        ValueError: ``group_size`` does not divide the number of ranks, or ``group`` does not have all ranks.
    """
    size = default_group().size()
    part = int(os.environ["LOCAL_WORLD_SIZE"]) if group_size is None else group_size
    if part < 1 or size % part:
        raise ValueError(f"{size} ranks cannot be divided into groups of {part}")
    if get_world_size(group) != size:
        raise ValueError("new_subgroups divides the group of all ranks: use new_subgroups_by_enumeration")
    return new_subgroups_by_enumeration([range(start, start + part) for start in range(0, size, part)], timeout)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Make a group for each list of ranks; return the group of this rank, and all: see ``new_group``.

    The group of a rank that is in no list is None.

    Raises:
        ValueError: there is no list, or a rank is in several.
    """
    ranks = [rank for part in ranks_per_subgroup_list for rank in part]
    if len({*ranks}) < len(ranks) or not ranks:
        raise ValueError(f"each rank must be in one of the lists at most, not as in {ranks_per_subgroup_list}")
    groups = [new_group(part, timeout) for part in ranks_per_subgroup_list]
    return next((each for each in groups if isinstance(each, ProcessGroup)), None), groups
