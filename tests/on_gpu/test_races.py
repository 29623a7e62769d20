"""Races in kernels: that the simulator finds them, and that there are none."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from numgrad_kernels.cuda import adapter

pytestmark = pytest.mark.simulator  # a GPU does not tell

BEGIN = """
from numgrad_kernels.cuda.adapter import cuda
from numgrad_kernels.cuda.language import atomic_add


def kernel(out):
    part = cuda.shared.array(64, "int64")
    thread = cuda.threadIdx.x
    part[thread] = thread
"""


def run(statements, watch=True, blocks=1):
    """What a kernel with these statements leaves in a row of 64 numbers."""
    from numgrad_kernels.cuda import simulator

    text = BEGIN + "".join(f"    {line}\n" for line in statements)
    launch, row = adapter.simulated_kernel("races", text), np.zeros(64, np.int64)
    before, simulator.watch_races = simulator.watch_races, watch
    try:
        launch(blocks, 64, row)
    finally:
        simulator.watch_races = before
    return row.tolist()


@pytest.mark.parametrize("watch", [True, False])
def test_a_barrier_orders_threads(watch):
    assert run(["cuda.syncthreads()", "out[thread] = part[63 - thread]"], watch) == [*range(63, -1, -1)]
    assert run(["cuda.syncwarp()", "out[thread] = part[thread ^ 31]"], watch)[:2] == [31, 30]


def test_a_missing_barrier_is_found():
    with pytest.raises(RuntimeError, match=r"line 11: thread \d+ of block 0 (reads|writes) what thread"):
        run(["cuda.syncthreads()", "part[thread] += part[63 - thread]"])
    with pytest.raises(RuntimeError, match="in no certain order"):  # which is that of another warp
        run(["cuda.syncwarp()", "out[thread] = part[63 - thread]"])


def test_blocks_that_write_to_one_element_are_found():
    with pytest.raises(RuntimeError, match="thread 0 of block 1 writes what thread 0 of block 0 wrote"):
        run(["if thread == 0:", "    out[0] = 1"], blocks=2)
    assert run(["atomic_add(out, 0, 1)"], blocks=2)[0] == 128


def test_a_barrier_that_not_all_come_to_is_found():
    with pytest.raises(RuntimeError, match=r"wait in different lines .* \[11, 13\]"):
        run(["if thread < 9:", "    cuda.syncthreads()", "else:", "    cuda.syncthreads()"], watch=False)


def test_the_kernels_have_no_races():
    cases = Path(__file__).with_name("race_cases.py")
    done = subprocess.run([sys.executable, "-W", "ignore", cases], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
