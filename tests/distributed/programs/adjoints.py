"""Checks of the differentiable collectives as linear maps: run by ``together.py`` with four ranks.

They are checked on groups of one, two, three and four ranks.  NumPy has the numbers, so that few kernels are compiled.
"""

import numpy as np
import world

import numgrad
import numgrad.distributed as dist
from numgrad.distributed.nn import functional as F  # noqa: N812 - PyTorch's name
from numgrad.func import jacfwd, jacrev, jvp, vmap

Op = dist.ReduceOp


def random(*shape):
    return numgrad.from_numpy(generator.standard_normal(shape))


def close(x, y):
    return np.allclose(x.detach(), y.detach())


def images(function, inputs):
    result = function(*inputs)
    return result if isinstance(result, tuple) else (result,)


class Maps:
    """Checks on the ranks of a group."""

    def __init__(self, group):
        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.following, self.preceding = (self.rank + 1) % self.size, (self.rank - 1) % self.size

    def inner(self, tensors, others):
        """The inner product of the tensors of all ranks."""
        total = numgrad.tensor(sum(np.vdot(x.detach(), y.detach()) for x, y in zip(tensors, others, strict=True)))
        dist.all_reduce(total, group=self.group)
        return total.item()

    def check(self, name, function, *shapes):
        """Check that the derivatives are the adjoint and the map itself, for contiguous and transposed tensors."""
        for is_transposed in False, True:
            inputs = [random(*shape[::-1]).t() if is_transposed else random(*shape) for shape in shapes]
            for x in inputs:
                x.requires_grad_()
            outputs = images(function, inputs)
            assert all(y.requires_grad for y in outputs), name
            cotangents = [random(*y.shape).requires_grad_() for y in outputs]
            adjoint = numgrad.autograd.grad(outputs, inputs, cotangents, create_graph=True)
            assert abs(self.inner(outputs, cotangents) - self.inner(inputs, adjoint)) < 1e-12, name
            others = [random(*x.shape) for x in inputs]
            expected = images(function, others)
            # the adjoint of the adjoint, and forward mode
            again = numgrad.autograd.grad(adjoint, cotangents, others)
            assert all(map(close, again, expected)), name
            _, tangents = jvp(lambda *each: images(function, each), tuple(inputs), tuple(others))
            assert all(map(close, tangents, expected)), name

    def relay(self, x, template):
        """The tensor of each rank for the next one, by single messages; the first receives none."""
        zero = F.send(x, self.rank + 1, self.group) if self.rank < self.size - 1 else 0 * x.sum()
        received = F.recv(template, self.rank - 1, self.group) if self.rank else 0 * template
        return received + zero

    def check_maps(self):
        n, rank, last, group = self.size, self.rank, self.size - 1, self.group
        shapes = [(other % 3 + 1, 2) for other in range(n)]
        own, rows = shapes[rank], [shape[0] for shape in shapes]
        check = self.check
        check("all_reduce", lambda x: F.all_reduce(x, group=group), (2, 3))
        check("all_reduce, mean", lambda x: F.all_reduce(x, Op.AVG, group), (2, 3))
        check("reduce", lambda x: F.reduce(x, last, group=group), (2, 3))
        check("broadcast", lambda x: F.broadcast(x, last, group), (2, 3))
        check("all_gather", lambda x: F.all_gather(x, group), (2, 3))
        check("all_gather, uneven", lambda x: F.all_gather(x, group, shapes), own)
        check("all_gather_into_tensor", lambda x: F.all_gather_into_tensor(x, group), (2, 3))
        check("all_gather_into_tensor, uneven", lambda x: F.all_gather_into_tensor(x, group, rows), own)
        check("gather", lambda x: F.gather(x, group=group), (2, 3))
        check("gather, uneven", lambda x: F.gather(x, last, group, shapes), own)
        check("scatter", lambda *each: F.scatter(each, last, group), *shapes)
        check("reduce_scatter", lambda *each: F.reduce_scatter(numgrad.empty(own), each, group=group), *shapes)
        check("reduce_scatter_tensor", lambda x: F.reduce_scatter_tensor(x, Op.AVG, group), (2 * n, 3))
        check("reduce_scatter_tensor, uneven", lambda x: F.reduce_scatter_tensor(x, Op.SUM, group, rows),
              (sum(rows), 2))
        awaited = [numgrad.empty(other + 1, rank + 1) for other in range(n)]
        check("all_to_all", lambda *each: F.all_to_all(awaited, each, group), *[(rank + 1, k + 1) for k in range(n)])
        check("all_to_all_single", lambda x: F.all_to_all_single(x, x, group=group), (2 * n, 3))
        awaited = numgrad.empty(n * (rank + 1), 2)
        sizes = [rank + 1] * n, [other + 1 for other in range(n)]
        check("all_to_all_single, uneven", lambda x: F.all_to_all_single(awaited, x, *sizes, group), (sum(sizes[1]), 2))
        check("sendrecv, a ring", lambda x: F.sendrecv(x, self.following, self.preceding, group), (2, 3))
        ends = rank + 1 if rank < last else None, rank - 1 if rank else None
        check("sendrecv, a line", lambda x: F.sendrecv(x, *ends, group, shape=(max(rank, 1), 2)), (rank + 1, 2))
        check("send and recv", self.relay, (2, 3), (2, 3))

    def check_other_reductions(self):
        """Compare derivatives with those of the function of the tensors of all ranks."""
        for op, function in {Op.PRODUCT: numgrad.prod, Op.MAX: numgrad.amax, Op.MIN: numgrad.amin}.items():
            x, weights = random(3).requires_grad_(), random(self.size, 3)
            dist.broadcast(weights, 0, self.group)
            every = F.all_gather_into_tensor(x.unsqueeze(0), self.group).detach().requires_grad_()
            (expected,) = numgrad.autograd.grad((function(every, 0) * weights.sum(0)).sum(), every)
            for result, weight in [
                (F.all_reduce(x, op, self.group), weights[self.rank]), (F.reduce(x, 0, op, self.group), weights.sum(0)),
            ]:
                (found,) = numgrad.autograd.grad((result * weight).sum(), x)
                assert close(found, expected[self.rank]), op
            pieces = random(self.size)
            (own,) = F.reduce_scatter_tensor(pieces, op, self.group)
            assert close(own, F.all_reduce(pieces, op, self.group)[self.rank]), op

    def check_batches(self):
        """Check ``vmap``, and Jacobians, which are computed with it."""
        def ring(x):
            return F.sendrecv(x, self.following, self.preceding, self.group)

        for function in (
            ring, lambda x: F.all_reduce(x, group=self.group), lambda x: F.all_gather_into_tensor(x, self.group),
            lambda x: F.reduce_scatter_tensor(x, group=self.group), lambda x: F.scatter(x.unbind(0), 0, self.group),
            lambda x: self.relay(x, x),
        ):
            x = random(4, self.size, 3)
            assert all(map(close, vmap(function)(x), [function(each) for each in x]))
        for jacobian in jacrev, jacfwd:
            assert np.array_equal(jacobian(ring)(random(3)), np.eye(3))


dist.init_process_group("mpi", communicator=world.ranks)
rank, size = dist.get_rank(), dist.get_world_size()
generator = np.random.default_rng(rank)
for count in range(1, size + 1):
    group = dist.new_group([*range(count)])
    if rank < count:
        maps = Maps(group)
        maps.check_maps()
        maps.check_other_reductions()
        maps.check_batches()

# a rank whose tensor requires no gradient takes part in backward
x = random(3).requires_grad_(rank == 0)
F.broadcast(x, 0).sum().backward()
assert rank or x.grad.tolist() == [size] * 3
x = numgrad.ones(2, dtype=numgrad.complex128, requires_grad=True)
(F.all_reduce(x) * (1 + 1j)).real.sum().backward()
assert x.grad.tolist() == [size * (1 - 1j)] * 2
dist.barrier()
dist.destroy_process_group()
if rank == 0:
    print(f"{size} ranks have checked the adjoints")
