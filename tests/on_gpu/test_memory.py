"""The allocator of a GPU's memory: it divides segments, reuses pieces, and counts."""

import gc
import itertools
import random
import threading

import numpy as np
import pytest

import numgrad

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def allocator(cuda):
    """An allocator of its own for GPU 0."""
    from numgrad.devices.cuda.caching import Allocator

    made = Allocator(0)
    yield made
    gc.collect()
    made.empty_cache()
    assert made.counts.reserved == 0


def bytes_from(allocator, size, stream):
    (buffer,) = allocator.allocate([(size, size, np.dtype(np.uint8))], stream)
    return buffer


@pytest.fixture
def take(cuda, allocator):
    return lambda size: bytes_from(allocator, size, cuda.memory.stream(0))


def test_buffers_allocated_together_have_memory_of_their_own(cuda, allocator):
    wanted = [(24, 3, np.dtype(np.float64)), (2 * MIB, MIB // 2, np.dtype(np.float32)), (24, 3, np.dtype(np.int64))]
    buffers = allocator.allocate(wanted, cuda.memory.stream(0))
    assert [(each.nbytes, each.size, each.dtype) for each in buffers] == wanted
    first, _, last = [each.address for each in buffers]
    assert last == first + 512
    del buffers[0]
    assert allocator.settle().counts.requested == 24 + 2 * MIB
    assert allocator.allocate(wanted[:1], cuda.memory.stream(0))[0].address == first


def test_buffers_are_on_the_pieces_of_those_before_unless_these_are_in_use(cuda, allocator, take):
    stream, side, wanted = cuda.memory.stream(0), cuda.runtime.pooled_stream(0), [(8, 1, np.dtype(np.float64))] * 3
    buffers = allocator.allocate(wanted, stream)
    addresses, pieces = [each.address for each in buffers], [each.block.piece for each in buffers]
    del buffers[1]
    del buffers[:]
    buffers = allocator.allocate_again(wanted, pieces, stream)
    assert [each.address for each in buffers] == addresses
    del buffers[::2]
    again = allocator.allocate_again(wanted, pieces, stream)
    assert [each.address == before for each, before in zip(again, addresses, strict=True)] == [True, False, True]
    del again
    others = allocator.allocate_again(wanted, pieces, side)
    assert not {each.address for each in others} & set(addresses)
    assert allocator.settle().counts.blocks == 4


def test_sizes_are_multiples_of_512(allocator, take):
    blocks = [take(size) for size in (1, 512, 513)]
    assert (allocator.counts.bytes, allocator.counts.requested, allocator.counts.blocks) == (2048, 1026, 3)
    first, second, third = (block.address for block in blocks)
    assert (second - first, third - second) == (512, 512)
    assert first % 256 == 0


@pytest.mark.parametrize(
    ("size", "reserved"),
    [
        (1, 2 * MIB), (MIB, 2 * MIB), (MIB + 1, 20 * MIB), (10 * MIB - 512, 20 * MIB), (10 * MIB, 10 * MIB),
        (10 * MIB + 1, 12 * MIB),
    ],
)  # fmt: skip
def test_segments(allocator, take, size, reserved):
    block = take(size)
    assert allocator.counts.reserved == reserved
    assert allocator.counts.segments == 1
    assert block.address


def test_a_freed_piece_is_given_to_the_next_of_its_size(allocator, take):
    first, second = take(1000), take(1000)
    address = first.address
    del first
    assert take(600).address == address  # 1024 bytes, too
    assert second.address == address + 1024


def test_the_smallest_piece_that_is_large_enough_is_cut(allocator, take):
    blocks = [take(size * KIB) for size in (64, 1, 8, 1, 32, 1)]
    addresses = [block.address for block in blocks]
    del blocks[4], blocks[2], blocks[0]
    small = [take(4 * KIB) for _ in range(3)]
    assert [block.address for block in small] == [addresses[2], addresses[2] + 4 * KIB, addresses[4]]


def test_free_neighbours_are_merged(allocator, take):
    blocks = [take(MIB // 2) for _ in range(4)]  # a whole segment
    addresses = [block.address for block in blocks]
    del blocks[1:3]
    assert take(MIB).address == addresses[1]
    assert allocator.counts.segments == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_a_segment_is_whole_again_in_whatever_order_its_pieces_end(allocator, take, order):
    blocks = {place: take(size) for place, size in enumerate((3 * MIB, 5 * MIB, 7 * MIB))}
    start = blocks[0].address
    for place in order:
        del blocks[place]
    assert take(9 * MIB + MIB // 2).address == start
    assert allocator.counts.reserved == 20 * MIB


def test_a_large_piece_is_not_cut_for_a_remainder_of_up_to_1_mib(allocator, take):
    whole = take(12 * MIB)
    address = whole.address
    del whole
    close = take(11 * MIB)
    assert (close.address, allocator.counts.bytes) == (address, 12 * MIB)
    del close
    smaller = take(11 * MIB - 512)
    assert (smaller.address, allocator.counts.bytes) == (address, 11 * MIB - 512)


def test_small_and_large_pieces_lie_in_segments_of_their_own(allocator, take):
    large = take(2 * MIB)
    del large
    small = take(100)
    assert allocator.counts.segments == 2
    pools = {small: allocator.pools(small) for small in (True, False)}
    assert pools[True]["reserved_bytes"] == 2 * MIB
    assert pools[True]["allocated_bytes"] == 512
    assert (pools[True]["inactive_split"], pools[True]["inactive_split_bytes"]) == (1, 2 * MIB - 512)
    assert (pools[False]["reserved_bytes"], pools[False]["allocated_bytes"]) == (20 * MIB, 0)
    assert pools[False]["inactive_split"] == 0
    assert small.address


def test_each_stream_has_pieces_of_its_own(cuda, allocator):
    side = cuda.runtime.pooled_stream(0)
    block = bytes_from(allocator, 1000, cuda.memory.stream(0))
    address = block.address
    del block
    other = bytes_from(allocator, 1000, side)
    assert other.address != address
    assert bytes_from(allocator, 1000, cuda.memory.stream(0)).address == address


def test_memory_used_on_another_stream_comes_back(cuda, allocator, take):
    side = cuda.runtime.pooled_stream(0)
    block = take(1000)
    address = block.address
    block.block.use_on(side)
    block.block.use_on(cuda.memory.stream(0))  # its own: of no consequence
    del block
    cuda.runtime.driver.synchronize(side)
    allocator.settle()
    cuda.runtime.driver.synchronize(side)
    assert take(1000).address == address


def test_counts(allocator, take):
    blocks = [take(1000) for _ in range(3)]
    del blocks[:2]
    counts = allocator.settle().counts
    assert (counts.blocks, counts.blocks_peak, counts.blocks_freed) == (1, 3, 2)
    assert (counts.bytes, counts.bytes_peak, counts.bytes_freed) == (1024, 3072, 2048)
    assert (counts.requested, counts.requested_peak) == (1000, 3000)
    counts.reset_peaks()
    blocks.append(take(1000))
    allocator.settle()
    assert (counts.bytes_peak, counts.reserved_peak) == (2048, 2 * MIB)


def test_the_cache_is_emptied_but_for_segments_that_tensors_lie_in(allocator, take):
    kept = take(100)
    for size in (MIB, MIB, 5 * MIB, 30 * MIB):
        take(size)
    assert allocator.counts.reserved > 30 * MIB
    allocator.empty_cache()
    assert allocator.counts.reserved == 2 * MIB
    assert kept.address


def test_pieces_never_overlap(allocator, take):
    chance = random.Random(0)
    live = {}
    for step in range(2000):
        if live and chance.random() < 0.5:
            del live[chance.choice(list(live))]
        else:
            size = chance.choice([1, 700, 5000, 90_000, MIB - 1, 3 * MIB, 11 * MIB])
            live[step] = size, take(size)
    spans = sorted((block.address, block.address + size) for size, block in live.values())
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    counts = allocator.settle().counts
    assert counts.blocks == len(live)
    assert counts.requested == sum(size for size, _ in live.values())
    assert counts.bytes == sum(allocator.pools(small)["allocated_bytes"] for small in (True, False))


def test_threads_allocate_at_the_same_time(cuda, allocator):
    stream, failures = cuda.memory.stream(0), []

    def work(seed):
        chance, live = random.Random(seed), []
        try:
            for _ in range(300):
                live.append(bytes_from(allocator, chance.choice([100, 3000, 2 * MIB]), stream))
                if len(live) > 5:
                    del live[chance.randrange(5)]
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert allocator.settle().counts.blocks == 0


def test_a_block_may_end_while_another_is_allocated(allocator, take, monkeypatch):
    class Cycle:
        def __init__(self):
            self.me, self.block = self, take(1000)

    for _ in range(50):
        Cycle()
    find = allocator._find

    def find_later(*given):
        gc.collect()  # as it may happen anywhere
        return find(*given)

    monkeypatch.setattr(allocator, "_find", find_later)
    block = take(3 * MIB)
    assert allocator.settle().counts.blocks == 1
    assert block.address


def test_out_of_memory(cuda, allocator, take, monkeypatch):
    kept = take(3 * MIB)
    del kept
    with pytest.raises(numgrad.cuda.OutOfMemoryError) as caught:
        take(1 << 44)
    message = str(caught.value)
    assert message.startswith("CUDA out of memory. Tried to allocate 16384.00 GiB. GPU 0 has a total capacity of ")
    assert "0 bytes is allocated to tensors, and 0 bytes is reserved but" in message  # the cache was emptied
    assert (allocator.retries, allocator.failures) == (1, 1)
    assert take(1000).address


def test_cached_memory_is_freed_before_memory_runs_out(cuda, allocator, take, monkeypatch):
    free = 32 * MIB
    allocate = cuda.runtime.driver.allocate

    def allocate_of_little(size, device):
        if size + allocator.counts.reserved > free:
            raise MemoryError(size)
        return allocate(size, device)

    monkeypatch.setattr(cuda.runtime.driver, "allocate", allocate_of_little)
    take(20 * MIB)
    block = take(30 * MIB)
    assert (allocator.retries, allocator.failures, allocator.counts.reserved) == (1, 0, 30 * MIB)
    assert block.address


def test_rows_of_no_elements_have_no_memory(cuda):
    before = numgrad.cuda.memory_allocated()
    buffer = cuda.memory.empty_buffer(0, np.dtype(np.float32), 0)
    assert (buffer.size, buffer.block) == (0, None)
    assert numgrad.cuda.memory_allocated() == before


def test_views_share_and_keep_memory():
    before = numgrad.cuda.memory_allocated()
    x = numgrad.ones(1000, device="cuda")
    part = x[10:20]
    assert numgrad.cuda.memory_allocated() == before + 4096
    del x
    assert numgrad.cuda.memory_allocated() == before + 4096
    assert part.tolist() == [1] * 10
    del part
    assert numgrad.cuda.memory_allocated() == before
