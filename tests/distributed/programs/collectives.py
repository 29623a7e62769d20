"""Checks of the collectives and messages against NumPy: run by ``together.py`` with three ranks."""

import time
import warnings
from datetime import timedelta

import numpy as np
import pytest
import world

import numgrad
import numgrad.distributed as dist
from numgrad.core.types import dtype as dtypes
from numgrad.utils.data.workers import context_of

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    dist.init_process_group("gloo", timeout=timedelta(seconds=60), communicator=world.ranks)
    rank, size = dist.get_rank(), dist.get_world_size()
    assert ["uses MPI as the backend 'gloo'" in str(each.message) for each in said] == [True] * (rank == 0)
dist.destroy_process_group()
assert not dist.is_initialized()
dist.init_process_group("nccl", communicator=world.ranks)  # says nothing again
assert (dist.get_backend(), dist.get_process_group_ranks()) == ("mpi", [*range(size)])

Op = dist.ReduceOp


def of_rank(other, dtype, is_strided=False):
    """A tensor that every rank knows; a transposed one with ``is_strided``."""
    x = numgrad.tensor(((np.arange(6).reshape(2, 3) + other) % 4).tolist(), dtype=dtype)
    return x.t() if is_strided else x


def numbers(x):
    return np.array(x.tolist())


def check(found, expected):
    assert np.array_equal(numbers(found), expected), (found, expected)


strided = numgrad.bool, numgrad.bfloat16, numgrad.complex64  # copied by one function
for dtype in dtypes.named.values():
    for is_strided in (False, True) if dtype in strided else (False,):
        every = [numbers(of_rank(other, dtype, is_strided)) for other in range(size)]
        x = of_rank(rank, dtype, is_strided)
        dist.all_reduce(x)
        check(x, sum(every) != 0 if dtype is numgrad.bool else sum(every))
        x = of_rank(rank, dtype, is_strided)
        dist.broadcast(x, size - 1)
        check(x, every[-1])
        found = numgrad.zeros(3 * size, 2, dtype=dtype) if is_strided else numgrad.zeros(2, 3 * size, dtype=dtype).t()
        part = of_rank(rank, dtype, True)
        dist.all_gather_into_tensor(found, part)
        check(found, np.concatenate([numbers(of_rank(other, dtype, True)) for other in range(size)]))

floats = [numgrad.float16, numgrad.bfloat16, numgrad.float32, numgrad.float64]
for op, function, types in [
    (Op.PRODUCT, np.prod, [numgrad.int32, *floats, numgrad.complex64]), (Op.AVG, np.mean, [*floats, numgrad.complex64]),
    (Op.MIN, np.min, [numgrad.uint8, *floats]), (Op.MAX, np.max, [numgrad.int64, *floats]),
    (Op.BAND, np.bitwise_and.reduce, [numgrad.int16]), (Op.BXOR, np.bitwise_xor.reduce, [numgrad.int16]),
]:
    for dtype in types:
        x = of_rank(rank, dtype)
        every = np.stack([numbers(of_rank(other, dtype)) for other in range(size)])
        every = every.real.astype(int) if dtype is numgrad.int16 else every
        dist.reduce(x, 0, op)
        expected = function(every, 0) if rank == 0 else every[rank]
        assert np.allclose(numbers(x), expected, rtol=2**-8 if dtype.itemsize == 2 else 1e-6), (op, dtype)
x = numgrad.tensor([numgrad.nan if rank == size - 1 else 1.0, float(rank)])
dist.all_reduce(x, Op.MAX)
assert x[0].isnan()
assert x[1] == size - 1

# lists, whose tensors may have different sizes
every = [numgrad.arange(3.0 * other + 2) + 10 * other for other in range(size)]
found = [numgrad.empty(3 * other + 2) for other in range(size)]
dist.all_gather(found, every[rank])
assert all(map(numgrad.equal, found, every))
found = [numgrad.empty(3 * other + 2) for other in range(size)] if rank == size - 1 else None
dist.gather(every[rank], found, size - 1)
assert found is None or all(map(numgrad.equal, found, every))
x = numgrad.empty(3 * rank + 2)
dist.scatter(x, every if rank == 0 else None)
assert numgrad.equal(x, every[rank])
dist.reduce_scatter(x, every)
assert numgrad.equal(x, size * every[rank])
x = numgrad.empty(2)
dist.reduce_scatter_tensor(x, numgrad.arange(2.0 * size), Op.AVG)
assert x.tolist() == [2 * rank, 2 * rank + 1]
found = [numgrad.empty(rank + 1) for _ in range(size)]
dist.all_to_all(found, [numgrad.full((other + 1,), 10.0 * rank + other) for other in range(size)])
assert [each.tolist() for each in found] == [[10.0 * other + rank] * (rank + 1) for other in range(size)]
x = numgrad.empty(size * (rank + 1))
joined = numgrad.cat([numgrad.full((other + 1,), 10.0 * rank + other) for other in range(size)])
dist.all_to_all_single(x, joined, [rank + 1] * size, [other + 1 for other in range(size)])
assert numgrad.equal(x, numgrad.cat(found))

# tensors that share memory
x = numgrad.full((2 * size,), float(rank))
own = x[2 * rank : 2 * rank + 2]
dist.all_gather_single(x, own)
assert x.tolist() == [float(other) for other in range(size) for _ in range(2)]
dist.reduce_scatter_single(own, x)
assert own.tolist() == [size * rank] * 2
x = numgrad.full((size,), float(rank))
dist.all_to_all_single(x, x)
assert x.tolist() == [*range(size)]

# messages and handles
following, preceding = (rank + 1) % size, (rank - 1) % size
if size > 1:
    x = numgrad.empty(4, 3).t()
    works = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, numgrad.full((3, 4), float(rank)), following), dist.P2POp(dist.irecv, x, preceding),
    ])
    assert all(work.wait() and work.is_completed() for work in works)
    assert (x == preceding).all()
    work = dist.isend(numgrad.tensor([rank], dtype=numgrad.bfloat16), following, tag=5)
    x = numgrad.empty(1, dtype=numgrad.bfloat16)
    assert dist.recv(x, tag=5) == preceding == x
    work.wait()
    work = dist.isend(numgrad.ones(2), following)
    with pytest.raises(dist.DistBackendError, match=f"3 elements of torch.float32, and rank {preceding} has sent 2"):
        dist.recv(numgrad.empty(3), preceding)
    work.wait()
    for number in range(9):  # without handles
        dist.isend(numgrad.full((100_000,), float(number)), following)
    others = [numgrad.full((100_000,), -1.0) for _ in range(9)]  # in memory that may be free
    for number in range(9):
        dist.recv(others[number], preceding)
        assert (others[number] == number).all()
x, y = numgrad.ones(3), numgrad.ones(3)
works = [dist.all_reduce(x, async_op=True), dist.all_reduce(y, Op.AVG, async_op=True), dist.barrier(async_op=True)]
for work in works:
    work.wait()
assert (x == size).all()
assert (y == 1).all()

# objects
found = [None] * size
dist.all_gather_object(found, {"rank": rank, "tensor": numgrad.ones(rank)})
assert [(each["rank"], len(each["tensor"])) for each in found] == [(other, other) for other in range(size)]
found = [rank, "a" * rank]
dist.broadcast_object_list(found, size - 1)
assert found == [size - 1, "a" * (size - 1)]
found = [None] * size if rank == 0 else None
dist.gather_object("b" * rank, found)
assert rank or found == ["b" * other for other in range(size)]
mine = [None]
dist.scatter_object_list(mine, found)
assert mine == ["b" * rank]
if size > 1 and rank < 2:
    mine = [None] * 2
    dist.send_object_list(["c", 1], 1) if rank == 0 else dist.recv_object_list(mine)
    assert rank == 0 or mine == ["c", 1]

# groups: ranks in arguments are those of the world
parts = [[other] for other in range(size)]
for own, every in dist.new_subgroups(1), dist.new_subgroups_by_enumeration(parts):
    assert dist.get_process_group_ranks(own) == [rank]
    assert [dist.get_rank(each) for each in every] == [0 if other == rank else -1 for other in range(size)]
    for each in every:
        dist.destroy_process_group(each)
with pytest.MonkeyPatch.context() as environment:
    environment.setenv("LOCAL_WORLD_SIZE", str(size))
    assert dist.get_process_group_ranks(dist.new_subgroups()[0]) == [*range(size)]  # on one machine
assert (dist.new_subgroups_by_enumeration([[0]])[0] is None) == (rank > 0)
for message, call in [
    (f"{size} ranks cannot be divided into groups of {size + 1}", lambda: dist.new_subgroups(size + 1)),
    ("each rank must be in one of the lists at most", lambda: dist.new_subgroups_by_enumeration([[0], [0]])),
]:
    with pytest.raises(ValueError, match=message):
        call()
group = dist.new_group([size - 1, 0] if size > 1 else [0])
if rank in (0, size - 1):
    assert dist.get_rank(group) == (1 if rank else 0)
    x = numgrad.full((2,), float(rank))
    dist.broadcast(x, size - 1, group)
    assert (x == size - 1).all()
    dist.all_reduce(x, group=group)
    assert (x == (size - 1) * len({0, size - 1})).all()
else:
    assert group == dist.GroupMember.NON_GROUP_MEMBER
    assert dist.get_rank(group) == -1
    with pytest.warns(UserWarning, match=r"gather_object\(\) is called on a rank that does not belong to the group"):
        dist.gather_object("d", group=group)
dist.destroy_process_group(group)
group = dist.new_group([*range(size)][::-1], sort_ranks=False)
assert dist.get_rank(group) == size - 1 - rank
found = numgrad.empty(size)
dist.all_gather_into_tensor(found, numgrad.tensor(float(rank)), group)
assert found.tolist() == [*range(size)][::-1]
group = dist.new_group([size - 1])
if rank == size - 1 > 0:  # the root is rank 0 of the world by default
    for call in (
        lambda: dist.gather(x, [x], group=group), lambda: dist.scatter(x, [x], group=group),
        lambda: dist.gather_object(1, [1], group=group), lambda: dist.broadcast_object_list([1], group=group),
        lambda: dist.scatter_object_list([1], [1], group=group),
    ):
        with pytest.raises(ValueError, match="Global rank 0 is not part of group"):
            call()

# changes in place are seen by autograd
x = numgrad.ones(2, requires_grad=True)
y = x * 2
squares = y * y
dist.all_reduce(y)
with pytest.raises(RuntimeError, match=r"all_reduce\(\) changes a tensor in place and is not differentiable"):
    y.sum().backward()
with pytest.raises(RuntimeError, match="modified by an inplace operation"):
    squares.sum().backward()

# wrong arguments
for error, message, call in [
    (RuntimeError, "more than one element", lambda: dist.all_reduce(numgrad.ones(1).expand(3))),
    (ValueError, "ReduceOp.MAX is not defined for complex tensors, such as those of torch.complex64",
     lambda: dist.all_reduce(numgrad.ones(2, dtype=numgrad.complex64), Op.MAX)),
    (TypeError, r"a reduction is a ReduceOp, such as ReduceOp.SUM, not \[1\]", lambda: dist.all_reduce(x, [1])),
    (ValueError, "<ReduceOp.BOR: 'bor'> has no derivative", lambda: dist.nn.functional.all_reduce(x, Op.BOR)),
    (TypeError, r"all_reduce\(\) expects tensors, not int", lambda: dist.all_reduce(3)),
    (ValueError, "tensors of one dtype, not of torch.float64, torch.float32",
     lambda: dist.all_gather_into_tensor(numgrad.ones(size, dtype=numgrad.float64), numgrad.ones(1))),
    (ValueError, "Global rank 9 is not part of group", lambda: dist.broadcast(numgrad.ones(1), 9)),
    (ValueError, r"output_tensor of shape \[3, 5\] must have 3 times as many elements",
     lambda: dist.all_gather_into_tensor(numgrad.ones(3, 5), numgrad.ones(3))),
    (ValueError, "a rank sends no message to itself", lambda: dist.send(numgrad.ones(1), rank)),
    (TypeError, "cannot be interpreted as an integer", lambda: dist.isend(numgrad.ones(1), following, tag=0.5)),
    (ValueError, "must be specified on destination rank", lambda: dist.gather(numgrad.ones(1), dst=rank)),
    (TypeError, "type datetime.timedelta, got 3", lambda: dist.new_group(timeout=3)),
    (ValueError, "initialize the default process group twice", dist.init_process_group),
]:
    with pytest.raises(error, match=message):
        call()
compiled = numgrad.compile(lambda x: dist.all_reduce(x) or x + 1)
for number in 1.0, 2.0:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (compiled(numgrad.full((2,), number)) == number * size + 1).all()

# ranks that are late
x = numgrad.ones(1)
if rank == 0:
    with pytest.raises(dist.DistBackendError) as raised:
        dist.monitored_barrier(timeout=timedelta(seconds=0.8))
    assert "after 0.8 s: rank 0 waits; missing: rank 1 waits in recv (collectives.py, line" in str(raised.value)
    assert "rank 2 does not answer: it computes, or hangs" in str(raised.value)
    dist.send(x, 1)
else:
    dist.recv(x, 0) if rank == 1 else time.sleep(4)
    dist.barrier()
assert context_of(None).get_start_method() == "spawn"
dist.barrier()
dist.destroy_process_group()
if rank == 0:
    print(f"{size} ranks have checked the collectives")
