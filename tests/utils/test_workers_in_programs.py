"""DataLoader's workers in whole programs: their start, and their end with the program, however it ends."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from numgrad.utils.data import DataLoader

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="data sets of programs are of classes of their own")


def test_spawned_workers():
    loader = DataLoader(range(5), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4]]
    context = multiprocessing.get_context("fork")
    assert len(list(DataLoader(range(2), num_workers=1, multiprocessing_context=context))) == 2


PROGRAM = """
import os, signal, sys, time
import numgrad as torch
from numgrad.utils.data import DataLoader, Dataset

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore

class Slow(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        time.sleep(float(sys.argv[1]))
        return torch.full((50_000,), float(index)), os.getpid()

iterator = iter(DataLoader(Slow(), batch_size=2, num_workers=2))
batches = [next(iterator) for _ in range(2)]
print([int(pids[0]) for _, pids in batches], batches[1][0][:, 0].tolist(), flush=True)
"""


def started(program, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", program, str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def workers_of(process):
    pids, _, rest = process.stdout.readline()[1:].partition("]")
    assert rest == " [2.0, 3.0]\n"
    return [int(pid) for pid in pids.split(",")]


def wait_until_gone(pids):
    end = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < end, "workers are left"
        time.sleep(0.02)


def test_a_program_that_ends_within_a_loop():
    """Without ``if __name__ == "__main__"``, and with a data set that is defined there."""
    process = started(PROGRAM, 0)
    pids = workers_of(process)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0
    wait_until_gone(pids)


def test_a_program_that_is_interrupted():
    process = started(PROGRAM + "for batch in iterator: print('.', flush=True)\n", 0.05)
    pids = workers_of(process)
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does
    _, error = process.communicate(timeout=30)
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert error.count("Traceback") == 1
    wait_until_gone(pids)


def test_a_program_that_is_killed_while_its_workers_are_at_work():
    start = """
import numgrad.utils.data.worker as worker
worker.PATIENCE = 0.1
"""
    slow = PROGRAM.replace("float(sys.argv[1])", "100 if index > 3 else 0")
    process = started(start + slow + "time.sleep(100)\n", 0)
    pids = workers_of(process)
    process.kill()
    process.communicate(timeout=30)
    wait_until_gone(pids)
