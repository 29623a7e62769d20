"""The beginning of a call: its group, the ranks in it, and its comparison with other ranks' calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..autograd.locations import calling_location, warn_user
from ..tensors.tensor import Tensor
from .buffers import Received
from .comparison import Comparison
from .deferred import Deferred
from .errors import DistBackendError
from .groups import ProcessGroup, group_or_default
from .mpi import mpi
from .work import Work

__all__ = ["Call", "begin_collective", "begin_message", "member", "rank_in"]


#: Functions whose requests failed to begin, with the memory that MPI may still use.
_failed: list[Callable[[], Sequence[Any]]] = []


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
        self, begin: Callable[[], Sequence[Any]], finish: Sequence[Callable[[], None]] = (), async_op: bool = False
    ) -> Work | None:
        """Begin the requests that a function returns.

        Return the handle with ``async_op``; otherwise wait and return None.

        Raises:
            DistBackendError: MPI reports an error.
        """
        comparison = self._comparison()
        if comparison is not None and self.group.compares_first:
            self.work.start([Deferred(self.group, comparison, begin)], finish)
        else:
            comparisons = [] if comparison is None else [comparison]
            self.work.start(comparisons)  # holds the memory that MPI writes if the requests fail to begin
            try:
                self.work.start([*comparisons, *begin()], finish)
            except mpi().Exception as error:
                _failed.append(begin)
                self.work.wait()  # raises an error if the ranks' calls differ
                raise DistBackendError(f"{self.work.describe()} failed: {error}") from None
        if async_op:
            return self.work
        self.work.wait()
        return None

    def _comparison(self) -> Comparison | None:
        """Begin to compare this call with those of the other ranks."""
        return None


class Collective(Call):
    """A call of all ranks.

    Args:
        tensors, details: see ``begin_collective``.
    """

    def __init__(self, name: str, group: ProcessGroup, tensors: Sequence[Tensor], details: dict[str, Any]):
        self._location = calling_location()
        super().__init__(group, Work(name, self._location, group))
        self._tensors, self._details = tensors, details
        self._parts: tuple[Mapping[int, int], Mapping[int, int]] | None = None

    def root(self, name: str, rank: int | None, group_rank: int | None, default: int | None = None) -> int:
        """Return the number in the group of the rank that the others send to or receive from: see ``rank_in``.

        It must be equal on all ranks.
        """
        root = rank_in(self.group, name, rank, group_rank, default)
        self._details[name] = self.group.ranks[root]
        return root

    def exchange(self, sent: Mapping[int, int], awaited: Mapping[int, int]) -> None:
        """Note how many elements go to each rank, and come from each, instead of equal sizes on all ranks."""
        self._parts = sent, awaited

    def _comparison(self) -> Comparison:
        group = self.group
        if group.failure is not None:
            raise DistBackendError(f"{group} cannot be used any more, because {group.failure}")
        group.count += 1
        self.work.count = group.count
        return Comparison(group, self.work.name, self._tensors, self._details, self._parts, self._location)


def begin_collective(name: str, group: Any, *tensors: Tensor, **details: Any) -> Collective | None:
    """Return a new call of a collective, or None, with a warning, on a rank outside of the group.

    Args:
        name: the function.
        group: the group, or None for the default one.
        tensors: the tensors whose sizes and dtypes must be equal on all ranks.
        details: other values that must be equal on all ranks.
    """
    found = member(name, group)
    return None if found is None else Collective(name, found, tensors, details)


def begin_message(name: str, group: ProcessGroup, peer: int | None) -> Call:
    """Return a new call that exchanges a message with a rank of the world, or with any rank of the group for None."""
    return Call(group, Work(name, calling_location(), group, None if peer is None else (peer,)))


def member(name: str, group: Any) -> ProcessGroup | None:
    """Return a group, by default all ranks, or None, with a warning, on a rank outside of the group."""
    found = group_or_default(group)
    if found is None:
        warn_user(f"{name}() is called on a rank that does not belong to the group, and does nothing")
    return found


def rank_in(
    group: ProcessGroup, name: str, rank: int | None, group_rank: int | None = None, default: int | None = None
) -> int:
    """Return the number in a group of a rank that is given by its number in the world or in the group.

    Raises:
        ValueError: both or neither are given, or the group has no such rank.
    """
    if rank is None and group_rank is None:
        rank = default
    if (rank is None) == (group_rank is None):
        raise ValueError(f"exactly one of {name} and group_{name} must be given")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if rank not in group.ranks:
        raise ValueError(f"Global rank {rank} is not part of group {group}")
    return group.ranks.index(rank)
