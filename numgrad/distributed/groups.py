"""Process groups: the ranks that take part in collectives."""

from __future__ import annotations

import atexit
import enum
import os
import time
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from ..core.device import to_device
from ..devices import begin_cuda, recording, set_first_gpu
from .contact import Contact
from .deferred import waiting
from .errors import DistBackendError
from .mpi import mpi, overruns_memory
from .processes import abort_on_errors, check_is_no_child, number_processes

__all__ = [
    "Backend", "GroupMember", "ProcessGroup", "default_pg_timeout", "destroy_process_group", "get_backend",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
]

#: The time that a call may wait by default.
default_pg_timeout = timedelta(minutes=30)


class Backend(enum.StrEnum):
    """Name of a backend: there is one, MPI, which PyTorch's other names choose, too."""

    MPI = "mpi"
    GLOO = "gloo"
    NCCL = "nccl"
    UNDEFINED = "undefined"


class ProcessGroup:
    """Some ranks of the program, which take part in collectives together.

    Attributes:
        ranks: their numbers in the world, in the order of their numbers in the group.
        communicator: MPI's communicator of the group, a duplicate that nothing else uses.
        number: the number of the group, which is the same on all of its ranks.
        timeout: seconds that a call may wait.
        count: the number of collectives that this rank has begun.
        contact: the means to find out about the other ranks.
        nccl: the part of NCCL, or False if it cannot be used; None before the first collective on a GPU.
        failure: the reason why the group cannot be used any more, or None.
        compares_shapes: True if the ranks' tensors must have equal shapes, with ``NUMGRAD_DISTRIBUTED_DEBUG=1``.
        compares_first: True if calls are compared before they begin: then, or with Open MPI.
        prompt: MPI's communicator of what begins at once; another one if calls are compared first.
    """

    def __init__(
        self, ranks: Sequence[int], communicator: Any, number: int, timeout: timedelta, contact: Contact
    ):
        self.ranks = tuple(ranks)
        self.communicator = communicator
        self.number = number
        self.timeout = seconds_of(timeout)
        self.count = 0
        self.contact = contact
        self.nccl: Any = None
        self.failure: str | None = None
        self.compares_shapes = os.environ.get("NUMGRAD_DISTRIBUTED_DEBUG", "0") not in ("", "0")
        self.compares_first = self.compares_shapes or overruns_memory()
        self.prompt = communicator.Dup() if self.compares_first else communicator

    def rank(self) -> int:
        """Return the number of this process in the group."""
        return self.communicator.Get_rank()

    def size(self) -> int:
        """Return the number of ranks."""
        return len(self.ranks)

    def free(self) -> None:
        """Free the communicators, which all ranks of the group do together."""
        if self.nccl:
            self.nccl.destroy()
        waiting.pop(self, None)
        if self.compares_first:
            self.prompt.Free()
        self.communicator.Free()

    def name(self) -> str:
        """Return the name of the backend."""
        return Backend.MPI

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.number} of ranks {[*self.ranks]}>"


class GroupMember:
    """The default group, and the value that stands for a group on ranks outside of it."""

    WORLD: ClassVar[ProcessGroup | None] = None
    NON_GROUP_MEMBER: ClassVar[Any] = -100


class group(GroupMember):  # noqa: N801 - PyTorch's name
    """``group.WORLD``, the default group."""


#: The groups that this process belongs to; the first is the world.
_groups: list[ProcessGroup] = []
_made = 0  # the number of groups made by all ranks

#: For each group that was destroyed, the number of collectives that this rank had begun.
_past: dict[int, int] = {}

_warned_of_backend = False


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None, *,
    communicator: Any = None,
) -> None:  # fmt: skip
    """Start communication with the program's other processes, which all call this function.

    MPI's launcher has started the processes and numbered them, so ``init_method``, ``store``, ``group_name`` and
    ``pg_options`` are accepted and not used.  The environment variables ``RANK``, ``WORLD_SIZE``,
    ``LOCAL_RANK`` and ``LOCAL_WORLD_SIZE`` are set unless they are.  The processors of a machine are divided among its
    processes, unless the number of threads is set, too.  From now on, an uncaught exception ends all processes.

    Args:
        backend: "mpi".  The names "gloo" and "nccl" choose MPI, too, and warn once.
        timeout: the time after which a waiting call raises an error, by default 30 minutes.
        world_size, rank: compared with MPI's if given.
        device_id: the GPU that "cuda" means in threads that have not called ``cuda.set_device``.  By default its number
            is that of the process on its machine, ``LOCAL_RANK``, modulo the number of GPUs.
        communicator: the mpi4py communicator of the ranks, of which a duplicate is used; by default ``COMM_WORLD``.

    Raises:
        ImportError, RuntimeError: mpi4py or MPI is not installed, there is no GPU ``device_id``, or this is the child
            of a process that MPI has started.
        DistBackendError: not all processes call this function before the timeout.
        ValueError: there is a process group already; the backend is unknown; or ``world_size`` or ``rank`` is not
            MPI's.
    """
    global _warned_of_backend
    if _groups:
        raise ValueError("trying to initialize the default process group twice!")
    check_is_no_child()
    names = {part.rpartition(":")[2] for part in (backend or Backend.MPI).lower().split(",")}
    if not names <= {Backend.MPI, Backend.GLOO, Backend.NCCL}:
        raise ValueError(f"numgrad.distributed has the backend 'mpi', and no '{backend}'")
    index = None if device_id is None else to_device(device_id).index
    if index is not None:
        begin_cuda().runtime.check_device(index)
    limit = seconds_of(default_pg_timeout if timeout is None else timeout)
    origin = mpi().COMM_WORLD if communicator is None else communicator
    _meet(origin, limit)
    number_processes(origin, origin.Get_size() if communicator is not None and world_size < 0 else world_size)
    own, size = origin.Get_rank(), origin.Get_size()
    if rank not in (-1, own):
        raise ValueError(f"MPI has given this process number {own}, not {rank}")
    if names != {Backend.MPI} and not _warned_of_backend and own == 0:
        _warned_of_backend = True
        warnings.warn(f"numgrad.distributed uses MPI as the backend '{backend}'", stacklevel=2)
    contact = Contact(origin.Dup())
    GroupMember.WORLD = world = ProcessGroup(
        range(size), origin.Dup(), _next_number(), timedelta(seconds=limit), contact
    )
    _groups.append(world)
    set_first_gpu(get_node_local_rank() if index is None else index)
    _forget_programs()
    abort_on_errors()
    atexit.register(_leave)


def _meet(communicator: Any, limit: float) -> None:
    """Wait until all processes begin to communicate.

    Raises:
        DistBackendError: that takes too many seconds.
    """
    request, end = communicator.Ibarrier(), time.monotonic() + limit
    while not request.Test():
        if time.monotonic() > end:
            raise DistBackendError(
                f"init_process_group timed out after {limit:g} s: not all of the {communicator.Get_size()} processes "
                "have called it"
            )
        time.sleep(0.001)


def _forget_programs() -> None:
    """Forget compiled programs, which may depend on whether there is a process group."""
    for forget in recording.outdated:
        forget()


def _next_number() -> int:
    global _made
    _made += 1
    return _made - 1


def _leave() -> None:
    """Tell the other ranks that this one takes part in no more calls, and wait until they are done, too."""
    if _groups:
        _groups[0].contact.end({**_past, **{each.number: each.count for each in _groups}})


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Free a group, by default all of them, which ends communication; that waits until all ranks have called it.

    Raises:
        ValueError: there is no such group.
    """
    global _made
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    found = default_group() if group is None else group
    if found not in _groups:
        raise ValueError("Invalid process group specified")
    if found is _groups[0]:
        _leave()
        atexit.unregister(_leave)
        GroupMember.WORLD = None
        for each in _groups:
            each.free()
        found.contact.free()
        _groups.clear()
        _past.clear()
        _made = 0  # the next groups may have other ranks
        _forget_programs()
    else:
        _groups.remove(found)
        _past[found.number] = found.count
        found.free()


def add_group(ranks: Sequence[int], timeout: timedelta) -> Any:
    """Return a new group of some ranks, which all ranks of the program make; see ``new_group``."""
    world = default_group()
    number = _next_number()
    if world.rank() not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    members = world.communicator.Get_group().Incl(ranks)
    communicator = world.communicator.Create_group(members, number)
    members.Free()
    made = ProcessGroup(ranks, communicator, number, timeout, world.contact)
    _groups.append(made)
    return made


def seconds_of(timeout: timedelta) -> float:
    """Return a timeout in seconds.

    Raises:
        TypeError: it is not a ``timedelta``.
    """
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout.total_seconds()


def world_group() -> ProcessGroup | None:
    """Return the group of all ranks, or None before ``init_process_group``."""
    return GroupMember.WORLD


def default_group() -> ProcessGroup:
    """Return the group of all ranks.

    Raises:
        ValueError: ``init_process_group`` was not called.
    """
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def group_or_default(group: Any) -> ProcessGroup | None:
    """Return a group, the default one for None, or None if this process does not belong to it.

    Raises:
        TypeError: the value is not a group.
        ValueError: the group was destroyed, or there is none.
    """
    if group is None:
        return default_group()
    if group == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"group must be a ProcessGroup or None, not {type(group).__name__}")
    if group not in _groups:
        raise ValueError("Invalid process group specified")
    return group


def get_rank(group: Any = None) -> int:
    """Return the number of this process in a group, by default in the world; -1 if it does not belong to it."""
    found = group_or_default(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of processes of a group, by default of the world; -1 if this one does not belong to it."""
    found = group_or_default(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """Return "mpi"."""
    if group_or_default(group) is None:
        raise ValueError("Invalid process group specified")
    return Backend.MPI


def get_default_backend_for_device(device: Any) -> str:
    """Return "mpi", whatever the device."""
    return Backend.MPI


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return the numbers in the world of a group's ranks."""
    found = group_or_default(group)
    return [] if found is None else [*found.ranks]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the number in a group of a rank of the world.

    Raises:
        ValueError: the rank does not belong to the group.
    """
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the number in the world of a rank of a group.

    Raises:
        ValueError: the group has no such rank.
    """
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the number of this process on its machine, from ``LOCAL_RANK``; ``fallback_rank`` if that is not set.

    Raises:
        RuntimeError: neither is there.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank")
    return fallback_rank
