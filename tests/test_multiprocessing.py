"""Processes that numgrad.multiprocessing starts."""

import os
import signal
import sys
import time

import pytest

import numgrad as torch
from numgrad.multiprocessing import ProcessExitedException, ProcessRaisedException, spawn


def write(number, folder, x):
    (folder / str(number)).write_text(str((x * number).tolist()))


def fail(number, how):
    if number == 0:
        time.sleep(60)
    elif how == "raise":
        raise ValueError("no luck")
    elif how == "exit":
        sys.exit(3)
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def test_each_process_has_a_number_and_the_arguments(tmp_path):
    assert spawn(write, (tmp_path, torch.tensor([1.0, 2.0])), 2) is None
    assert [(tmp_path / number).read_text() for number in "01"] == ["[0.0, 0.0]", "[1.0, 2.0]"]


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("raise", ProcessRaisedException, "(?s)-- Process 1 terminated with the following error:.*ValueError: no luck"),
        ("exit", ProcessExitedException, "process 1 terminated with exit code 3"),
        ("kill", ProcessExitedException, "process 1 terminated with signal SIGKILL"),
    ],
)
def test_a_failure_ends_all_processes(how, error, message):
    started = spawn(fail, (how,), 2, join=False, start_method="forkserver")
    with pytest.raises(error, match=message) as raised:
        started.join()
    assert raised.value.error_index == 1
    assert raised.value.pid == started.pids()[1]
    assert not any(process.is_alive() for process in started.processes)
