"""Calls that differ between ranks: run by ``together.py`` with two and with three ranks."""

import pytest
import world

import numgrad
import numgrad.distributed as dist

dist.init_process_group(communicator=world.ranks)
rank, size = dist.get_rank(), dist.get_world_size()
is_last = rank == size - 1


def ones(count, dtype=None):
    return numgrad.ones(count, dtype=dtype)


def several(*counts):
    return [ones(count) for count in counts]


def differs(call, text):
    """Check that a call in a new group raises an error on all ranks, which has the text of the last rank's call."""
    group = dist.new_group()
    with pytest.raises(dist.DistBackendError, match="the ranks differ in collective number 1 of") as raised:
        call(group)
    assert f"  rank {size - 1}: {text} at mistakes.py, line " in str(raised.value), str(raised.value)
    with pytest.raises(dist.DistBackendError, match="cannot be used any more, because the ranks differ"):
        dist.barrier(group)


differs(lambda group: dist.all_reduce(ones(2 + is_last), group=group), "all_reduce(torch.float32 [3], op=SUM)")
differs(lambda group: dist.all_reduce(ones(20000 - is_last), group=group), "all_reduce(torch.float32 [19999], op=SUM)")
differs(
    lambda group: dist.all_reduce(ones(2, numgrad.int32 if is_last else None), group=group),
    "all_reduce(torch.int32 [2], op=SUM)",
)
differs(
    lambda group: dist.all_reduce(ones(2), dist.ReduceOp.MAX if is_last else dist.ReduceOp.SUM, group),
    "all_reduce(torch.float32 [2], op=MAX)",
)
differs(
    lambda group: dist.barrier(group) if is_last else dist.all_reduce(ones(2), group=group).wait(), "barrier()"
)
differs(
    lambda group: dist.broadcast(ones(2), 0, group) if is_last else dist.all_reduce(ones(2), group=group),
    "broadcast(torch.float32 [2], src=0)",
)
differs(lambda group: dist.broadcast(ones(2), int(is_last), group), "broadcast(torch.float32 [2], src=1)")
differs(lambda group: dist.reduce(ones(2), int(is_last), group=group), "reduce(torch.float32 [2], op=SUM, dst=1)")
shapes, zeros = [2] * (size - 1), [0] * (size - 1)
differs(
    lambda group: dist.all_gather(several(*shapes, 3) if is_last else several(*shapes, 2), ones(2 + is_last), group),
    f"all_gather({'torch.float32 [2], ' * (size - 1)}torch.float32 [3])",
)
differs(
    lambda group: dist.all_gather_into_tensor(ones((2 + is_last) * size), ones(2 + is_last), group),
    f"all_gather_into_tensor(torch.float32 [{3 * size}], torch.float32 [3])",
)
differs(
    lambda group: dist.gather(ones(2 - is_last), several(2, *shapes) if rank == 0 else None, group=group),
    "gather(torch.float32 [1], dst=0), which sends [1] elements and expects [],",
)
differs(
    lambda group: dist.scatter(ones(2 + is_last), several(2, *shapes) if rank == 0 else None, group=group),
    "scatter(torch.float32 [3], src=0), which sends [] elements and expects [3],",
)
differs(
    lambda group: dist.reduce_scatter_tensor(ones(1 + is_last), ones((1 + is_last) * size), group=group),
    f"reduce_scatter_tensor(torch.float32 [2], torch.float32 [{2 * size}], op=SUM)",
)
differs(
    lambda group: dist.all_to_all_single(ones(size), ones(size), [*zeros, size] if is_last else None, group=group),
    f"all_to_all_single(torch.float32 [{size}], torch.float32 [{size}]), which sends {[1] * size} elements and expects "
    f"{[*zeros, size]},",
)
for is_awaited_by_future in False, True:
    group = dist.new_group()
    work = dist.all_reduce(ones(1 + is_last), group=group, async_op=True)
    with pytest.raises(dist.DistBackendError, match="the ranks differ"):
        work.get_future().wait() if is_awaited_by_future else work.wait()
    assert work.is_completed()
    assert not work.is_success()

# shapes of one size are equal, unless they are compared before anything is sent
dist.all_reduce(ones(6).view(2 + is_last, -1))
with pytest.MonkeyPatch.context() as environment:
    environment.setenv("NUMGRAD_DISTRIBUTED_DEBUG", "1")
    group = dist.new_group()
with pytest.raises(dist.DistBackendError, match=rf"rank {size - 1}: all_reduce\(torch.float32 \[3, 2\], op=SUM\) at"):
    dist.all_reduce(ones(6).view(2 + is_last, -1), group=group)
x = ones(2)
dist.all_reduce(x, group=group)
assert x.tolist() == [size] * 2

# asynchronous calls that are compared first: the one that differs sends nothing, the others begin in the same order
first, wrong, last = ones(2), ones(30000 + is_last), ones(2)
works = []
if rank == 0:
    dist.barrier()
for x in first, wrong, last:
    works.append(dist.all_reduce(x, group=group, async_op=True))
    if rank == 0 and x is first:
        works[0].wait()
if rank > 0:  # has made all calls before any is complete
    dist.barrier()
works[2].wait()
with pytest.raises(dist.DistBackendError, match=rf"rank {size - 1}: all_reduce\(torch.float32 \[30001\], op=SUM\) at"):
    works[1].wait()
works[0].wait()
assert (first == size).all()
assert (last == size).all()
assert (wrong == 1).all()

# messages
other = 1 - rank
for sent, expected, message in [
    (ones(2, numgrad.int64), ones(4), f"rank {other} has sent elements of torch.int64, not of torch.float32"),
    (ones(5), ones(4), "expected 4 elements of torch.float32, and"),
]:
    for source in other, None:
        group = dist.new_group([0, 1])
        if rank < 2:
            work = dist.isend(sent, other, group, tag=3)
            with pytest.raises(dist.DistBackendError, match=message):
                dist.recv(expected, source, group, tag=3)
for tag in -1, 2**40:
    with pytest.raises(ValueError, match="the tag of a message must be between 0 and"):
        dist.isend(ones(1), (rank + 1) % size, tag=tag)
dist.barrier()
with pytest.raises(dist.DistBackendError, match=r"rank 0: new_group\(ranks=\(0,\)\) at mistakes.py"):
    dist.new_group([rank])
dist.destroy_process_group()
if rank == 0:
    print(f"{size} ranks have checked the mistakes")
