"""Groups of some of a program's ranks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .calls import Collective
from .groups import add_group, default_group, seconds_of

__all__ = ["new_group"]


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
