"""The kernel store between processes: starting together, on other processors, on a full disk, after a fork."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import numgrad
import numgrad_kernels
from numgrad_kernels import libm

ROOTS = [Path(numgrad_kernels.__file__).parents[1], Path(numgrad.__file__).parents[1]]
CHANGED = ("NUMBA_", "NUMGRAD_", "PYTHONPATH")

KERNEL = """
import json, sys
import numpy as np
from numba import types
from numgrad_kernels import store
from numgrad_kernels.facts import Facts

def kernel(x, y, out):
    for i in range(out.shape[0]):
        out[i] = x[i] * 3 + y[i]

TEXT = '''
from numba import prange

def kernel(x, y, out):
    for i in prange(out.shape[0]):
        out[i] = x[i] * 3 + y[i]
'''

def axpy(dtype="float32", parallel=False):
    buffer, facts = types.Array(getattr(types, dtype), 1, "C"), Facts(np.dtype(dtype))
    compiled = store.compile_kernel("axpy", TEXT, [buffer] * 3, facts, parallel=parallel)
    x = np.arange(30).astype(dtype)
    out = np.zeros_like(x)
    compiled.entry(x, x + 1, out)
    return compiled.origin, bool(np.array_equal(out, 3 * x + (x + 1)))
"""


def environment(cache, roots=ROOTS, **variables):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(CHANGED)}
    path = os.pathsep.join(map(str, roots))
    return {**inherited, "PYTHONPATH": path, "NUMGRAD_CACHE_DIR": str(cache), "NUMBA_NUM_THREADS": "2", **variables}


def run(program, cache, *arguments, before=(), **options):
    """Return the output of a fresh process; ``before`` precedes its command."""
    command = [*before, sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=environment(cache, **options), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ALL_SORTS = """
import hashlib, json
import numpy as np
from numba.core import event
import numgrad as torch
from numgrad import nn
from numgrad_kernels import store

with event.install_recorder("numba:compile") as recorder:
    digest = hashlib.sha256()
    for size in (1000, 100_000):  # serial and parallel kernels
        x = torch.from_numpy(np.linspace(-3, 3, size, dtype=np.float32)).requires_grad_()
        y = x.exp()
        loss = y.sum()
        loss.backward()
        for tensor in (y, loss, x.grad):
            digest.update(tensor.detach().numpy().tobytes())
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = torch.randn(5, 4), torch.randint(3, (5,))
    for _ in range(2):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    digest.update(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
origins = {kernel.origin for kernel in store.compiled_kernels()}
print(json.dumps([sorted(origins), len(store.compiled_kernels()), len(recorder.buffer), digest.hexdigest()]))
"""


def test_a_second_process_loads_everything_and_gets_the_same_bits(tmp_path):
    first, second = run(ALL_SORTS, tmp_path), run(ALL_SORTS, tmp_path)
    assert first[0] == ["compiled"]
    assert first[1] > 20
    assert second == [["loaded"], first[1], 0, first[3]]


TOGETHER = KERNEL + "print(flush=True); input(); print(json.dumps([axpy(dtype) for dtype in sys.argv[1:]]))"
DTYPES = ["int8", "int64", "float64", "complex128"]


def test_four_processes_start_at_once_on_an_empty_directory(tmp_path):
    """The processes compile one kernel for all, then one each, which the next process then needs."""
    cache = tmp_path / "cache"
    shifted = DTYPES[1:] + DTYPES[:1]
    work = [["float32", *pair] for pair in zip(DTYPES, shifted, strict=True)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, *dtypes], env=environment(cache), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for dtypes in work
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "\n"  # it has imported everything
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process, dtypes in zip(processes, work, strict=True):
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert [right for _, right in json.loads(output)] == [True] * len(dtypes)
    needed = sorted({dtype for dtypes in work for dtype in dtypes})
    suffixes = Counter(path.suffix for path in cache.iterdir())
    # the buffers of the kernels have elements of four sizes; no part of a file is left
    assert suffixes == {".py": len(needed), ".bin": len(needed), ".machine_code": 4}
    later = f"print(json.dumps([axpy(dtype) for dtype in {needed}]))"
    assert run(KERNEL + later, cache) == [["loaded", True]] * len(needed)


SEVERAL = KERNEL + "print(json.dumps([axpy(), axpy(parallel=True), axpy('float64')]))"


def full_disk(directory):
    """The start of a command that sees a disk in ``directory`` with room for one small file; None if not allowed."""
    script = f'mount -t tmpfs -o size=8k,mode=700 tmpfs "{directory}" && exec "$@"'
    for unshare in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        if shutil.which("unshare"):
            command = [*unshare, "sh", "-c", script, "sh"]
            if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
                return command
    return None


def test_a_full_disk(tmp_path):
    program = SEVERAL + "; import os; print(os.listdir(store.cache.cache_directory()), file=sys.stderr)"
    before = full_disk(tmp_path)
    if before is None:  # then files that may not grow
        program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n" + program
    command = [*(before or []), sys.executable, "-c", program]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["compiled", True]] * 3
    (files,) = done.stderr.splitlines()
    assert "axpy_" in files  # there was room for a text
    assert files.count(".bin") == 0  # and for no machine code, nor for a part of it


CIRCUMSTANCES = [
    {"NUMBA_CPU_NAME": "generic"},
    {"NUMBA_CPU_FEATURES": ""},
    {"NUMBA_OPT": "1"},
    *([{"NUMGRAD_LIBMVEC": "0"}] if libm.libmvec_found() else []),
]


@pytest.mark.long
def test_machine_code_for_other_circumstances_is_kept_apart(tmp_path):
    program = KERNEL + "print(json.dumps(axpy()))"
    assert run(program, tmp_path) == ["compiled", True]
    for variables in CIRCUMSTANCES:
        assert run(program, tmp_path, **variables) == ["compiled", True], variables
    assert run(program, tmp_path, **CIRCUMSTANCES[0]) == ["loaded", True]
    assert run(program, tmp_path) == ["loaded", True]


@pytest.mark.long
def test_editing_the_scalar_mathematics_invalidates_what_used_it(tmp_path):
    package = tmp_path / "numgrad_kernels"
    shutil.copytree(Path(numgrad_kernels.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    scalar = package / "scalar.py"
    original = scalar.read_text()
    addition = "\n\nfrom numba.extending import register_jitable\n@register_jitable\ndef probe(x):\n    return x {} x\n"
    program = """
import json
import numpy as np
from numba import types
from numgrad_kernels import store
from numgrad_kernels.facts import Facts
text = "from numgrad_kernels.scalar import probe\\ndef kernel(x):\\n    x[0] = probe(x[0])\\n"
kernel = store.compile_kernel("probe", text, [types.Array(types.float64, 1, "C")], Facts(np.dtype("float64")))
x = np.array([5.0])
kernel.entry(x)
print(json.dumps([kernel.origin, x[0], store.__file__]))
"""
    for operator, value in (("+", 10), ("*", 25), ("+", 10)):
        scalar.write_text(original + addition.format(operator))
        # Python compares sizes and times in seconds to find stale bytecode; these edits are faster
        options = {"roots": [tmp_path], "PYTHONDONTWRITEBYTECODE": "1"}
        first, second = (run(program, tmp_path / "cache", **options)[:2] for _ in range(2))
        assert first[1] == second[1] == value
        assert second[0] == "loaded"
    assert len(list((tmp_path / "cache").glob("*.bin"))) == 2


FORK = """
import json, os, signal
import numpy as np
import numgrad

def work():
    small, large = np.linspace(0, 1, 10), np.linspace(0, 1, 300_000)
    return [
        bool(np.allclose(numgrad.exp(numgrad.from_numpy(x)).numpy(), np.exp(x), rtol=1e-14)) for x in (small, large)
    ] + [abs(numgrad.from_numpy(large).sum().item() - 150_000) < 1e-6]

def fresh():  # kernels that the parent has not got
    x = np.linspace(0, 1, 300_000)
    return bool(np.allclose(numgrad.tanh(numgrad.from_numpy(x)).numpy(), np.tanh(x), rtol=1e-14))

before = work()
child = os.fork()
if child == 0:
    signal.alarm(60)  # in case it waits for threads that do not exist
    os._exit(0 if all(work()) and fresh() else 1)
_, status = os.waitpid(child, 0)
print(json.dumps([before, os.waitstatus_to_exitcode(status), work(), fresh()]))
"""


def test_kernels_work_in_a_forked_child(tmp_path):
    for layer in ("default", "default", "workqueue"):  # from the second turn on all kernels are loaded
        result = run(FORK, tmp_path, NUMBA_THREADING_LAYER=layer)
        assert result == [[True] * 3, 0, [True] * 3, True], layer


THREADS = """
import json, sys, threading
import numpy as np
import numgrad

sys.setswitchinterval(1e-5)
wrong = []

def work(seed, start):
    start.wait()
    for turn in range(5):
        for size in (10, 100_000):
            x = np.linspace(-seed, turn + 1, size)
            t = numgrad.from_numpy(x).requires_grad_()
            numgrad.exp(t).sum().backward()
            if not np.allclose(t.grad.numpy(), np.exp(x), rtol=1e-12, atol=1e-12):
                wrong.append((seed, turn, size))

for count in (2, 4):
    start = threading.Barrier(count)
    threads = [threading.Thread(target=work, args=(seed, start)) for seed in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(json.dumps(wrong))
"""


def test_threads_run_the_same_kernels_at_once(tmp_path):
    for layer in ("default", "workqueue"):
        assert run(THREADS, tmp_path, NUMBA_THREADING_LAYER=layer) == [], layer


SPINS = """
import json, os
import numgrad
try:
    from numba.np.ufunc import omppool
except ImportError:
    omppool = None
print(json.dumps([omppool is not None, os.environ.get("GOMP_SPINCOUNT")]))
"""


@pytest.mark.parametrize(("variables", "spin_count"), [({}, "10000"), ({"OMP_WAIT_POLICY": "passive"}, "0")])
def test_threads_do_not_spin_for_long_by_default(tmp_path, variables, spin_count):
    """GNU's OpenMP prints its spin count.  The variable is set for this process alone."""
    inherited = {name: value for name, value in environment(tmp_path).items() if not name.startswith(("OMP_", "GOMP_"))}
    given = {**inherited, "OMP_DISPLAY_ENV": "verbose", **variables}
    done = subprocess.run([sys.executable, "-c", SPINS], env=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    openmp, seen = json.loads(done.stdout)
    assert seen is None
    expected = [spin_count] if openmp else []
    assert re.findall("GOMP_SPINCOUNT = '(.*)'", done.stderr) == expected


WITHOUT_THREADS = """
import json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numgrad
words = [str(warning.message).split("(")[0] for warning in caught]
print(json.dumps([words, numgrad.ones(300_000).add(1).sum().item()]))
"""


def test_a_threading_layer_that_is_not_there_is_said_at_once(tmp_path):
    words, total = run(WITHOUT_THREADS, tmp_path, NUMBA_THREADING_LAYER="braid")
    assert words == ["Numba has no threading layer 'braid' here "]
    assert total == 600_000
    assert run(WITHOUT_THREADS, tmp_path, NUMBA_THREADING_LAYER="workqueue") == [[], 600_000]
