"""Checks of users' kernels: races, barriers, bounds, transactions, bank conflicts and divergence, without a GPU."""

import numpy as np
import pytest
from benchmarks import transposes
from numba import cuda, float32

import numgrad

X = np.arange(64 * 32, dtype=np.float32)


def check(kernel, *arguments, threads=64, order="up"):
    return numgrad.cuda.check(kernel, order)[1, threads](X, np.zeros(64, np.float32), *arguments)


def reverses(synchronize):
    @cuda.jit
    def reverse(x, out):
        part = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        part[i] = x[i]  # written
        if synchronize:
            cuda.syncthreads()
        out[i] = part[63 - i]  # read

    return reverse


@cuda.jit
def copy(x, out, count, stride):
    i = cuda.grid(1)
    if i < count:
        out[i] = x[i * stride]


@cuda.jit
def half_waits(x, out):
    i = cuda.grid(1)
    if i < 40:
        out[i] = x[i]
        cuda.syncthreads()
        out[i] += x[63 - i]


@cuda.jit
def beyond(x, out):
    out[cuda.grid(1) + 1] = x[cuda.grid(1)]


@cuda.jit
def every_fourth_sums(x, out):
    i = cuda.grid(1)
    total = float32(0)
    if i % 4 == 0:
        for k in range(100):
            total += total * x[k]
    out[i] = total


def one(items):
    (item,) = items
    return item


@pytest.mark.parametrize("order", ["up", "down", "random"])
def test_a_race_is_found_with_both_lines(order):
    assert check(reverses(True), order=order).ok
    race = one(check(reverses(False), order=order).findings)
    first = reverses.__code__.co_firstlineno
    assert race.kind == "race"
    assert {race.line, race.other_line} == {first + 5, first + 8}
    assert "# written" in race.message
    assert "# read" in race.message
    assert "no barrier between" in race.message


def test_a_barrier_that_some_threads_miss():
    barrier = one(check(half_waits).findings)
    assert barrier.kind == "barrier"
    assert barrier.message.startswith("24 threads ended before line ")
    assert "cuda.syncthreads()" in barrier.message


def test_an_access_out_of_bounds():
    access = one(check(beyond).findings)
    assert access.kind == "access"
    assert ": element 64 of out, which has 64 (thread 63 of block 0)" in access.message


@pytest.mark.parametrize(("stride", "steps"), [(1, 4), (2, 8), (8, 32), (32, 32), (0, 1)])
def test_transactions(stride, steps):
    report = check(copy, 64, stride)
    read, write = report.accesses
    assert (read.kind, read.steps, read.least, read.requests) == ("read", steps, min(steps, 4), 2)
    assert (write.kind, write.steps, write.least) == ("write", 4, 4)
    assert report.ok
    assert not report.divergence


def test_bank_conflicts_of_transposes():
    found = transposes.reports()
    steps = {
        name: {(access.space, access.kind): access.steps for access in report.accesses}
        for name, report in found.items()
    }
    assert steps["direct"] == {("global", "read"): 4, ("global", "write"): 32}
    for width, conflict in ((32, 32), (33, 1)):
        assert steps[f"tile of 32 x {width}"] == {
            ("global", "read"): 4, ("global", "write"): 4, ("shared", "write"): 1, ("shared", "read"): conflict,
        }


def test_idle_lanes():
    report = check(every_fourth_sums)
    idle = {part.text: part.idle for part in report.divergence}
    assert idle["total += total * x[k]"] == 0.75
    assert "out[i] = total" not in idle
    assert one(check(copy, 48, 1).divergence).idle > 0


def test_tensors_tuples_and_complex_numbers():
    @cuda.jit
    def scale(x, by, pair, out):
        i = cuda.grid(1)
        out[i] = x[i] * by + pair[0] * pair[1]

    out = numgrad.zeros(64, dtype=numgrad.complex64)
    report = numgrad.cuda.check(scale)[1, 64](numgrad.arange(64.0), 2 + 1j, (np.float32(3), True), out)
    assert report.ok
    assert out[2].item() == 7 + 2j
    with pytest.raises(TypeError, match="expected a kernel"):
        numgrad.cuda.check(len)[1, 1]()
    with pytest.raises(ValueError, match="at most 1024 threads, not 2048"):
        check(copy, 64, 1, threads=(32, 64))


def test_the_report_in_words():
    assert str(check(copy, 64, 32)).splitlines()[:4] == [
        "copy[1, 64]", "  no faults",
        "global memory: transactions of 32 bytes for each access of a warp, and the least possible",
        f"  line {copy.py_func.__code__.co_firstlineno + 4:<4} read    32.0   4.0 ! out[i] = x[i * stride]",
    ]
