"""The second process, which compiles kernels of gradients ahead: its jobs, its kernels, and its end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import numgrad

ROOTS = [str(Path(numgrad.__file__).parents[1]), str(Path(numgrad.__file__).parents[1] / "kernels")]

#: Beginning of a program that waits for commands, and prints the id of the process that it has started.
BEGIN = """
import numgrad as torch
from numgrad.nn import functional as F
from numgrad.ops.table import ahead
x = torch.rand(5, 8, requires_grad=True)
y = (x * 2).softmax(1)
print(ahead._process and ahead._process.pid, flush=True)
"""

#: Calls of several classes of operations; each is submitted, and repeated as in the second process.
REPEATED = """
import os, pickle
import numgrad as torch
from numgrad import devices
from numgrad.commands import ahead as second
from numgrad.nn import functional as F
from numgrad.ops.table import ahead, entries
from numgrad.optim import fused

jobs = []
entries.submit = fused.submit = lambda job: jobs.append(pickle.dumps(job()))
x, w = torch.rand(5, 8, requires_grad=True), torch.ones(8, requires_grad=True)
F.cross_entropy(F.layer_norm(F.gelu(x) * w + 2.5, (8,), w), torch.arange(5))
torch.cat([x, x.detach()]).clamp(min=0.5)[torch.tensor([1, 0])].amax(0)
torch.optim.AdamW([x])
entries.submit = fused.submit = lambda job: None
devices.cpu.compile_only()
for job in jobs:
    name, arguments = pickle.loads(job)
    second.JOBS[name](*arguments)
print(*[kernel.name for kernel in devices.compiled_kernels()])
"""


def environment(cache):
    unset = ("PYTEST_VERSION", "NUMGRAD_BACKGROUND")
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    return {**inherited, "NUMGRAD_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(ROOTS)}


def runs(process):
    """Return True if a process of this number exists and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition, seconds=90):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.fixture
def program(tmp_path):
    """Return a function that starts a program with an empty cache, which waits for a line at its end.

    It returns the program and the number of its second process.
    """
    started = []

    def start(code, **variables):
        command = [sys.executable, "-c", code + "input()"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, env={**environment(tmp_path), **variables}, **pipes))
        return started[0], started[0].stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_kernel_of_a_gradient_is_compiled_before_it_is_asked_for(program, tmp_path):
    _, second = program(BEGIN)
    assert second != "None"
    wait_until(lambda: list(tmp_path.glob("softmax_backward_rows_*.bin")))


@pytest.mark.parametrize("end", ["by itself", "killed"])
def test_it_ends_with_the_program(program, end):
    process, second = program(BEGIN)
    assert runs(second)
    if end == "killed":
        process.send_signal(signal.SIGKILL)
    else:
        begun = time.monotonic()
        process.communicate("\n")
        assert process.returncode == 0
        assert time.monotonic() - begun < 10  # it is not waited for, whatever it compiles
    wait_until(lambda: not runs(second))


def test_it_runs_no_code_of_the_program(program, tmp_path):
    """The second process imports neither modules of the current directory nor the module of a user's optimizer."""
    mine = tmp_path / "mine"
    mine.mkdir()
    note = "import os\nopen(os.path.join(os.path.dirname(__file__), f'run-by-{os.getpid()}'), 'w').close()\n"
    (mine / "numbers.py").write_text(note + "raise RuntimeError\n")
    (mine / "training.py").write_text(
        note + "import numgrad as torch\nclass Own(torch.optim.AdamW):\n    pass\nclass Word:\n    pass\n"
    )
    begin = f"import os, sys\nos.chdir({str(mine)!r})\nsys.path.remove('')\n"
    own = f"sys.path.append({str(mine)!r})\nimport training\nahead._compiled = 0\ntraining.Own([x])\n"
    announced = "ahead._compiled = 0\nahead.submit(lambda: ('step', (training.Word, [], {})))\n"
    process, second = program(begin + BEGIN + own + announced + "print(os.getpid(), flush=True)\n")
    first = process.stdout.readline().strip()
    assert second != "None"
    wait_until(lambda: list(tmp_path.glob("adam*.bin")))  # as for numgrad's own class
    assert runs(second)
    assert [path.name for path in mine.glob("run-by-*")] == [f"run-by-{first}"]


def test_an_interrupt_is_not_meant_for_it(program, tmp_path):
    _, second = program(BEGIN)
    wait_until(lambda: list(tmp_path.glob("softmax_backward_rows_*.bin")))
    os.kill(int(second), signal.SIGINT)
    time.sleep(0.5)
    assert runs(second)


def test_threads_start_one(program, tmp_path):
    """While one thread starts the process, a job of a second thread is dropped."""
    code = """
import subprocess, threading
import numgrad as torch
from numgrad.ops.table import ahead
started = []
class Slow(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        started.append(self)
        threading.Event().wait(0.3)
        super().__init__(*args, **kwargs)
subprocess.Popen = Slow
x = torch.rand(5, 8, requires_grad=True)
x * 2
ahead._stop()
ahead._enabled, started[:] = True, []
def say():
    ahead._compiled = 0
    ahead.submit(lambda: ("", ()))
threads = [threading.Thread(target=say) for _ in range(4)]
for one in threads: one.start()
for one in threads: one.join()
print(len(started), flush=True)
"""
    _, count = program(code)
    assert count == "1"


def test_there_is_none_where_it_is_not_wanted_or_nothing_is_compiled(program):
    _, second = program(BEGIN, NUMGRAD_BACKGROUND="0")
    assert second == "None"


def test_the_child_of_a_fork_leaves_it_alone(program):
    fork = "import os\nif os.fork() == 0:\n    ahead._stop()\n    os._exit(ahead._enabled)\nprint(os.wait()[1])\n"
    process, second = program(BEGIN + fork)
    assert process.stdout.readline() == "0\n"
    assert runs(second)


def test_calls_are_done_again_by_their_layouts(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", REPEATED], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    kernels = done.stdout.split()
    for name in (
        "gelu_op_backward", "layer_norm_gradients", "mul_backward", "log_softmax_backward_rows", "put_negative",
        "clamp_min_op_backward", "put_rows", "adam",
    ):
        assert any(kernel.startswith(name) for kernel in kernels), (name, kernels)
