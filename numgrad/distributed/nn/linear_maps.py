"""Collectives as linear maps of the tensors of all ranks, with their adjoints.

Note [Adjoints over ranks]
A collective maps the tensors x of all ranks to tensors y of all ranks.  Its adjoint A' is defined by <A x, y> =
<x, A' y>, where both inner products are sums over all ranks: gradients are those of the sum of the ranks' losses.
Backward applies the adjoint, which is a collective, too: every rank takes part in it, whether or not its own tensor
requires a gradient.  For this reason each call is recorded on all ranks, by means of an *anchor*: an empty leaf.  In
forward mode, the tangents are mapped as the tensors are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.function import Function
from ...autograd.grad_mode import GRAD, state
from ...ops.creation.factories import empty, zeros, zeros_like
from ...tensors.tensor import Tensor
from .. import collectives, point_to_point
from ..groups import ProcessGroup
from ..work import Work

__all__ = [
    "AllGather", "AllReduce", "AllToAll", "Broadcast", "Gather", "LinearMap", "Receive", "Reduce", "ReduceScatter",
    "Scatter", "Send", "SendReceive", "Setting",
]


class Setting(NamedTuple):
    """Arguments of a map other than the tensor.

    Attributes:
        group: the process group.
        root: the number in the group of the rank that all others send to or receive from.
        sizes: for each rank, the size of its part in the first dimension.
        awaited: the same for the parts that this rank receives, if they differ.
        dst, src: the numbers in the group of the ranks of a message; None for no message.
        shape: the shape of the message that is received.
        sent_shape: the shape of the message that is sent.
        tag: the tag of a message.
    """

    group: ProcessGroup
    root: int = 0
    sizes: tuple[int, ...] = ()
    awaited: tuple[int, ...] = ()
    dst: int | None = None
    src: int | None = None
    shape: tuple[int, ...] = ()
    sent_shape: tuple[int, ...] = ()
    tag: int = 0

    @property
    def is_root(self) -> bool:
        """True on the rank ``root``."""
        return self.group.rank() == self.root

    def turned_round(self) -> Setting:
        """Return the setting of the adjoint: what is sent and what is received are exchanged."""
        return self._replace(
            sizes=self.awaited, awaited=self.sizes, dst=self.src, src=self.dst, shape=self.sent_shape,
            sent_shape=self.shape,
        )

    def batched(self, size: int) -> Setting:
        """Return the setting for tensors with a last dimension more."""
        return self._replace(shape=(*self.shape, size), sent_shape=(*self.sent_shape, size))


class LinearMap(Function):
    """Base class of the maps.  A map is called through ``of``."""

    @classmethod
    def of(cls, setting: Setting, tensor: Tensor) -> Tensor:
        """Apply the map, and record that on all ranks."""
        recorded = bool(state.mode & GRAD) and tensor.dtype.differentiable
        return cls.apply(cls, setting, zeros([0], requires_grad=True) if recorded else None, tensor)

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        """Return the image of the tensor on this rank."""
        raise NotImplementedError

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        """Return the adjoint map with its setting."""
        raise NotImplementedError

    @staticmethod
    def forward(map: type[LinearMap], setting: Setting, anchor: Tensor | None, tensor: Tensor) -> Tensor:
        return map.move(setting, tensor)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.map, ctx.setting, *_ = inputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        adjoint, setting = ctx.map.adjoint(ctx.setting)
        return None, None, None, adjoint.of(setting, grad)

    @staticmethod
    def jvp(ctx: Any, map: Any, setting: Any, anchor: Any, tangent: Tensor) -> Tensor:
        return ctx.map.of(ctx.setting, tangent)

    @staticmethod
    def vmap(info: Any, in_dims: Any, map: type[LinearMap], setting: Setting, _: Any, tensor: Tensor) -> Any:
        """Map all examples at once: they are the last dimension, which no map concerns."""
        result = map.of(setting.batched(info.batch_size), tensor.movedim(in_dims[3], -1))
        return result, result.ndim - 1


def _done(work: Work | None) -> None:
    if work is not None:
        work.wait()


class AllReduce(LinearMap):
    """The sum of all ranks, on all ranks.  The adjoint is the map itself."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        result = _copy(tensor)
        collectives.all_reduce(result, group=setting.group)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return AllReduce, setting


class Broadcast(LinearMap):
    """The tensor of the root, on all ranks.  The adjoint is ``Reduce`` to the root."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        result = _copy(tensor)
        collectives.broadcast(result, group=setting.group, group_src=setting.root)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return Reduce, setting


class Reduce(LinearMap):
    """The sum of all ranks on the root, zeros on other ranks.  The adjoint is ``Broadcast`` from the root."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        result = _copy(tensor)
        collectives.reduce(result, group=setting.group, group_dst=setting.root)
        return result if setting.is_root else zeros_like(result)

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return Broadcast, setting


class AllGather(LinearMap):
    """The tensors of all ranks, one after the other, on all ranks.  The adjoint is ``ReduceScatter``."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        result = _rows(tensor, sum(setting.sizes))
        if _equal(setting.sizes):
            collectives.all_gather_into_tensor(result, tensor, setting.group)
        else:
            collectives.all_gather(result.split(setting.sizes), tensor, setting.group)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return ReduceScatter, setting


class ReduceScatter(LinearMap):
    """The part of each rank in the sum of all.  The adjoint is ``AllGather``."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        result = _rows(tensor, setting.sizes[setting.group.rank()])
        if _equal(setting.sizes):
            collectives.reduce_scatter_tensor(result, tensor, group=setting.group)
        else:
            collectives.reduce_scatter(result, tensor.split(setting.sizes), group=setting.group)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return AllGather, setting


class Gather(LinearMap):
    """The tensors of all ranks, one after the other, on the root; zeros on other ranks.  The adjoint is ``Scatter``."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        if not setting.is_root:
            collectives.gather(tensor, group=setting.group, group_dst=setting.root)
            return zeros([sum(setting.sizes), *tensor.shape[1:]], dtype=tensor.dtype, device=tensor.device)
        result = _rows(tensor, sum(setting.sizes))
        collectives.gather(tensor, result.split(setting.sizes), group=setting.group, group_dst=setting.root)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return Scatter, setting


class Scatter(LinearMap):
    """The part of each rank in the root's tensor; those of other ranks do not matter.  The adjoint is ``Gather``."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        result = _rows(tensor, setting.sizes[setting.group.rank()])
        parts = tensor.split(setting.sizes) if setting.is_root else None
        collectives.scatter(result, parts, group=setting.group, group_src=setting.root)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return Gather, setting


class AllToAll(LinearMap):
    """A part of each rank's tensor for each rank.  The adjoint sends the parts back."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        result = _rows(tensor, sum(setting.awaited))
        collectives.all_to_all_single(result, tensor, setting.awaited, setting.sizes, setting.group)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return AllToAll, setting.turned_round()


class SendReceive(LinearMap):
    """The tensor of rank ``src``, or zeros; this rank's goes to rank ``dst``.  The adjoint sends them back."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        options = {"dtype": tensor.dtype, "device": tensor.device}
        result = zeros(setting.shape, **options) if setting.src is None else empty(setting.shape, **options)
        own = setting.group.rank()
        if setting.src == setting.dst == own:
            return result.copy_(tensor)
        group, tag = setting.group, setting.tag
        if setting.src is not None:
            incoming = point_to_point.irecv(result, group=group, tag=tag, group_src=setting.src)
        if setting.dst is not None:
            _done(point_to_point.isend(tensor, group=group, tag=tag, group_dst=setting.dst))
        if setting.src is not None:
            _done(incoming)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return SendReceive, setting.turned_round()


class Send(LinearMap):
    """Zero, a number; the tensor goes to rank ``dst``.  The adjoint is ``Receive`` from there."""

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        point_to_point.send(tensor, group=setting.group, tag=setting.tag, group_dst=setting.dst)
        return zeros([], dtype=tensor.dtype, device=tensor.device)

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return Receive, setting.turned_round()

    @staticmethod
    def vmap(info: Any, in_dims: Any, map: type[LinearMap], setting: Setting, _: Any, tensor: Tensor) -> Any:
        return map.of(setting.batched(info.batch_size), tensor.movedim(in_dims[3], -1)), None


class Receive(LinearMap):
    """The tensor that rank ``src`` sends, as a function of a number that does not matter.

    The adjoint is ``Send`` to there, whose zero is the gradient of the number.
    """

    @staticmethod
    def move(setting: Setting, tensor: Tensor) -> Tensor:
        result = empty(setting.shape, dtype=tensor.dtype, device=tensor.device)
        point_to_point.recv(result, group=setting.group, tag=setting.tag, group_src=setting.src)
        return result

    @staticmethod
    def adjoint(setting: Setting) -> tuple[type[LinearMap], Setting]:
        return Send, setting.turned_round()

    @staticmethod
    def vmap(info: Any, in_dims: Any, map: type[LinearMap], setting: Setting, _: Any, number: Tensor) -> Any:
        return map.of(setting.batched(info.batch_size), number.sum()), len(setting.shape)


def _copy(tensor: Tensor) -> Tensor:
    """Return a contiguous copy."""
    return empty(tensor.shape, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def _rows(tensor: Tensor, count: int) -> Tensor:
    """Return memory for a tensor like this one, with another size in the first dimension."""
    return empty([count, *tensor.shape[1:]], dtype=tensor.dtype, device=tensor.device)


def _equal(sizes: tuple[int, ...]) -> bool:
    return sizes.count(sizes[0]) == len(sizes)
