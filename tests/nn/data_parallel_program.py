"""Checks of ``DistributedDataParallel`` that several processes run together, started by mpiexec.

Each check runs on two ranks, and then on three.
"""

import contextlib
import copy
import dataclasses
import pickle
import re
import time

import numpy as np
import pytest
from mpi4py import MPI

import numgrad as torch
import numgrad.distributed as dist
from numgrad import nn
from numgrad.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from numgrad.distributed.algorithms.ddp_comm_hooks.default_hooks import (
    allreduce_hook,
    bf16_compress_hook,
    bf16_compress_wrapper,
)
from numgrad.nn.functional import cross_entropy
from numgrad.nn.parallel import DistributedDataParallel
from numgrad.utils.checkpoint import checkpoint

FEATURES, CLASSES, BATCH, STEPS = 3, 2, 12, 3
SMALL = 1e-4  # MiB of a bucket, which has one or two parameters


def batches(seed=0, size=BATCH):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(STEPS):
        yield torch.randn(size, FEATURES, generator=generator), torch.randint(CLASSES, (size,), generator=generator)


def own(tensor):
    """This rank's part of a batch."""
    return tensor[dist.get_rank() :: dist.get_world_size()]


def mean_of_ranks(value):
    value = value.detach().clone()
    dist.all_reduce(value, dist.ReduceOp.AVG)
    return value


def network(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, CLASSES))


def train(model, share=lambda tensor: tensor):
    """The losses of some steps, and the parameters after them."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    for x, y in batches():
        loss = cross_entropy(model(share(x)), share(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(mean_of_ranks(loss).item())
    return losses, torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def check_losses_of_one_process():
    expected, expected_parameters = train(network(0))
    found = []
    for options in ({}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}, {"static_graph": True}):
        model = DistributedDataParallel(network(dist.get_rank()), bucket_cap_mb=SMALL, **options)
        assert len(model.reducer.buckets) > 2
        losses, parameters = train(model, own)
        np.testing.assert_allclose(losses, expected, rtol=1e-6)
        np.testing.assert_allclose(parameters, expected_parameters, rtol=1e-5, atol=1e-6)
        found.append(parameters)
    assert all(torch.equal(found[0], other) for other in found)  # the same bits each time
    others = [torch.empty_like(found[0]) for _ in range(dist.get_world_size())]
    dist.all_gather(others, found[0])
    assert all(torch.equal(found[0], other) for other in others)


def check_buckets_follow_the_order_of_gradients():
    class Reversed(nn.Module):
        """A module whose parameters are used in the order opposite to that of their registration."""

        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(FEATURES, FEATURES, bias=False) for _ in range(3)])

        def forward(self, x):
            for layer in reversed(self.layers):
                x = layer(x)
            return x

    model = DistributedDataParallel(Reversed(), bucket_cap_mb=SMALL / 10)
    model(torch.ones(1, FEATURES)).sum().backward()
    assert [bucket.indices for bucket in model.reducer.buckets] == [[0], [1], [2]]


def check_accumulation_without_communication():
    model, alone = DistributedDataParallel(network(0)), network(0)
    parts = [*batches()]
    for x, y in parts:
        cross_entropy(alone(x), y).backward()
    with model.no_sync():
        for x, y in parts[:-1]:
            cross_entropy(model(own(x)), own(y)).backward()
    cross_entropy(model(own(parts[-1][0])), own(parts[-1][1])).backward()
    for parameter, other in zip(model.parameters(), alone.parameters(), strict=True):
        np.testing.assert_allclose(parameter.grad, other.grad, rtol=1e-5, atol=1e-6)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleList([nn.Linear(1, 1, bias=False) for _ in range(3)])

    def forward(self, x, branch):
        return self.branches[branch](x)


def check_unused_parameters():
    rank, size = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(Branches(), find_unused_parameters=True, bucket_cap_mb=SMALL / 100)
    model(torch.full((1, 1), 6.0), min(rank, 1)).sum().backward()
    gradients = [branch.weight.grad for branch in model.module.branches]
    assert [None if each is None else each.item() for each in gradients] == [6 / size, 6 * (size - 1) / size, None]

    model = DistributedDataParallel(Branches())
    model(torch.ones(1, 1), 0).sum().backward()
    with pytest.raises(RuntimeError, match=re.escape("no gradient has reached branches.1.weight, branches.2.weight")):
        model(torch.ones(1, 1), 0)


def check_calls_between_forward_and_backward():
    x, mean = torch.full((1, 1), 1.0 + dist.get_rank()), (1 + dist.get_world_size()) / 2
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    out = model(x)
    with torch.no_grad():
        model(x)
    with model.no_sync():
        other = model(x)
    (out + other).sum().backward()
    assert model.module.weight.grad.item() == 2 * mean
    first, second = model(x), model(x)
    first.sum().backward()
    with pytest.warns(UserWarning, match="the gradient of weight is not averaged"):
        second.sum().backward()


@dataclasses.dataclass
class Outputs:
    first: torch.Tensor


def check_which_parameters_are_unused():
    x, mean = torch.full((1, 1), 1.0 + dist.get_rank()), (1 + dist.get_world_size()) / 2
    for options in ({"find_unused_parameters": True}, {"static_graph": True}):
        model = DistributedDataParallel(Branches(), bucket_cap_mb=SMALL / 100, **options)
        with model.no_sync():
            model(x, 1).sum().backward()  # is averaged with the next pass, which does not use it
        model(x, 0).sum().backward()
        assert [each.weight.grad and each.weight.grad.item() for each in model.module.branches] == [mean, mean, None]
        with pytest.raises(RuntimeError, match=re.escape("another gradient of branches.2.weight has come")):
            (model(x, 0) + model.module.branches[2].weight).sum().backward()

    class Wrapped(Branches):
        def forward(self, x, branch):
            return [Outputs(super().forward(x, branch))]

    model = DistributedDataParallel(Wrapped(), find_unused_parameters=True)
    model(x, 0)[0].first.sum().backward()
    assert model.module.branches[0].weight.grad.item() == mean


def check_which_parameters_are_averaged():
    module = network(0)
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, ["2.bias"])
    nn.init.constant_(module[2].bias, dist.get_rank())
    model = DistributedDataParallel(module)
    model(torch.full((1, FEATURES), 1.0 + dist.get_rank())).square().sum().backward()
    assert module[2].bias[0] == dist.get_rank()
    assert torch.allclose(mean_of_ranks(module[0].bias.grad), module[0].bias.grad)
    assert not torch.allclose(mean_of_ranks(module[2].bias.grad), module[2].bias.grad)

    model.double()
    model(torch.full((1, FEATURES), 1.0 + dist.get_rank(), dtype=torch.float64)).square().sum().backward()
    assert {bucket.buffer().dtype for bucket in model.reducer.buckets} == {torch.float64}

    frozen = network(0)
    frozen[0].requires_grad_(False)
    model = DistributedDataParallel(frozen)
    frozen[0].requires_grad_(True)
    with pytest.raises(RuntimeError, match=re.escape("0.weight requires a gradient, which would not be averaged")):
        model(torch.ones(1, FEATURES))
    model = DistributedDataParallel(network(0))
    model.requires_grad_(False)
    model(torch.ones(1, FEATURES))  # as the other network of two that train in turn
    model.module[2].requires_grad_(True)
    with pytest.raises(RuntimeError, match=re.escape("0.weight no longer requires a gradient")):
        model(torch.ones(1, FEATURES))
    model = DistributedDataParallel(network(0))
    with pytest.raises(RuntimeError, match=r"the gradient of .*, which has a graph"):
        model(torch.ones(1, FEATURES)).sum().backward(create_graph=True)


def check_arguments():
    for name in "mixed_precision", "device_mesh", "delay_all_reduce_named_params", "bucket_cap_mb_list":
        with pytest.raises(NotImplementedError, match=f"does not implement {name}: "):
            DistributedDataParallel(network(0), **{name: []})
    rank = dist.get_rank()
    for options, at_first in ({"broadcast_buffers": False}, rank), ({"forward_sync_buffers": False}, 0):
        module = nn.BatchNorm1d(1)
        module.running_mean.fill_(rank)
        model = DistributedDataParallel(module, **options)
        assert module.running_mean == at_first
        model(torch.full((2, 1), float(rank)))
        np.testing.assert_allclose(module.running_mean.item(), 0.9 * at_first + 0.1 * rank, rtol=1e-6)


def check_checkpoints():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
            nn.init.ones_(self.first.weight)
            nn.init.ones_(self.second.weight)

        def forward(self, x):
            x = self.first(x)
            for _ in range(2):
                x = checkpoint(self.second, x, use_reentrant=True)
            return x

    x, mean = torch.full((1, 1), 1.0 + dist.get_rank()), (1 + dist.get_world_size()) / 2
    model = DistributedDataParallel(Twice(), static_graph=True, bucket_cap_mb=SMALL / 100)
    for _ in range(3):
        model.zero_grad()
        model(x).sum().backward()
        assert [parameter.grad.item() for parameter in model.parameters()] == [mean, 2 * mean]
    model = DistributedDataParallel(Twice())
    with pytest.raises(RuntimeError, match=re.escape("another gradient of second.weight has come")):
        model(x).sum().backward()


def check_uneven_inputs():
    rank, size = dist.get_rank(), dist.get_world_size()
    for all_ranks in True, False:
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False), bucket_cap_mb=SMALL)
        nn.init.zeros_(model.module.weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        with model.join(divide_by_initial_world_size=all_ranks):
            for _ in range(rank + 1):
                optimizer.zero_grad()
                model(torch.ones(1, 1)).sum().backward()
                optimizer.step()
        # in step k, size - k ranks have an input, and each of their gradients is 1
        steps = sum((size - k) / size for k in range(size)) if all_ranks else size
        np.testing.assert_allclose(model.module.weight.item(), -steps, rtol=1e-6)

    normalized = DistributedDataParallel(nn.BatchNorm1d(1))  # whose buffers are sent only by calls that synchronize
    with normalized.join():
        for number in range(rank + 1):
            with contextlib.nullcontext() if number == 0 else normalized.no_sync():
                normalized(torch.ones(2, 1)).sum().backward()

    def train_until_one_ends():
        with model.join(throw_on_early_termination=True):
            for _ in range(rank + 1):
                model(torch.ones(1, 1)).sum().backward()

    message = "Rank 0 exhausted all inputs" if rank == 0 else "at least one rank that exhausted inputs"
    with pytest.raises(RuntimeError, match=message):
        train_until_one_ends()


def check_communication_hooks():
    gradients = []
    for hook in None, allreduce_hook, bf16_compress_hook, bf16_compress_wrapper(allreduce_hook):
        model = DistributedDataParallel(network(0), bucket_cap_mb=SMALL)
        if hook is not None:
            model.register_comm_hook(None, hook)
        x, y = next(batches())
        cross_entropy(model(own(x)), own(y)).backward()
        gradients.append(torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()]))
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-5, atol=1e-7)
    assert not torch.equal(gradients[2], gradients[0])
    assert torch.equal(gradients[2], gradients[3])
    np.testing.assert_allclose(gradients[2], gradients[0], atol=float(gradients[0].abs().max()) / 64)

    def hook_in_pytorchs_style(state, bucket: dist.GradBucket):
        bucket.set_buffer(bucket.buffer().double() * state)
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda future: future.value()[0] / 8)

    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    model.register_comm_hook(4.0, hook_in_pytorchs_style)
    for _ in range(2):
        model.zero_grad()
        model(torch.ones(1, 1)).sum().backward()
        assert model.module.weight.grad.item() == dist.get_world_size() / 2

    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    model.register_comm_hook(None, noop_hook)
    model(torch.full((1, 1), float(dist.get_rank()))).sum().backward()
    assert model.module.weight.grad.item() == dist.get_rank()


def check_statistics_of_all_ranks():
    """SyncBatchNorm of parts is BatchNorm of the whole, with first and second derivatives."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    layer = nn.BatchNorm1d(3, dtype=torch.float64)
    nn.init.normal_(layer.weight)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(copy.deepcopy(layer)))
    whole = torch.randn(2 + 5 * size, 3, 4, dtype=torch.float64, requires_grad=True)
    factor = torch.randn(2 + 5 * size, 3, 4, dtype=torch.float64)
    mine = slice(0, 7) if rank == 0 else slice(2 + 5 * rank, 7 + 5 * rank)  # parts of different sizes
    part = whole.detach()[mine].requires_grad_()
    of_whole, of_part = layer(whole), model(part)
    np.testing.assert_allclose(of_part.detach(), of_whole.detach()[mine], rtol=1e-12, atol=1e-13)
    for name in "running_mean", "running_var", "num_batches_tracked":
        np.testing.assert_allclose(getattr(model[0], name), getattr(layer, name), rtol=1e-12)
    (slope,) = torch.autograd.grad((of_whole * factor).sum(), whole, create_graph=True)
    (own_slope,) = torch.autograd.grad((of_part * factor[mine]).sum(), part, create_graph=True)
    np.testing.assert_allclose(own_slope.detach(), slope.detach()[mine], rtol=1e-9, atol=1e-12)
    (slope * factor.cos()).sum().backward()
    (own_slope * factor[mine].cos()).sum().backward()
    np.testing.assert_allclose(part.grad, whole.grad[mine], rtol=1e-8, atol=1e-11)


def check_buffers_and_copies():
    model = DistributedDataParallel(nn.BatchNorm1d(1))
    assert model.will_sync_module_buffers()
    model(torch.full((2, 1), float(dist.get_rank())))
    model(torch.zeros(2, 1))  # begins with the running mean of rank 0
    assert model.module.running_mean.item() == 0
    assert next(iter(model.state_dict())) == "module.weight"
    for other in pickle.loads(pickle.dumps(model)), copy.deepcopy(model):
        other(torch.tensor([[0.0], [1.0 + dist.get_rank()]])).sum().backward()
        assert torch.equal(mean_of_ranks(other.module.bias.grad), other.module.bias.grad)
        assert model.module.bias.grad is None


def check_groups():
    ranks = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
    model = DistributedDataParallel(nn.Linear(1, 1), process_group=ranks[dist.get_rank()])
    with pytest.raises(RuntimeError, match="default process group"):
        copy.deepcopy(model)
    with pytest.raises(ValueError, match="a group that this process belongs to"):
        DistributedDataParallel(nn.Linear(1, 1), process_group=ranks[dist.get_rank() - 1])
    with pytest.raises(ValueError, match="on the CPU"):
        DistributedDataParallel(nn.Linear(1, 1), device_ids=[0])


def check_sums_of_16_bits_do_not_overflow():
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False, dtype=torch.float16))
    model(torch.full((1, 1), 40_000.0, dtype=torch.float16)).sum().backward()
    np.testing.assert_allclose(model.module.weight.grad.item(), 40_000, rtol=1e-3)


def check_compiled_programs():
    """The module, the wrapper, the loss and the step may be compiled, and the losses have the same bits."""

    def losses(compiled=""):
        module = network(0)
        model = DistributedDataParallel(torch.compile(module) if compiled == "module" else module, bucket_cap_mb=SMALL)
        model = torch.compile(model) if compiled == "wrapper" else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

        def loss_of(x, y):
            return cross_entropy(model(x), y)

        def step(x, y):
            optimizer.zero_grad()
            loss = compute(x, y)
            loss.backward()
            update()
            return loss

        compute = torch.compile(loss_of) if compiled == "loss_of" else loss_of
        update = torch.compile(optimizer.step) if compiled == "wrapper" else optimizer.step
        step = torch.compile(step) if compiled == "step" else step
        return [mean_of_ranks(step(own(x), own(y))).item() for _ in range(2) for x, y in batches()]

    expected = losses()
    assert losses("module") == losses("wrapper") == expected
    for compiled in "loss_of", "step":
        with pytest.warns(UserWarning, match=f"{compiled} cannot be compiled as a whole: DistributedDataParallel"):
            assert losses(compiled) == expected


def check_models_that_differ():
    with pytest.raises(RuntimeError, match=re.escape("rank 1 has ('weight', (2, 1)")):
        DistributedDataParallel(nn.Linear(1, 1 + dist.get_rank()))
    model = nn.Linear(2, 3, bias=False)
    if dist.get_rank() == 1:
        model.weight.data = model.weight.data.t().contiguous().t()
    message = "rank 1 has ('weight', (3, 2), 'torch.float32', 'strides (1, 3)'), and rank 0 has ('weight', (3, 2)"
    with pytest.raises(RuntimeError, match=re.escape(message)):
        DistributedDataParallel(model)


def check_shares_of_a_data_set():
    sampler = torch.utils.data.DistributedSampler(range(10), shuffle=False)
    assert next(iter(sampler)) == dist.get_rank()


def check_programs_that_are_older_than_the_group():
    x = torch.randn(4, 3) + dist.get_rank()
    with pytest.warns(UserWarning, match="SyncBatchNorm cannot be compiled as a whole"):
        assert torch.equal(normalize(x), normalize._orig_mod(x))


if __name__ == "__main__":
    world = MPI.COMM_WORLD
    for ranks in 2, 3:
        part = world.Split(world.Get_rank() < ranks)
        if world.Get_rank() < ranks:
            normalize = torch.compile(nn.SyncBatchNorm(3))
            normalize(torch.ones(4, 3))  # records a program before there is a process group
            dist.init_process_group("mpi", communicator=part)
            for name, check in [*globals().items()]:
                if name.startswith("check_"):
                    check()
            dist.destroy_process_group()
            print(f"checked by {ranks}\n", end="", flush=True)
        end = world.Ibarrier()
        while not end.Test():  # leave the processors to those that take part
            time.sleep(0.01)
