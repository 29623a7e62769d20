"""The beginning of a call: its group, the ranks in it, and, for debugging, the comparison with other ranks' calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.locations import calling_location, warn_user
from ..tensors.tensor import Tensor
from .buffers import Received
from .comparison import compare
from .groups import ProcessGroup, group_or_default
from .work import Work

__all__ = ["Call", "begin_collective", "begin_message", "rank_in"]


class Call:
    """A call of this rank with its group.

    Attributes:
        group: the process group.
        communicator: MPI's communicator.
        work: the handle of the call.
    """

    def __init__(self, group: ProcessGroup, work: Work):
        self.group = group
        self.communicator = group.communicator
        self.work = work

    def receive(self, *tensors: Tensor, send: bool = False) -> Received:
        """Return memory to receive elements for tensors, see ``Received``."""
        self.work.tensors = [*tensors]
        return Received(self.work.name, *tensors, send=send)

    def start(
        self, requests: Sequence[Any], finish: Sequence[Callable[[], None]] = (), async_op: bool = False
    ) -> Work | None:
        """Return the handle of the requests with ``async_op``; otherwise wait for them and return None."""
        self.work.start(requests, finish)
        if async_op:
            return self.work
        self.work.wait()
        return None


def begin_collective(name: str, group: Any, tensors: Sequence[Any] = (), **details: Any) -> Call | None:
    """Return a new call of a collective, or None, with a warning, on a rank outside of the group.

    With ``NUMGRAD_DISTRIBUTED_DEBUG=1``, name, tensors and details are compared with those of the other ranks.

    Args:
        name: the function.
        group: the group, or None for the default one.
        tensors: the tensors whose shapes and dtypes must be equal on all ranks.
        details: other values that must be equal on all ranks.
    """
    found = group_or_default(group)
    if found is None:
        warn_user(f"{name}() is called on a rank that does not belong to the group, and does nothing")
        return None
    found.count += 1
    location = calling_location()
    if os.environ.get("NUMGRAD_DISTRIBUTED_DEBUG", "0") not in ("", "0"):
        work = Work(f"the comparison of {name}", location, found.number, found.count, found.ranks, found.timeout,
                    found.contact)
        compare(found, work, name, tensors, details, location)
    work = Work(name, location, found.number, found.count, found.ranks, found.timeout, found.contact)
    return Call(found, work)


def begin_message(name: str, group: Any, peer: int | None) -> Call | None:
    """Return a new call that exchanges a message with a rank of the world, or with any rank of the group for None."""
    found = group_or_default(group)
    if found is None:
        warn_user(f"{name}() is called on a rank that does not belong to the group, and does nothing")
        return None
    peers = found.ranks if peer is None else (peer,)
    return Call(found, Work(name, calling_location(), found.number, None, peers, found.timeout, found.contact))


def rank_in(group: ProcessGroup, name: str, rank: int | None, group_rank: int | None = None) -> int:
    """Return the number in a group of a rank that is given by its number in the world or in the group.

    Raises:
        ValueError: both or neither are given, or the group has no such rank.
    """
    if (rank is None) == (group_rank is None):
        raise ValueError(f"exactly one of {name} and group_{name} must be given")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if rank not in group.ranks:
        raise ValueError(f"Global rank {rank} is not part of group {group}")
    return group.ranks.index(rank)
