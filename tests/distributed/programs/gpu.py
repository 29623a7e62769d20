"""Checks of collectives on GPUs, by the host and by replacements of packages for NCCL: run with two ranks."""

import os

import nccl_packages
import pytest

import numgrad
import numgrad.distributed as dist
from numgrad.distributed import nccl
from numgrad.distributed.nn import functional as F  # noqa: N812 - PyTorch's name


def full(shape, number):
    return numgrad.full(shape, float(number), device="cuda")


def check(rank, size):
    x = full((3,), rank + 1)
    dist.all_reduce(x)
    assert x.tolist() == [3.0] * 3
    x = full((2, 3), rank).t()
    dist.broadcast(x, 1)
    assert x.tolist() == [[1.0] * 2] * 3
    found = [numgrad.empty(2, device="cuda") for _ in range(size)]
    dist.all_gather(found, full((2,), rank))
    assert [each.tolist() for each in found] == [[0.0] * 2, [1.0] * 2]
    x = numgrad.ones(2, device="cuda", dtype=numgrad.bfloat16)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    assert x.tolist() == [2.0] * 2
    x = full((2,), rank + 1)
    dist.reduce(x, 1, dist.ReduceOp.AVG)
    assert x.tolist() == [1.5 if rank else 1.0] * 2
    for dtype in numgrad.float32, numgrad.int32:  # NCCL's maximum of floats may drop NaN
        x, before = full((2,), rank).to(dtype), len(nccl_packages.calls)
        dist.all_reduce(x, dist.ReduceOp.MAX)
        assert x.tolist() == [1] * 2
        assert len(nccl_packages.calls) - before == (bool(package) and dtype is numgrad.int32)
    x = full((3,), 1).requires_grad_()
    (F.all_reduce(x * (rank + 1)) * (rank + 1)).sum().backward()
    assert x.grad.is_cuda
    assert x.grad.tolist() == [3.0 * (rank + 1)] * 3
    x = full((1, 2), rank + 1).requires_grad_()
    y = F.all_gather_into_tensor(x)
    assert y.tolist() == [[1.0] * 2, [2.0] * 2]
    (y * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [[3.0] * 2]
    model = numgrad.nn.parallel.DistributedDataParallel(numgrad.nn.Linear(2, 1).cuda(), device_ids=[x.get_device()])
    model(x.cpu()).sum().backward()  # moves its arguments
    assert model.module.weight.grad.tolist() == [[1.5] * 2]


def check_that_nccl_begins_after_the_comparison(rank):
    os.environ["NUMGRAD_DISTRIBUTED_DEBUG"] = "1"
    group = dist.new_group()
    del os.environ["NUMGRAD_DISTRIBUTED_DEBUG"]
    before = [*nccl_packages.calls]
    with pytest.raises(dist.DistBackendError, match="the ranks differ"):
        dist.all_reduce(full((2 + rank,), 1), group=group)
    assert nccl_packages.calls == before


with pytest.raises(RuntimeError, match="there is no GPU 9"):
    dist.init_process_group("mpi", device_id=9)
for package in "", "nccl.core", "cupy.cuda.nccl":
    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    assert numgrad.cuda.current_device() == rank % numgrad.cuda.device_count()
    nccl_packages.calls.clear()
    if package:
        nccl.gpu_of = lambda device: dist.get_rank()  # as if each rank had a GPU
        nccl_packages.install(package)
        nccl.package.cache_clear()
        assert dist.is_nccl_available()
    check(rank, size)
    check_that_nccl_begins_after_the_comparison(rank)
    names, streams = zip(*nccl_packages.calls, strict=True) if package else ((), ())
    expected = "allreduce", "reduce", "broadcast", "allgather", "reducescatter"
    assert {name.replace("_", "") for name in names} == {*expected} if package else not names
    assert len({*streams}) == (2 if package else 0)  # the current one, and that of asynchronous calls
    dist.barrier()
    dist.destroy_process_group()
if rank == 0:
    print(f"{size} ranks have checked the gpu")
