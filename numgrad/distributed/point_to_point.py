"""Messages between two ranks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.types import dtype
from ..tensors.tensor import Tensor
from .buffers import check_tensors, elements_of
from .calls import Call, begin_message, member, rank_in
from .errors import DistBackendError
from .groups import GroupMember, ProcessGroup, group_or_default
from .mpi import datatype_of, message, mpi
from .work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to rank ``dst``, and return the handle; the tensor must not change before ``wait()``.

    Raises:
        ValueError: ``dst`` is this rank, or no rank of the group; or MPI has no such tag.
    """
    check_tensors("isend", tensor)
    found = member("isend", group)
    if found is None:
        return None
    to = _peer(found, "dst", dst, group_dst)
    own, (mark, _) = message(elements_of(tensor)), _tags(tensor.dtype, tag)
    call = begin_message("isend", found, found.ranks[to])
    return call.start(lambda: [call.communicator.Isend(own, to, mark)], (), True)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor from rank ``src``, by default from any, and return the handle.

    Raises:
        ValueError: ``src`` is this rank, or no rank of the group; or MPI has no such tag.
        DistBackendError: in ``wait()``, if the message has another dtype or number of elements.
    """
    return _received("irecv", tensor, src, group, tag, group_src)[0]


def send(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Send a tensor to rank ``dst``.

    Raises:
        ValueError: ``dst`` is this rank, or no rank of the group; or MPI has no such tag.
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Receive a tensor from rank ``src``, by default from any, and return the number of the sender.

    Raises:
        ValueError: ``src`` is this rank, or no rank of the group; or MPI has no such tag.
        DistBackendError: the message has another dtype or number of elements.
    """
    work, expected = _received("recv", tensor, src, group, tag, group_src)
    if work is None or expected is None:
        return -1
    work.wait()
    return expected.sender


class P2POp:
    """A send or a receive for ``batch_isend_irecv``.

    Args:
        op: ``isend`` or ``irecv``.
        tensor, peer, group, tag, group_peer: its arguments.

    Raises:
        ValueError: ``op`` is another function, or ``peer`` is no rank of the group.
        TypeError: ``tensor`` is not a tensor.
    """

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
        group_peer: int | None = None,
    ):  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``isend`` or ``irecv``.")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"P2POp() expects a tensor, not {type(tensor).__name__}")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = group_or_default(group)
        if self.group is not None:
            group_peer = rank_in(self.group, "peer", peer, group_peer)
            peer = self.group.ranks[group_peer]
        self.peer, self.group_peer = peer, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several sends and receives, and return their handles.

    Raises:
        ValueError: an element is no ``P2POp``, or their groups differ.
    """
    if not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to be of type ``P2POp``.")
    if len({each.group for each in p2p_op_list}) > 1:
        raise ValueError("All ops need to use the same group.")
    group = GroupMember.NON_GROUP_MEMBER
    works = [each.op(each.tensor, each.peer, each.group or group, each.tag) for each in p2p_op_list]
    return [work for work in works if work is not None]


def _peer(group: ProcessGroup, argument: str, rank: int | None, group_rank: int | None) -> int:
    """Return the number in a group of another rank."""
    peer = rank_in(group, argument, rank, group_rank)
    if peer == group.rank():
        raise ValueError(f"Invalid {argument}: a rank sends no message to itself, and this is rank {group.ranks[peer]}")
    return peer


def _received(
    name: str, tensor: Tensor, src: int | None, group: Any, tag: int, group_src: int | None
) -> tuple[Work | None, _Message | None]:
    """Begin to receive a message; return the handle, and the message."""
    check_tensors(name, tensor)
    found = member(name, group)
    if found is None:
        return None, None
    source = None if src is None and group_src is None else _peer(found, "src", src, group_src)
    mark, others = _tags(tensor.dtype, tag)
    call = begin_message(name, found, None if source is None else found.ranks[source])
    received = call.receive(tensor)
    expected = _Message(call, source, mark, others, received.array, tensor.dtype)
    call.work.misfit = expected.misfit
    return call.start(expected.receive, [received.finish], True), expected


def _tags(dtype: dtype, tag: int) -> tuple[int, dict[int, str]]:
    """Return MPI's tag of a message with elements of a dtype, and the tags of other dtypes, with their names.

    MPI does not compare the dtype of a message with that of its receiver, so it is a part of the tag.

    Raises:
        TypeError: the tag is not an integer.
        ValueError: it is negative, or MPI has no tag as large.
    """
    tag, names = operator.index(tag), [*dtype.named]
    most = (mpi().COMM_WORLD.Get_attr(mpi().TAG_UB) + 1) // len(names) - 1
    if not 0 <= tag <= most:
        raise ValueError(f"the tag of a message must be between 0 and {most}, not {tag}")
    others = {tag * len(names) + code: name for code, name in enumerate(names) if name != dtype.name}
    return tag * len(names) + names.index(dtype.name), others


class _Message:
    """Request for a message from a rank of a group, or from any.

    Args:
        call: the call.
        source: the number of the rank in the group, or None.
        tag: MPI's tag, which has the dtype.
        others: the tags of other dtypes, with their names.
        array: the memory to receive the elements.
        dtype: their dtype.
    """

    def __init__(
        self, call: Call, source: int | None, tag: int, others: dict[int, str], array: np.ndarray, dtype: dtype
    ):
        self._call, self._tag, self._others, self._array, self._dtype = call, tag, others, array, dtype
        self._source = mpi().ANY_SOURCE if source is None else source
        self._status = mpi().Status()

    def receive(self) -> list[_Message]:
        """Begin to receive, and return this request in a list."""
        self._request = self._call.communicator.Irecv(message(self._array), self._source, self._tag)
        return [self]

    @property
    def sender(self) -> int:
        """The number in the world of the rank that sent the message."""
        return self._call.group.ranks[self._status.Get_source()]

    def Test(self) -> bool:
        """Return True if the message has arrived.

        Raises:
            DistBackendError: it has another number of elements.
        """
        try:
            if not self._request.Test(self._status):
                return False
        except mpi().Exception as error:
            if error.Get_error_class() != mpi().ERR_TRUNCATE:
                raise
            raise self._error("more were sent") from None
        count = self._status.Get_count(datatype_of(self._array.dtype))
        if count != self._array.size:
            raise self._error(f"rank {self.sender} has sent {count}")
        return True

    def _error(self, fact: str) -> DistBackendError:
        size = self._array.size
        return DistBackendError(
            f"{self._call.work.describe()} expected {size} element{'s' * (size != 1)} of {self._dtype}, and {fact}"
        )

    def misfit(self) -> str | None:
        """Return what another rank has sent with this message's tag and another dtype, if there is such a message."""
        status = mpi().Status()
        for tag, name in self._others.items():
            if self._call.communicator.Iprobe(self._source, tag, status):
                sender = self._call.group.ranks[status.Get_source()]
                return f"rank {sender} has sent elements of torch.{name}, not of {self._dtype}"
        return None
