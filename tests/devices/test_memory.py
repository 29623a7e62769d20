"""Blocks of large tensors: used again when free, and never before."""

import threading

import numpy as np
import pytest

import numgrad
from numgrad.devices import memory
from numgrad.devices.memory import ALIGNMENT, GRAIN, LARGE, MemoryPool

FLOAT32 = np.dtype(np.float32)
COUNT = LARGE // FLOAT32.itemsize


def address(buffer):
    return buffer.ctypes.data


def test_a_freed_block_is_used_again():
    pool = MemoryPool()
    buffer = pool.take(COUNT, FLOAT32)
    first = address(buffer)
    del buffer
    assert address(pool.take(COUNT, FLOAT32)) == first


def test_tensors_of_nearly_one_size_share_blocks():
    pool = MemoryPool()
    buffer = pool.take(COUNT + 5, FLOAT32)
    first = address(buffer)
    assert buffer.size == COUNT + 5
    del buffer
    again = pool.take(COUNT + 7, np.dtype(np.int32))
    assert address(again) == first
    assert again.dtype == np.int32


@pytest.mark.parametrize("derive", [
    lambda buffer: buffer[3:5], lambda buffer: buffer.reshape(2, -1).T, lambda buffer: buffer.view("i4"), memoryview,
    lambda buffer: np.frombuffer(buffer, "i4")[1:], lambda buffer: buffer[2:].view(np.recarray)[1:],
])  # fmt: skip
def test_a_block_is_not_used_again_while_a_view_of_it_lives(derive):
    pool = MemoryPool()
    buffer = pool.take(COUNT, FLOAT32)
    first, kept = address(buffer), derive(buffer)
    del buffer
    other = pool.take(COUNT, FLOAT32)
    assert address(other) != first
    assert not np.may_share_memory(other, kept)


def test_rows_start_at_a_cache_line():
    pool = MemoryPool()
    buffers = [pool.take(COUNT + n, FLOAT32) for n in range(3)]
    assert all(address(buffer) % ALIGNMENT == 0 for buffer in buffers)


def test_idle_memory_is_bounded_and_the_longest_idle_goes_first():
    pool = MemoryPool(idle_limit=4 * LARGE)
    sizes = [COUNT + n * GRAIN // 4 for n in range(6)]
    buffers = [pool.take(size, FLOAT32) for size in sizes]
    oldest, newest = buffers[0].size, buffers[-1].size
    del buffers
    before = pool.idle()
    kept = pool.take(COUNT // 4 * 3, FLOAT32)  # a new size: room is made for it
    assert pool.idle() + kept.nbytes <= 4 * LARGE < before
    assert newest * 4 in pool.idle_sizes()
    assert oldest * 4 not in pool.idle_sizes()


def test_release_gives_everything_idle_back():
    pool = MemoryPool()
    kept = pool.take(COUNT, FLOAT32)
    pool.take(COUNT, FLOAT32)
    assert pool.idle() > 0
    pool.release()
    assert pool.idle() == 0
    kept[:] = 1
    assert kept.sum() == COUNT


def test_out_of_memory_frees_what_is_idle_and_tries_again(monkeypatch):
    pool = MemoryPool()
    pool.take(COUNT, FLOAT32)  # and dropped at once
    assert pool.idle() > 0
    make, failures = memory._new_block, [MemoryError()]

    def scarce(size, clock):
        if failures:
            raise failures.pop()
        return make(size, clock)

    monkeypatch.setattr(memory, "_new_block", scarce)
    buffer = pool.take(3 * COUNT, FLOAT32)
    assert buffer.size == 3 * COUNT
    assert pool.idle() == 0


def test_failed_allocations_do_not_count():
    pool = MemoryPool(idle_limit=8 * LARGE)
    with pytest.raises(numgrad.OutOfMemoryError, match=r"allocate 4000000000000000 bytes"):
        pool.take(10**15, FLOAT32)
    pool.take(COUNT, FLOAT32)  # and dropped at once
    assert pool.idle() > 0


def test_threads_never_get_the_same_block():
    pool = MemoryPool()
    wrong = []

    def work(number):
        for _ in range(300):
            buffer = pool.take(COUNT, FLOAT32)
            buffer[:16] = number
            buffer[-16:] = number
            if buffer[:16].max() != number or buffer[-16:].min() != number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_tensor_keeps_its_values_while_others_come_and_go():
    x = numgrad.ones(COUNT * 2)
    view = (x * 3)[5:10]
    array = (x * 4).numpy()
    for _ in range(4):
        x + 1
        x.exp()
    assert view.tolist() == [3.0] * 5
    assert array.min() == array.max() == 4


def test_zeros_are_zero_in_used_memory():
    numgrad.full((COUNT * 2,), 7.0)
    assert numgrad.zeros(COUNT * 2).numpy().max() == 0
