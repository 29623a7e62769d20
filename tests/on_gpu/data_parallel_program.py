"""Training by several processes on GPUs, as in the simulator: prints the parameters, the same ones on all ranks."""

import numgrad as torch
import numgrad.distributed as dist
from numgrad import nn
from numgrad.nn.parallel import DistributedDataParallel

if __name__ == "__main__":
    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", dist.get_node_local_rank() % torch.cuda.device_count())
    torch.manual_seed(rank)
    module = nn.Linear(3, 2).to(device)
    model = DistributedDataParallel(module, device_ids=[device])
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(4, 3, generator=generator), torch.randint(2, (4,), generator=generator)
    nn.functional.cross_entropy(model(x[rank::size].to(device)), y[rank::size].to(device)).backward()
    found = torch.cat([module.weight, module.weight.grad]).detach()
    every = [torch.empty_like(found) for _ in range(size)]
    dist.all_gather(every, found)
    assert all(torch.equal(found, other) for other in every)
    if rank == 0:
        print(found.tolist())
    dist.destroy_process_group()
