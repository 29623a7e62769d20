"""Checks of collectives of tensors on a GPU, which travel through the host: run with two ranks."""

import numgrad
import numgrad.distributed as dist
from numgrad.distributed.nn import functional as F  # noqa: N812 - PyTorch's name

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
x = numgrad.full((3,), rank + 1.0, device="cuda")
dist.all_reduce(x)
assert x.tolist() == [3.0] * 3
x = numgrad.full((2, 3), float(rank), device="cuda").t()
dist.broadcast(x, 1)
assert x.tolist() == [[1.0] * 2] * 3
found = [numgrad.empty(2, device="cuda") for _ in range(size)]
dist.all_gather(found, numgrad.full((2,), float(rank), device="cuda"))
assert [each.tolist() for each in found] == [[0.0] * 2, [1.0] * 2]
x = numgrad.ones(2, device="cuda", dtype=numgrad.bfloat16)
work = dist.all_reduce(x, async_op=True)
work.wait()
assert x.tolist() == [2.0] * 2
x = numgrad.ones(3, device="cuda", requires_grad=True)
(F.all_reduce(x * (rank + 1)) * (rank + 1)).sum().backward()
assert x.grad.is_cuda
assert x.grad.tolist() == [3.0 * (rank + 1)] * 3
dist.barrier()
if rank == 0:
    print(f"{size} ranks have checked the gpu")
