"""Messages between two ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensors.tensor import Tensor
from .buffers import check_tensors, elements_of
from .calls import Call, begin_message, rank_in
from .groups import group_or_default
from .mpi import datatype_of, message, mpi
from .work import DistBackendError, Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to rank ``dst``, and return the handle; the tensor must not change before ``wait()``.

    Raises:
        ValueError: ``dst`` is this rank, or no rank of the group.
    """
    check_tensors("isend", tensor)
    call = _begin("isend", group, "dst", dst, group_dst)
    if call is None:
        return None
    to = rank_in(call.group, "dst", dst, group_dst)
    return call.start([call.communicator.Isend(message(elements_of(tensor)), to, tag)], (), True)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor from rank ``src``, by default from any, and return the handle.

    Raises:
        ValueError: ``src`` is this rank, or no rank of the group.
        DistBackendError: in ``wait()``, if the message has another number of elements.
    """
    call, requests, finish, _ = _receive("irecv", tensor, src, group, tag, group_src)
    return None if call is None else call.start(requests, finish, True)


def send(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Send a tensor to rank ``dst``.

    Raises:
        ValueError: ``dst`` is this rank, or no rank of the group.
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Receive a tensor from rank ``src``, by default from any, and return the number of the sender.

    Raises:
        ValueError: ``src`` is this rank, or no rank of the group.
        DistBackendError: the message has another number of elements.
    """
    call, requests, finish, status = _receive("recv", tensor, src, group, tag, group_src)
    if call is None:
        return -1
    call.start(requests, finish)
    return call.group.ranks[status.Get_source()]


class P2POp:
    """A send or a receive for ``batch_isend_irecv``.

    Args:
        op: ``isend`` or ``irecv``.
        tensor, peer, group, tag, group_peer: its arguments.

    Raises:
        ValueError: ``op`` is another function.
    """

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
        group_peer: int | None = None,
    ):  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``isend`` or ``irecv``.")
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group
        self.tag, self.group_peer = tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several sends and receives, and return their handles."""
    works = [each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer) for each in p2p_op_list]
    return [work for work in works if work is not None]


def _begin(name: str, group: Any, argument: str, rank: int | None, group_rank: int | None) -> Call | None:
    """Return a new call that exchanges a message with a rank."""
    found = group_or_default(group)
    if found is None:
        return begin_message(name, group, None)
    if rank is None and group_rank is None and argument == "src":
        return begin_message(name, group, None)
    peer = rank_in(found, argument, rank, group_rank)
    if peer == found.rank():
        raise ValueError(f"Invalid {argument}: a rank sends no message to itself, and this is rank {found.ranks[peer]}")
    return begin_message(name, group, found.ranks[peer])


def _receive(
    name: str, tensor: Tensor, src: int | None, group: Any, tag: int, group_src: int | None
) -> tuple[Call | None, list[Any], list[Callable[[], None]], Any]:
    """Begin to receive; return the call, its requests, the functions that complete it, and MPI's status."""
    check_tensors(name, tensor)
    call = _begin(name, group, "src", src, group_src)
    if call is None:
        return None, [], [], None
    anyone = src is None and group_src is None
    source = mpi().ANY_SOURCE if anyone else rank_in(call.group, "src", src, group_src)
    received = call.receive(tensor)
    status = mpi().Status()
    request = _WithStatus(call.communicator.Irecv(message(received.array), source, tag), status)

    def check() -> None:
        count = status.Get_count(datatype_of(received.array.dtype))
        if count != received.array.size:
            raise DistBackendError(
                f"{name} expected {received.array.size} elements, and rank {call.group.ranks[status.Get_source()]} "
                f"sent {count}"
            )

    return call, [request], [check, received.finish], status


class _WithStatus:
    """A request of MPI that keeps its status."""

    def __init__(self, request: Any, status: Any):
        self._request, self._status = request, status

    def Test(self) -> bool:
        """Return True if the request is complete."""
        return self._request.Test(self._status)
