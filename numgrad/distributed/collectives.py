"""Collectives: calls of all ranks of a group, which exchange tensors in place and are not recorded.

Ranks in arguments, such as ``src``, are numbers in the world; ``group_src`` is a number in the group.  With
``async_op=True``, a function returns a ``Work`` at once, and the tensors may be used after its ``wait()``.
Forms with one large tensor copy nothing on the CPU; forms with lists join or split it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from ..tensors.tensor import Tensor
from . import nccl
from .buffers import Received, check_tensors, elements_of, joined
from .calls import Call, begin_collective
from .groups import seconds_of
from .mpi import datatype_of, message, mpi
from .reductions import ReduceOp, operation_of
from .work import Work

__all__ = [
    "all_gather", "all_gather_into_tensor", "all_gather_single", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "broadcast", "gather", "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_single",
    "reduce_scatter_tensor", "scatter",
]


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Replace the tensor of each rank by the reduction of all.

    Raises:
        TypeError, ValueError: the reduction is not defined for the dtype.
    """
    check_tensors("all_reduce", tensor)
    operation = operation_of(op, tensor.dtype)
    call = begin_collective("all_reduce", group, tensor, op=op)
    if call is None:
        return None
    if by_nccl := nccl.begin(call, "all_reduce", tensor, tensor, async_op, op):
        return call.start(*by_nccl, async_op)
    received = call.receive(tensor, send=True)
    return call.start(
        lambda: [call.communicator.Iallreduce(mpi().IN_PLACE, message(received.array), operation)],
        _finish(call, received, op),
        async_op,
    )


def _finish(call: Call, received: Received, op: ReduceOp) -> list[Any]:
    """Return the functions that complete a reduction."""
    if op is not ReduceOp.AVG:
        return [received.finish]
    return [lambda: received.divide(call.group.size()), received.finish]


def reduce(
    tensor: Tensor, dst: int | None = None, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Replace the tensor of rank ``dst`` by the reduction of all; those of the other ranks stay as they are."""
    check_tensors("reduce", tensor)
    operation = operation_of(op, tensor.dtype)
    call = begin_collective("reduce", group, tensor, op=op)
    if call is None:
        return None
    root = call.root("dst", dst, group_dst)
    if by_nccl := nccl.begin(call, "reduce", tensor, tensor, async_op, op, root):
        return call.start(*by_nccl, async_op)
    if call.group.rank() != root:
        own = message(elements_of(tensor))
        return call.start(lambda: [call.communicator.Ireduce(own, None, operation, root)], (), async_op)
    received = call.receive(tensor, send=True)
    return call.start(
        lambda: [call.communicator.Ireduce(mpi().IN_PLACE, message(received.array), operation, root)],
        _finish(call, received, op),
        async_op,
    )


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Replace the tensor of each rank by that of rank ``src``."""
    check_tensors("broadcast", tensor)
    call = begin_collective("broadcast", group, tensor)
    if call is None:
        return None
    root = call.root("src", src, group_src)
    if by_nccl := nccl.begin(call, "broadcast", tensor, tensor, async_op, root=root):
        return call.start(*by_nccl, async_op)
    if call.group.rank() == root:
        return call.start(lambda: [call.communicator.Ibcast(message(elements_of(tensor)), root)], (), async_op)
    received = call.receive(tensor)
    return call.start(
        lambda: [call.communicator.Ibcast(message(received.array), root)], [received.finish], async_op
    )


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks into ``output_tensor``, in the order of ranks.

    The result is stacked or joined in the first dimension, as the shape of ``output_tensor`` says.

    Raises:
        ValueError: ``output_tensor`` does not have the elements of one tensor for each rank.
    """
    check_tensors("all_gather_into_tensor", output_tensor, input_tensor)
    call = begin_collective("all_gather_into_tensor", group, output_tensor, input_tensor)
    if call is None:
        return None
    _check_size("output_tensor", output_tensor, input_tensor, call)
    if by_nccl := nccl.begin(call, "all_gather", input_tensor, output_tensor, async_op):
        return call.start(*by_nccl, async_op)
    received = call.receive(output_tensor)
    own = message(elements_of(input_tensor, received))
    return call.start(
        lambda: [call.communicator.Iallgather(own, message(received.array))], [received.finish], async_op
    )


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensor of each rank into the tensor of this rank in ``tensor_list``; sizes may differ between ranks.

    Raises:
        ValueError: ``tensor_list`` does not have one tensor per rank, with this rank's of the shape of ``tensor``.
    """
    check_tensors("all_gather", *tensor_list, tensor)
    call = begin_collective("all_gather", group, *tensor_list)
    if call is None:
        return None
    _check_list("tensor_list", tensor_list, tensor, call, call.group.rank())
    received = call.receive(*tensor_list)
    own, every = message(elements_of(tensor, received)), _parts(received.array, tensor_list)
    return call.start(lambda: [call.communicator.Iallgatherv(own, every)], [received.finish], async_op)


def gather(
    tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int | None = None, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Write the tensors of all ranks into ``gather_list`` of rank ``dst``, by default 0; sizes may differ.

    Raises:
        ValueError: ``gather_list`` is given on another rank, or is not a list of one tensor per rank.
    """
    check_tensors("gather", *(gather_list or ()), tensor)
    gather_list = gather_list or ()
    call = begin_collective("gather", group, tensor, *gather_list)
    if call is None:
        return None
    root = call.root("dst", dst, group_dst, 0)
    call.exchange({root: tensor.numel()}, _sizes(gather_list))
    if call.group.rank() != root:
        if gather_list:
            raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        own = message(elements_of(tensor))
        return call.start(lambda: [call.communicator.Igatherv(own, None, root)], (), async_op)
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _check_list("gather_list", gather_list, tensor, call, root)
    received = call.receive(*gather_list)
    own, every = message(elements_of(tensor, received)), _parts(received.array, gather_list)
    return call.start(lambda: [call.communicator.Igatherv(own, every, root)], [received.finish], async_op)


def scatter(
    tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int | None = None, group: Any = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Write one of ``scatter_list`` of rank ``src``, by default 0, into the tensor of each rank; sizes may differ.

    Raises:
        ValueError: ``scatter_list`` is given on another rank, or is not a list of one tensor per rank.
    """
    check_tensors("scatter", *(scatter_list or ()), tensor)
    scatter_list = scatter_list or ()
    call = begin_collective("scatter", group, tensor, *scatter_list)
    if call is None:
        return None
    root = call.root("src", src, group_src, 0)
    call.exchange(_sizes(scatter_list), {root: tensor.numel()})
    source = None
    if call.group.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        _check_list("scatter_list", scatter_list, tensor, call, root)
        source = _parts(joined(scatter_list), scatter_list)
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    received = call.receive(tensor)
    return call.start(
        lambda: [call.communicator.Iscatterv(source, message(received.array), root)], [received.finish], async_op
    )


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write into ``output`` of each rank its part of the reduction of ``input``, which has one part for each rank.

    Raises:
        ValueError: ``input`` does not have the elements of one ``output`` for each rank.
        TypeError, ValueError: the reduction is not defined for the dtype.
    """
    check_tensors("reduce_scatter_tensor", output, input)
    operation = operation_of(op, input.dtype)
    call = begin_collective("reduce_scatter_tensor", group, output, input, op=op)
    if call is None:
        return None
    _check_size("input", input, output, call)
    if by_nccl := nccl.begin(call, "reduce_scatter", input, output, async_op, op):
        return call.start(*by_nccl, async_op)
    received = call.receive(output)
    every = message(elements_of(input, received))
    return call.start(
        lambda: [call.communicator.Ireduce_scatter_block(every, message(received.array), operation)],
        _finish(call, received, op),
        async_op,
    )


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write into ``output`` of each rank the reduction of the tensors for it in all lists; sizes may differ.

    Raises:
        ValueError: ``input_list`` does not have one tensor per rank, with this rank's of the shape of ``output``.
        TypeError, ValueError: the reduction is not defined for the dtype.
    """
    check_tensors("reduce_scatter", output, *input_list)
    operation = operation_of(op, output.dtype)
    call = begin_collective("reduce_scatter", group, *input_list, op=op)
    if call is None:
        return None
    _check_list("input_list", input_list, output, call, call.group.rank())
    received = call.receive(output)
    every, counts = message(joined(input_list)), [tensor.numel() for tensor in input_list]
    return call.start(
        lambda: [call.communicator.Ireduce_scatter(every, message(received.array), counts, operation)],
        _finish(call, received, op),
        async_op,
    )


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Send one part of ``input`` to each rank, and write the parts that each rank sends into ``output``.

    Args:
        output_split_sizes, input_split_sizes: how many rows of the first dimension each part has; by default equal
            parts.

    Raises:
        ValueError: the sizes do not sum to the first dimension, or it has no equal parts.
    """
    check_tensors("all_to_all_single", output, input)
    call = begin_collective("all_to_all_single", group, output, input)
    if call is None:
        return None
    sent = _splits("input", input, input_split_sizes, call)
    awaited = _splits("output", output, output_split_sizes, call)
    call.exchange(dict(enumerate(sent)), dict(enumerate(awaited)))
    received = call.receive(output)
    every = _vector(elements_of(input, received), sent)
    return call.start(
        lambda: [call.communicator.Ialltoallv(every, _vector(received.array, awaited))], [received.finish], async_op
    )


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Send one tensor of a list to each rank, and write what each rank sends into the other list; sizes may differ.

    Raises:
        ValueError: a list does not have one tensor per rank.
    """
    check_tensors("all_to_all", *output_tensor_list, *input_tensor_list)
    call = begin_collective("all_to_all", group, *output_tensor_list, *input_tensor_list)
    if call is None:
        return None
    for name, tensors in ("output_tensor_list", output_tensor_list), ("input_tensor_list", input_tensor_list):
        _check_length(name, tensors, call)
    call.exchange(_sizes(input_tensor_list), _sizes(output_tensor_list))
    received = call.receive(*output_tensor_list)
    sent, awaited = _parts(joined(input_tensor_list), input_tensor_list), _parts(received.array, output_tensor_list)
    return call.start(lambda: [call.communicator.Ialltoallv(sent, awaited)], [received.finish], async_op)


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all ranks have called this function.

    Raises:
        DistBackendError: that takes longer than ``timeout``, by default the group's.
    """
    call = begin_collective("barrier", group)
    if call is None:
        return None
    if timeout is not None:
        call.work.timeout = seconds_of(timeout)
    return call.start(lambda: [call.communicator.Ibarrier()], (), async_op)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait until all ranks have called this function; after ``timeout``, an error says which have not.

    Raises:
        DistBackendError: that takes longer than ``timeout``, by default the group's.
    """
    barrier(group, timeout=timeout)


#: PyTorch's names since version 2.13.
all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor


# -- arguments ---------------------------------------------------------------------------------------------------


def _sizes(tensors: Sequence[Tensor]) -> dict[int, int]:
    """Return the number of elements for each rank."""
    return {rank: tensor.numel() for rank, tensor in enumerate(tensors)}


def _check_size(name: str, large: Tensor, small: Tensor, call: Call) -> None:
    size = call.group.size()
    if large.numel() != size * small.numel():
        raise ValueError(
            f"{name} of shape {list(large.shape)} must have {size} times as many elements as the other tensor, of "
            f"shape {list(small.shape)}"
        )


def _check_length(name: str, tensors: Sequence[Tensor], call: Call) -> None:
    if len(tensors) != call.group.size():
        raise ValueError(f"{name} must have one tensor for each of the {call.group.size()} ranks, not {len(tensors)}")


def _check_list(name: str, tensors: Sequence[Tensor], tensor: Tensor, call: Call, rank: int) -> None:
    _check_length(name, tensors, call)
    if tensors[rank].shape != tensor.shape:
        raise ValueError(
            f"{name}[{rank}] of shape {list(tensors[rank].shape)} must have the shape of this rank's tensor, "
            f"{list(tensor.shape)}"
        )


def _splits(name: str, tensor: Tensor, sizes: Sequence[int] | None, call: Call) -> list[int]:
    """Return the number of elements of each part of a tensor."""
    count, rows = call.group.size(), tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if rows % count:
            raise ValueError(f"{name} of shape {list(tensor.shape)} has no {count} equal parts")
        sizes = [rows // count] * count
    if len(sizes) != count or sum(sizes) != rows or min(sizes) < 0:
        raise ValueError(
            f"{name}_split_sizes must be {count} sizes whose sum is {rows}, the first of {list(tensor.shape)}, not "
            f"{list(sizes)}"
        )
    row = tensor.numel() // rows if rows else 0
    return [size * row for size in sizes]


def _vector(array: np.ndarray, counts: Sequence[int]) -> list[Any]:
    """Return an array as mpi4py's description of a buffer of consecutive parts."""
    starts = [sum(counts[:rank]) for rank in range(len(counts))]
    return [array.reshape(-1).view(np.uint8), (counts, starts), datatype_of(array.dtype)]


def _parts(array: np.ndarray, tensors: Sequence[Tensor]) -> list[Any]:
    return _vector(array, [tensor.numel() for tensor in tensors])
