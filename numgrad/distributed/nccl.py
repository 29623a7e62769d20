"""NCCL: collectives of tensors on GPUs, by the package nccl4py or CuPy.

Note [NCCL]
At the first collective of a group on a GPU, its ranks find out together if they can use NCCL: all have the same of the
two packages, and no two have the same GPU.  Rank 0 then makes an identifier, MPI sends it, and each rank makes NCCL's
communicator.  Otherwise, and for whatever ``begin`` refuses, tensors travel through pinned memory of the host.

A call is put on the current stream.  With ``async_op=True`` it is put on a stream of the group, which first waits for
the current one; ``wait()`` of its handle makes the stream that is then current wait for it.  The host waits only for
the comparison of the calls of all ranks.

This module has been tested with replacements of the packages that have the same signatures, and never on a GPU.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import platform
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core import types
from ..devices import begin_cuda, gpu_driver
from ..tensors.tensor import Tensor
from .buffers import overwritten
from .calls import Call
from .groups import ProcessGroup
from .reductions import ReduceOp

__all__ = ["begin", "is_nccl_available"]

#: Methods of nccl4py's communicator, and of CuPy's.
_METHODS = {
    "all_reduce": ("allreduce", "allReduce"), "reduce": ("reduce", "reduce"), "broadcast": ("broadcast", "broadcast"),
    "all_gather": ("allgather", "allGather"), "reduce_scatter": ("reduce_scatter", "reduceScatter"),
}

#: NCCL's numbers of dtypes and of reductions.
_DTYPES = {
    types.int8: 0, types.uint8: 1, types.int32: 2, types.int64: 4, types.float16: 6, types.float32: 7,
    types.float64: 8, types.bfloat16: 9,
}
_REDUCTIONS = {ReduceOp.SUM: 0, ReduceOp.PRODUCT: 1, ReduceOp.MAX: 2, ReduceOp.MIN: 3, ReduceOp.AVG: 4}


class _ByNccl4py:
    """NCCL's communicator of a group, made by nccl4py, which takes tensors, and needs ml_dtypes for bfloat16.

    Attributes:
        dtypes: the dtypes of tensors that it reduces.
        destroy: a function that frees it.
    """

    dtypes = _DTYPES.keys() - ({types.bfloat16} if importlib.util.find_spec("ml_dtypes") is None else set())

    @staticmethod
    def has_library(module: Any) -> bool:
        """Return True if the package finds NCCL's library."""
        return module.get_version().libnccl is not None

    def __init__(self, module: Any, size: int, rank: int, identifier: Any):
        self._communicator = module.Communicator.init(size, rank, identifier)
        self.destroy: Callable[[], None] = self._communicator.destroy

    def run(self, name: str, source: Tensor, target: Tensor, numbers: Sequence[int], stream: int) -> None:
        """Put a collective on a stream; ``numbers`` are its reduction and its root, if it has them."""
        getattr(self._communicator, _METHODS[name][0])(source, target, *numbers, stream=stream)


class _ByCuPy:
    """NCCL's communicator of a group, made by CuPy, which takes addresses."""

    dtypes = _DTYPES.keys()

    @staticmethod
    def has_library(module: Any) -> bool:
        """Return True if the package finds NCCL's library; otherwise, its module is empty."""
        return hasattr(module, "get_unique_id")

    def __init__(self, module: Any, size: int, rank: int, identifier: Any):
        self._communicator = module.NcclCommunicator(size, identifier, rank)
        self.destroy: Callable[[], None] = self._communicator.destroy

    def run(self, name: str, source: Tensor, target: Tensor, numbers: Sequence[int], stream: int) -> None:
        """Put a collective on a stream."""
        count = min(source.numel(), target.numel())  # the part of one rank
        getattr(self._communicator, _METHODS[name][1])(
            source.data_ptr(), target.data_ptr(), count, _DTYPES[source.dtype], *numbers, stream
        )


@functools.cache
def package() -> tuple[Any, type[_ByNccl4py | _ByCuPy]] | None:
    """Return the module of the package that is installed, and its class of communicators; None for neither."""
    for name, communicator in ("nccl.core", _ByNccl4py), ("cupy.cuda.nccl", _ByCuPy):
        try:
            module = importlib.import_module(name)
        except (ImportError, RuntimeError):
            continue
        if communicator.has_library(module):
            return module, communicator
    return None


def is_nccl_available() -> bool:
    """Return True if nccl4py, or CuPy with NCCL, is installed; collectives on GPUs then use it."""
    return package() is not None


def gpu_of(device: int) -> Any:
    """Return what distinguishes a GPU from those of all machines; None if it is simulated."""
    if gpu_driver() != "driver":
        return None
    properties = begin_cuda().runtime.driver.device_properties(device)
    return platform.node(), properties.pci_domain_id, properties.pci_bus_id, properties.pci_device_id


class _Group:
    """A group of ranks that use NCCL, with the stream of its asynchronous calls."""

    def __init__(self, group: ProcessGroup, device: int, module: Any, kind: Any):
        identifier = group.prompt.bcast(module.get_unique_id() if group.rank() == 0 else None, 0)
        runtime = begin_cuda().runtime
        runtime.driver.synchronize_device(device)  # makes its context current, in which NCCL begins
        self.communicator = kind(module, group.size(), group.rank(), identifier)
        self.stream = runtime.pooled_stream(device)

    def destroy(self) -> None:
        """Free the communicator, which all ranks do together."""
        self.communicator.destroy()


def _of_group(group: ProcessGroup, device: int) -> _Group | None:
    """Return NCCL's part of a group, or None if some rank cannot use NCCL; all ranks call this function first."""
    if group.nccl is None:
        found, gpu = package(), gpu_of(device)
        own = None if found is None else (found[0].__name__, sorted(map(str, found[1].dtypes)))
        packages, gpus = zip(*group.prompt.allgather((own, gpu)), strict=True)
        usable = None not in gpus and len({*gpus}) == len(gpus) and all(each == own for each in packages)
        group.nccl = _Group(group, device, *found) if usable and found is not None else False
    return group.nccl or None


def begin(
    call: Call, name: str, source: Tensor, target: Tensor, in_background: bool, op: ReduceOp | None = None,
    root: int | None = None,
) -> tuple[Callable[[], list[Any]], list[Callable[[], None]]] | None:
    """Return the arguments with which ``call.start`` puts a collective on a stream; None if NCCL cannot.

    Args:
        call: the call.
        name: ``all_reduce``, ``reduce``, ``broadcast``, ``all_gather`` or ``reduce_scatter``.
        source, target: the tensors, maybe the same.
        in_background: True if the current stream does not wait for the result.
        op, root: the reduction, and the rank in the group that sends or receives alone.
    """
    if not target.is_cuda or not source.is_cuda or not source.numel():
        return None
    drops_nan = op in (ReduceOp.MIN, ReduceOp.MAX) and source.is_floating_point()
    if op is not None and (op not in _REDUCTIONS or drops_nan):
        return None
    group = _of_group(call.group, target.get_device())
    if group is None or (op is not None and source.dtype not in group.communicator.dtypes):
        return None
    cuda = begin_cuda()
    current = cuda.memory.stream(target.get_device())
    writes = root is None or (call.group.rank() == root) == (name == "reduce")
    written = overwritten(call.work.name, target) if writes else target.detach()
    call.work.tensors = [target]
    with no_grad():
        into = written.contiguous()
        given = into if source is target else source.detach().contiguous()
        sent, received = given.view(-1), into.view(-1)
        if op is None:  # only moves elements, of any dtype
            sent, received = sent.view(types.uint8), received.view(types.uint8)
    numbers = [] if op is None else [_REDUCTIONS[op]]
    numbers += [] if root is None else [root]

    def launch() -> list[Any]:
        if in_background:
            cuda.runtime.in_order(current, group.stream)
            cuda.memory.note_uses(group.stream, (given._storage, into._storage))
        group.communicator.run(name, sent, received, numbers, int(group.stream if in_background else current))
        return [_OnStream(group.stream)] if in_background else []

    finish: list[Callable[[], None]] = [functools.partial(_put, written, into)] if into is not written else []
    return launch, finish


def _put(tensor: Tensor, elements: Tensor) -> None:
    with no_grad():
        tensor.copy_(elements)


class _OnStream:
    """Work on a stream, as a request of MPI."""

    def __init__(self, stream: Any):
        self._stream = stream

    def Test(self) -> bool:
        """Make the current stream wait for the work, and return True."""
        cuda = begin_cuda()
        cuda.runtime.in_order(self._stream, cuda.memory.stream(self._stream.device))
        return True
