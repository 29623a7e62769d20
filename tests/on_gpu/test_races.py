"""Races: the simulator finds planted ones, and numgrad's kernels have none."""

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import cuda

import numgrad
from numgrad_kernels.cuda import adapter

pytestmark = pytest.mark.simulator  # a GPU does not report races

BEGIN = """
from numgrad_kernels.cuda.adapter import cuda
from numgrad_kernels.cuda.language import atomic_add


def kernel(out):
    part = cuda.shared.array(64, "int64")
    thread = cuda.threadIdx.x
    part[thread] = thread
"""


def run(statements, watch=True, blocks=1):
    """Return the buffer of 64 numbers after a run of a kernel with these statements."""
    from numgrad_kernels.cuda import simulator

    text = BEGIN + "".join(f"    {line}\n" for line in statements)
    launch, buffer = adapter.simulated_kernel("races", text), np.zeros(64, np.int64)
    before, simulator.watch_races = simulator.watch_races, watch
    try:
        launch(blocks, 64, buffer)
    finally:
        simulator.watch_races = before
    return buffer.tolist()


@pytest.mark.parametrize("watch", [True, False])
def test_a_barrier_orders_threads(watch):
    assert run(["cuda.syncthreads()", "out[thread] = part[63 - thread]"], watch) == [*range(63, -1, -1)]
    assert run(["cuda.syncwarp()", "out[thread] = part[thread ^ 31]"], watch)[:2] == [31, 30]


def test_a_missing_barrier_is_found():
    with pytest.raises(RuntimeError, match=r"line 11: thread \d+ of block 0 (reads|writes) part\[\d+\], which thread"):
        run(["cuda.syncthreads()", "part[thread] += part[63 - thread]"])
    with pytest.raises(RuntimeError, match="with no barrier"):  # an element of another warp
        run(["cuda.syncwarp()", "out[thread] = part[63 - thread]"])


def test_blocks_that_write_to_one_element_are_found():
    with pytest.raises(RuntimeError, match=r"thread 0 of block 1 writes out\[0\], which thread 0 of block 0 wrote"):
        run(["if thread == 0:", "    out[0] = 1 + cuda.blockIdx.x"], blocks=2)
    assert run(["out[0] = 1"], blocks=2)[0] == 1  # the same number, whichever thread is last
    assert run(["atomic_add(out, 0, 1)"], blocks=2)[0] == 128


def test_a_barrier_that_not_all_come_to_is_found():
    with pytest.raises(RuntimeError, match=r"wait in different lines .* \[11, 13\]"):
        run(["if thread < 9:", "    cuda.syncthreads()", "else:", "    cuda.syncthreads()"], watch=False)


def test_the_kernels_have_no_races():
    cases = Path(__file__).with_name("race_cases.py")
    done = subprocess.run([sys.executable, "-W", "ignore", cases], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- kernels of users -------------------------------------------------------------------


@cuda.jit
def block_sum(x, out, without):
    """The sum of the numbers of a block; without the barrier before step ``without``, or without any if that is -1."""
    shared = cuda.shared.array(32, np.float32)
    me = cuda.threadIdx.x
    shared[me] = x[me]
    half, step = cuda.blockDim.x // 2, 0
    while half > 0:
        if without != step and without != -1:
            cuda.syncthreads()
        if me < half:
            shared[me] += shared[me + half]
        half, step = half // 2, step + 1
    if me == 0:
        out[0] = shared[0]


@pytest.mark.parametrize("threads", [2, 4, 32])
@pytest.mark.parametrize("numbers", [np.arange, np.zeros, np.ones], ids=lambda function: function.__name__)
def test_a_sum_without_a_barrier_always_fails(threads, numbers):
    x, out = numbers(threads, dtype=np.float32), np.zeros(1, np.float32)
    for without in [-1] * 10 + [*range(threads.bit_length() - 1)]:
        with pytest.raises(RuntimeError, match=r"shared\[\d+\], which thread \d+ (read|wrote) in line \d+, with no ba"):
            block_sum[1, threads](x, out, without)
    block_sum[1, threads](x, out, 99)
    assert out[0] == x.sum()


@cuda.jit
def shift(out, barrier):
    shared = cuda.shared.array(8, np.int32)
    me = cuda.threadIdx.x
    shared[me] = out[me]
    cuda.syncthreads()
    left = shared[me - 1]
    if barrier:
        cuda.syncthreads()
    shared[me] = left
    cuda.syncthreads()
    out[me] = shared[me]


def test_writes_before_other_threads_have_read_are_races():
    for numbers in (np.arange(8), np.ones(8, int)):
        for _ in range(10):
            with pytest.raises(RuntimeError, match=r"shared\[-?\d\], which thread \d (read|wrote)"):
                shift[1, 8](numbers, False)
    numbers = np.arange(8)
    shift[1, 8](numbers, True)
    assert numbers.tolist() == [7, *range(7)]


@cuda.jit
def smooth(x):
    i = cuda.grid(1)
    if 0 < i < x.size:
        x[i] = x[i] + x[i - 1]


def test_neighbours_in_an_argument_are_a_race_within_a_block_and_across_blocks():
    with pytest.raises(RuntimeError, match=r"x\[\d\], which thread \d (read|wrote) in line \d+, with no barrier"):
        smooth[1, 8](np.arange(8))
    with pytest.raises(RuntimeError, match=r"thread 0 of block 2 reads x\[1\], which thread 0 of block 1 wrote"):
        smooth[3, 1](np.arange(3))


@cuda.jit
def histogram(bins, out, before, after):
    counts = cuda.shared.array(4, np.int32)
    me = cuda.threadIdx.x
    counts[me] = 0
    if before:
        cuda.syncthreads()
    for i in range(me, bins.size, cuda.blockDim.x):
        cuda.atomic.add(counts, bins[i], 1)
    if after:
        cuda.syncthreads()
    out[me] = counts[me]


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_atomic_updates_need_barriers_around_them(before, after):
    bins = np.arange(40) // 10
    for _ in range(10):
        with pytest.raises(RuntimeError, match=r"counts\[\d\], which thread \d (updated|wrote|read)"):
            histogram[1, 4](bins, np.zeros(4, int), before, after)


@cuda.jit
def total(x, partial, tickets, out, fence):
    """The last block that arrives adds the results of all blocks."""
    i = cuda.grid(1)
    partial[i] = 2 * x[i]
    if fence:
        cuda.threadfence()
    if cuda.atomic.add(tickets, 0, 1) == x.size - 1:
        for value in partial:
            out[0] += value


def test_a_fence_and_an_atomic_instruction_order_blocks():
    x = np.arange(5)
    out = np.zeros(1, int)
    total[5, 1](x, np.zeros(5, int), np.zeros(1, int), out, True)
    assert out[0] == 20
    with pytest.raises(RuntimeError, match=r"thread 0 of block 4 reads partial\[0\], which thread 0 of block 0 wrote"):
        total[5, 1](x, np.zeros(5, int), np.zeros(1, int), out, False)


@cuda.jit
def locked(lock, out):
    """Each thread adds to a number of its own; all threads together determine whether it is positive."""
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    out[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)
    out[1] = 1
    found = out[2]
    while True:
        expected = found
        found = cuda.atomic.cas(out, 2, expected, expected + 2)
        if found == expected:
            break


def test_locks_loops_of_compare_and_swap_and_equal_writes_are_not_races():
    out = np.zeros(3, int)
    locked[2, 4](np.zeros(1, int), out)
    assert out.tolist() == [8, 1, 16]


@cuda.jit
def wait(turn, out):
    me = cuda.threadIdx.x
    while cuda.atomic.add(turn, 0, 0) != me:
        pass
    out[me] = cuda.atomic.add(turn, 0, 1)


def test_threads_that_wait_for_others_without_a_barrier_get_there():
    out = np.zeros(4, int)
    wait[1, 4](np.zeros(1, int), out)
    assert out.tolist() == [0, 1, 2, 3]


@cuda.jit(device=True)
def exchanged(part, me, value):
    part[me] = value
    cuda.syncthreads()
    return part[cuda.blockDim.x - 1 - me]


@cuda.jit
def various(x, out, votes):
    me, lane, size = cuda.threadIdx.x, cuda.laneid, x.size
    part = cuda.shared.array(0, numba.float32)
    if me < size:
        own = exchanged(part, me, x[me])
    cuda.syncthreads()
    if me < 32:  # the first warp
        part[me] = own
        cuda.syncwarp()
        own = part[31 - me]
    votes[0, me] = cuda.syncthreads_count(lane < 3)
    votes[1, me] = cuda.syncthreads_and(lane < 3)
    votes[2, me] = cuda.syncthreads_or(lane < 3)
    mine = out[me]  # a row
    for j in range(mine.shape[-1]):
        mine[j] = own
    if me == 0:
        out[-1, 1:] = out[0, :-1]


def test_legal_kernels_of_users():
    x = np.arange(64, dtype=np.float32)
    out, votes = np.zeros((64, 2), np.float32), np.zeros((3, 64), int)
    with pytest.raises(RuntimeError, match=r"which thread (0|63) wrote in line \d+, with no barrier"):
        various[1, 64, 0, 64 * 4](x, out, votes)
    out = numgrad.zeros(65, 2, device="cuda")
    various[1, 64, 0, 64 * 4](x, out, votes)
    first = [*range(32, 64)]
    assert out[:, 0].tolist() == [*first, *reversed(range(32)), 0]
    assert (out[-1, 1].item(), votes[:, 0].tolist()) == (32, [6, 0, 1])


def test_an_error_in_a_kernel_says_in_which_thread():
    with pytest.raises(IndexError, match=r"index 3 is out of bounds.*\nin thread 3 of block 0$"):
        smooth_beyond[1, 4](np.zeros(3, int))


@cuda.jit
def smooth_beyond(x):
    x[cuda.grid(1)] = 1


@cuda.jit
def uninitialised(x, number):
    x[0] = cuda.shared.array(1, np.float32)[0] + cuda.local.array(1, np.float64)[0]
    number[0] = cuda.shared.array(1, np.int32)[0]


def test_memory_begins_as_garbage():
    x, number = np.zeros(1), np.zeros(1, np.int32)
    uninitialised[1, 1](x, number)
    assert np.isnan(x[0])
    assert number[0] < -1e9
