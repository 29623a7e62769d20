"""Differentiable collectives: functions of the tensors of all ranks, which return new tensors.

Gradients are those of the sum of the losses of all ranks.  Every rank must use the result in its loss, multiplied by 0
if need be, because backward is a collective, too; a result requires a gradient on every rank if recording is on.  All
functions have derivatives of all orders, forward mode, in which every rank passes a dual number, and ``vmap``.

Example, a mean over all ranks, differentiated on each of them::

    import numgrad as torch
    import numgrad.distributed as dist
    from numgrad.distributed.nn.functional import all_reduce

    dist.init_process_group()
    x = torch.randn(10, requires_grad=True)
    mean = all_reduce(x.sum()) / (10 * dist.get_world_size())
    ((x - mean) ** 2).sum().backward()
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...ops.shapes.joining import cat
from ...tensors.tensor import Tensor
from ..calls import rank_in
from ..groups import ProcessGroup, group_or_default
from ..reductions import ReduceOp, check_is_reduction
from .linear_maps import (
    AllGather,
    AllReduce,
    AllToAll,
    Broadcast,
    Gather,
    LinearMap,
    Receive,
    Reduce,
    ReduceScatter,
    Scatter,
    Send,
    SendReceive,
    Setting,
)

__all__ = [
    "all_gather", "all_gather_into_tensor", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather",
    "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send", "sendrecv",
]


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of the tensors of all ranks, on all ranks.

    The adjoint of the sum is the sum of the gradients of all ranks.  ``PRODUCT``, ``MIN`` and ``MAX`` gather the
    tensors and reduce them on each rank.

    Raises:
        ValueError: the reduction has no derivative.
    """
    return _reduced(op, AllReduce, AllGather, Setting(_member(group)), tensor)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of the tensors of all ranks on rank ``dst``, and zeros on the others.

    The adjoint of the sum is a broadcast of the gradient from ``dst``.

    Raises:
        ValueError: the reduction has no derivative.
    """
    found = _member(group)
    return _reduced(op, Reduce, Gather, Setting(found, rank_in(found, "dst", dst)), tensor)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of rank ``src``, on all ranks; the tensors of the others have its shape and dtype.

    The adjoint is a reduction to ``src``: its gradient is the sum of those of all ranks, and those of others are 0.
    """
    found = _member(group)
    return Broadcast.of(Setting(found, rank_in(found, "src", src)), tensor)


def all_gather(tensor: Tensor, group: Any = None, shapes: Sequence[Sequence[int]] | None = None) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks, on all ranks.

    The adjoint reduces and scatters: the gradient is the sum of the gradients of this rank's tensor on all ranks.

    Args:
        tensor: the tensor of this rank.
        group: the process group.
        shapes: the shapes of the tensors of all ranks, if they differ.

    Raises:
        ValueError: ``shapes`` does not have one shape per rank, with this rank's of the tensor's.
    """
    found = _member(group)
    shapes = _shapes(shapes, tensor, found)
    flat = AllGather.of(Setting(found, sizes=_numbers(shapes)), tensor.reshape(-1))
    return _divided(flat, shapes)


def all_gather_into_tensor(tensor: Tensor, group: Any = None, sizes: Sequence[int] | None = None) -> Tensor:
    """Return the tensors of all ranks, joined in the first dimension, on all ranks.

    The adjoint is ``reduce_scatter_tensor``.

    Args:
        tensor: the tensor of this rank.
        group: the process group.
        sizes: the sizes of the first dimension on all ranks, if they differ.

    Raises:
        ValueError: ``sizes`` does not have one size per rank, with this rank's of the tensor's.
    """
    found = _member(group)
    count = [tensor.shape[0]] * found.size() if sizes is None else [*sizes]
    if len(count) != found.size() or count[found.rank()] != tensor.shape[0]:
        raise ValueError(f"sizes must have one for each of {found.size()} ranks, not {count} for {list(tensor.shape)}")
    return AllGather.of(Setting(found, sizes=tuple(count)), tensor)


def gather(
    tensor: Tensor, dst: int = 0, group: Any = None, shapes: Sequence[Sequence[int]] | None = None
) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks on rank ``dst``, and zeros on the others.

    The adjoint scatters the gradients from ``dst``.  ``shapes`` is that of ``all_gather``.
    """
    found = _member(group)
    shapes = _shapes(shapes, tensor, found)
    setting = Setting(found, rank_in(found, "dst", dst), sizes=_numbers(shapes))
    return _divided(Gather.of(setting, tensor.reshape(-1)), shapes)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return the tensor for this rank in the list of rank ``src``; the lists of the others have tensors of its shapes.

    The adjoint gathers the gradients on ``src``; those of the other lists are 0.

    Raises:
        ValueError: the list does not have one tensor per rank.
    """
    found = _member(group)
    shapes = _listed("tensors", tensors, found)
    setting = Setting(found, rank_in(found, "src", src), sizes=_numbers(shapes))
    return Scatter.of(setting, _joined(tensors)).reshape(shapes[found.rank()])


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """Return the reduction of the tensors for this rank in the lists of all ranks; ``output`` has its shape.

    The adjoint of the sum gathers: each rank's list has the gradients of all ranks.

    Raises:
        ValueError: the list does not have one tensor per rank, with this rank's of the shape of ``output``; or the
            reduction has no derivative.
    """
    found = _member(group)
    shapes = _listed("input_list", input_list, found)
    own = shapes[found.rank()]
    if own != (*output.shape,):
        raise ValueError(f"output of shape {list(output.shape)} must have the shape of this rank's part, {list(own)}")
    setting = Setting(found, sizes=_numbers(shapes))
    return _reduce_scattered(op, setting, _joined(input_list)).reshape(own)


def reduce_scatter_tensor(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, sizes: Sequence[int] | None = None
) -> Tensor:
    """Return this rank's part of the reduction of the tensors of all ranks, divided in the first dimension.

    The adjoint of the sum is ``all_gather_into_tensor``.

    Args:
        tensor: the tensor with a part for each rank.
        op: the reduction.
        group: the process group.
        sizes: the size of the first dimension of each part; by default they are equal.

    Raises:
        ValueError: the sizes do not sum to the first dimension, or it has no equal parts; or the reduction has no
            derivative.
    """
    found = _member(group)
    return _reduce_scattered(op, Setting(found, sizes=_split(tensor, sizes, found)), tensor)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Any = None,
) -> Tensor:  # fmt: skip
    """Return the parts for this rank of the tensors of all ranks, joined in the first dimension.

    The adjoint sends the gradients of the parts back.  ``output`` has the shape of the result, and is not written.

    Raises:
        ValueError: the sizes do not sum to the first dimension, or it has no equal parts.
    """
    found = _member(group)
    sizes, awaited = _split(input, input_split_sizes, found), _split(output, output_split_sizes, found)
    return AllToAll.of(Setting(found, sizes=sizes, awaited=awaited), input)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Return the tensors for this rank in the lists of all ranks.

    The adjoint sends the gradients back.  ``output_tensor_list`` has the shapes of the results, and is not written.

    Raises:
        ValueError: a list does not have one tensor per rank.
    """
    found = _member(group)
    shapes = _listed("output_tensor_list", output_tensor_list, found)
    sizes = _numbers(_listed("input_tensor_list", input_tensor_list, found))
    setting = Setting(found, sizes=sizes, awaited=_numbers(shapes))
    return _divided(AllToAll.of(setting, _joined(input_tensor_list)), shapes)


def sendrecv(
    tensor: Tensor, dst: int | None, src: int | None, group: Any = None, tag: int = 0,
    shape: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Send the tensor to rank ``dst``, and return the one that rank ``src`` sends: halos of a domain, for example.

    The adjoint sends the gradient of the result to ``src``, and returns the one that ``dst`` sends.

    Args:
        tensor: the tensor to send.
        dst: the rank to send to, or None to send nothing.
        src: the rank to receive from, or None for zeros.
        group: the process group.
        tag: a number that distinguishes messages.
        shape: the shape of the result, if it is not that of the tensor.
    """
    found = _member(group)
    setting = Setting(
        found, dst=None if dst is None else rank_in(found, "dst", dst),
        src=None if src is None else rank_in(found, "src", src), tag=tag, sent_shape=tuple(tensor.shape),
        shape=tuple(tensor.shape if shape is None else shape),
    )
    return SendReceive.of(setting, tensor)


def send(tensor: Tensor, dst: int, group: Any = None, tag: int = 0) -> Tensor:
    """Send the tensor to rank ``dst``, and return 0, a number to be added to the loss.

    The adjoint is a receive: the gradient is the one that ``dst`` sends in backward, which the number leads to.
    """
    found = _member(group)
    return Send.of(Setting(found, dst=rank_in(found, "dst", dst), sent_shape=tuple(tensor.shape), tag=tag), tensor)


def recv(tensor: Tensor, src: int, group: Any = None, tag: int = 0) -> Tensor:
    """Return the tensor that rank ``src`` sends, of the shape and dtype of ``tensor``, which is not written.

    The adjoint is a send: the gradient of the result goes to ``src``.  The gradient of ``tensor`` is 0; what it is used
    for leads to that send in second derivatives.
    """
    found = _member(group)
    return Receive.of(Setting(found, src=rank_in(found, "src", src), shape=tuple(tensor.shape), tag=tag), tensor.sum())


# -- reductions --------------------------------------------------------------------------------------------------


def _reduced(
    op: ReduceOp, total: type[LinearMap], gathered: type[LinearMap], setting: Setting, tensor: Tensor
) -> Tensor:
    """Return a reduction: the map ``total`` if it is linear, otherwise that of what the map ``gathered`` returns."""
    if _is_linear(op):
        result = total.of(setting, tensor)
        return result / setting.group.size() if op is ReduceOp.AVG else result
    count = setting.group.size()
    return _combined(op, gathered.of(setting._replace(sizes=(1,) * count), tensor.unsqueeze(0)))


def _reduce_scattered(op: ReduceOp, setting: Setting, tensor: Tensor) -> Tensor:
    if _is_linear(op):
        result = ReduceScatter.of(setting, tensor)
        return result / setting.group.size() if op is ReduceOp.AVG else result
    count = setting.group.size()
    own = setting.sizes[setting.group.rank()]
    parts = AllToAll.of(setting._replace(awaited=(own,) * count), tensor)
    return _combined(op, parts.reshape(count, own, *tensor.shape[1:]))


def _is_linear(op: ReduceOp) -> bool:
    """Return True for a sum and a mean.

    Raises:
        TypeError: ``op`` is no reduction.
        ValueError: it has no derivative.
    """
    check_is_reduction(op)
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR):
        raise ValueError(f"{op!r} has no derivative: use the function of this name in numgrad.distributed")
    return op in (ReduceOp.SUM, ReduceOp.AVG)


def _combined(op: ReduceOp, every: Tensor) -> Tensor:
    """Return the product, minimum or maximum over the first dimension."""
    if op is ReduceOp.PRODUCT:
        return every.prod(0)
    return every.amin(0) if op is ReduceOp.MIN else every.amax(0)


# -- lists of tensors --------------------------------------------------------------------------------------------


def _member(group: Any) -> ProcessGroup:
    """Return the group, to which this rank must belong.

    Raises:
        ValueError: it does not.
    """
    found = group_or_default(group)
    if found is None:
        raise ValueError("differentiable collectives are called only on ranks that belong to the group")
    return found


def _shapes(shapes: Sequence[Sequence[int]] | None, tensor: Tensor, group: ProcessGroup) -> list[tuple[int, ...]]:
    result = [tuple(tensor.shape)] * group.size() if shapes is None else [tuple(shape) for shape in shapes]
    if len(result) != group.size() or result[group.rank()] != tuple(tensor.shape):
        raise ValueError(
            f"shapes must have one for each of {group.size()} ranks, with {list(tensor.shape)} for this one, not "
            f"{shapes}"
        )
    return result


def _listed(name: str, tensors: Sequence[Tensor], group: ProcessGroup) -> list[tuple[int, ...]]:
    """Return the shapes of a list of tensors."""
    if len(tensors) != group.size():
        raise ValueError(f"{name} must have one tensor for each of the {group.size()} ranks, not {len(tensors)}")
    return [tuple(tensor.shape) for tensor in tensors]


def _numbers(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the number of elements of each shape."""
    return tuple([math.prod(shape) for shape in shapes])


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    return cat([tensor.reshape(-1) for tensor in tensors])


def _divided(flat: Tensor, shapes: Sequence[tuple[int, ...]]) -> tuple[Tensor, ...]:
    parts = flat.split([*_numbers(shapes)])
    return tuple([part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)])


def _split(tensor: Tensor, sizes: Sequence[int] | None, group: ProcessGroup) -> tuple[int, ...]:
    """Return the size of the first dimension of each part of a tensor."""
    count, rows = group.size(), tensor.shape[0] if tensor.ndim else 0
    result = [rows // count] * count if sizes is None else [*sizes]
    if len(result) != count or sum(result) != rows or min(result) < 0:
        which = "equal parts" if sizes is None else f"parts of sizes {[*sizes]}"
        raise ValueError(f"a tensor of shape {list(tensor.shape)} has no {count} {which}")
    return tuple(result)
