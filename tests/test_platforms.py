"""Systems that no test runs on: their facts in the place of this one's, in a process of their own."""

import json
import os
import subprocess
import sys

import pytest

import numgrad

PROGRAM = """
import json, os, sys
import llvmlite.binding, numba, numpy, safetensors.numpy, threadpoolctl, tqdm
import numba.core.registry, numba.np.ufunc.parallel  # which look up their system, and must find this one
import importlib.metadata, multiprocessing.context, pathlib, platform, socket, subprocess, tempfile

system, missing = sys.argv[1], sys.argv[3:]
for name in missing:
    delattr(os, name)
sys.platform = system
os.path.expanduser = lambda path: path.replace("~", sys.argv[2])

import numgrad as torch
from numgrad.commands.info import rows

for size in (200_000, 2):  # a kernel on several threads, and one without
    x = torch.from_numpy(numpy.arange(1.0, size + 1)).requires_grad_()
    y = x + x
    y.backward(y.detach())
file = os.path.join(sys.argv[2], "saved")
for _ in range(2):  # the second time in the first one's place
    torch.save({"grad": x.grad}, file)
facts = dict(rows())
print(json.dumps([torch.load(file)["grad"].tolist(), facts["vector mathematics"], facts["kernel cache"]]))
"""

#: Functions that Python has on Linux alone, and on Linux and macOS.
LINUX = ["sched_getaffinity"]
POSIX = [
    "fork", "register_at_fork", "getuid", "geteuid", "uname", "confstr", "mkfifo", "chown", "getloadavg", "O_NONBLOCK",
    "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY",
]  # fmt: skip


@pytest.mark.parametrize(
    ("system", "missing", "cache"),
    [("darwin", LINUX, "Library/Caches/numgrad"), ("win32", LINUX + POSIX, "AppData/Local/numgrad")],
)
def test_another_system(tmp_path, system, missing, cache):
    """Without its functions, without libmvec, and with the caches where it has them."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMGRAD_", "NUMBA_"))}
    environment |= {"NUMGRAD_LIBMVEC": "0", "NUMBA_NUM_THREADS": "2"}
    root = os.path.dirname(os.path.dirname(numgrad.__file__))
    environment["PYTHONPATH"] = os.pathsep.join([root, os.path.join(root, "kernels")])
    environment.pop("LOCALAPPDATA", None)
    command = [sys.executable, "-c", PROGRAM, system, str(tmp_path), *missing]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    loaded, vectors, kept = json.loads(done.stdout)
    assert (loaded, vectors) == ([4.0, 8.0], "libmvec not found")
    assert kept.startswith(f"{tmp_path / cache} (")
    assert list((tmp_path / cache).glob("add_*.bin"))
