"""Messages if a requirement of GPUs is missing."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from cuda.bindings import driver as real
from driver_stub import Driver

import numgrad
from numgrad.devices import needs

ROOT = Path(numgrad.__file__).parent.parent


@pytest.fixture
def machine(monkeypatch):
    """A machine with a driver and two GPUs."""
    importlib.import_module("numgrad_kernels.cuda.adapter")  # which takes types from the real driver
    stub = Driver(gpus=2)
    monkeypatch.setattr("cuda.bindings.driver", stub)
    monkeypatch.setattr(needs, "_load_driver", lambda: None)
    monkeypatch.setattr(needs, "is_simulated", lambda: False)
    return stub


def test_nothing_is_missing(machine):
    assert needs.check() == needs.count() == 2
    assert numgrad.cuda.is_available()
    assert numgrad.cuda.device_count() == 2


def without(missing):
    there = importlib.util.find_spec
    return lambda name, *rest: None if name == missing else there(name, *rest)


@pytest.mark.parametrize(("module", "package"), [("numba_cuda", "numba-cuda"), ("cuda.bindings", "cuda-bindings")])
def test_the_extra_is_not_installed(machine, monkeypatch, module, package):
    monkeypatch.setattr(importlib.util, "find_spec", without(module))
    with pytest.raises(ImportError, match=rf'needs the package {package}: pip install -e "\.\[cuda\]"'):
        needs.check()
    assert not numgrad.cuda.is_available()


def test_the_simulator_needs_nothing_of_nvidias(monkeypatch):
    monkeypatch.setattr(numba.config, "ENABLE_CUDASIM", 1)
    monkeypatch.setattr(importlib.util, "find_spec", without("numba_cuda"))
    monkeypatch.delitem(sys.modules, "numgrad_kernels.cuda.adapter", raising=False)
    with pytest.raises(ImportError, match=r'needs the package numba-cuda: pip install -e "\.\[simulator\]"'):
        numgrad.zeros(2, device="cuda")
    with pytest.raises(ImportError, match=r'need the package numba-cuda: pip install -e "\.\[simulator\]"'):
        importlib.import_module("numgrad_kernels.cuda.adapter")


def test_there_is_no_driver(monkeypatch):
    monkeypatch.setattr(needs, "is_simulated", lambda: False)
    monkeypatch.setattr(needs, "_LIBRARY", "libno_such_driver.so")
    with pytest.raises(RuntimeError, match=r"^Found no NVIDIA driver on your system\..* NUMBA_ENABLE_CUDASIM=1"):
        needs.check()
    assert not numgrad.cuda.is_available()


@pytest.mark.parametrize("errors", [{}, {"cuInit": real.CUresult.CUDA_ERROR_NO_DEVICE}])
def test_there_is_no_gpu(machine, errors):
    machine.gpus, machine.fail = 0, errors
    with pytest.raises(RuntimeError, match=r"^No CUDA GPUs are available$"):
        needs.check()
    assert numgrad.cuda.device_count() == 0


def test_the_driver_does_not_start(machine):
    machine.fail = {"cuInit": real.CUresult.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH}
    with pytest.raises(RuntimeError, match=r"does not start: CUDA error 803 \(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH\)"):
        needs.check()
    assert not numgrad.cuda.is_available()


def run(program, **environment):
    given = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), **environment}
    done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


TOO_NEW = """
import sys
import numba
import numpy

numpy.__version__ = "9.1.0"
import numgrad
try:
    numgrad.zeros(2, device="cuda")
except ImportError as error:
    print(error)
print(numgrad.cuda.is_available(), numgrad.zeros(2).tolist())
"""


def test_numpy_is_too_new_for_numba_cuda():
    message, rest = run(TOO_NEW, NUMBA_ENABLE_CUDASIM="1").splitlines()
    assert message.startswith("NumPy 9.1.0 is too new for this numba-cuda, which was tried with NumPy up to 2.4: pip")
    assert rest == "False [0.0, 0.0]"


WATCHED = """
import numgrad
import numpy
from numba import cuda

@cuda.jit
def turn(x):
    thread = cuda.threadIdx.x
    x[thread] = x[3 - thread]

try:
    turn[1, 4](numpy.arange(4))
except RuntimeError as error:
    print(error)
"""


def test_kernels_of_users_are_watched_in_the_simulator_as_soon_as_numgrad_is_imported():
    assert "is cuda.syncthreads() missing?" in run(WATCHED, NUMBA_ENABLE_CUDASIM="1")


ASKED = """
import sys
import numgrad

numgrad.cuda.is_available(), numgrad.cuda.memory_allocated(), numgrad.cuda.empty_cache(), numgrad.cuda.manual_seed(1)
print(numgrad.cuda.is_initialized(), sorted({"cuda.bindings", "numba.cuda", "numba_cuda"} & {*sys.modules}))
try:
    numgrad.zeros(2, device="cuda")
except RuntimeError as error:
    print(str(error).partition(".")[0])
print(numgrad.ones(2).sum().item(), "numba.cuda" in sys.modules)
"""


def test_a_program_that_asks_goes_on_without_a_driver(tmp_path):
    program = "from numgrad.devices import needs; needs._LIBRARY = 'libno_such_driver.so'" + ASKED
    lines = run(program, NUMBA_ENABLE_CUDASIM="0").splitlines()
    assert lines == ["False []", "Found no NVIDIA driver on your system", "2.0 False"]


def test_the_emulator_needs_no_driver(monkeypatch):
    monkeypatch.setattr(needs, "is_simulated", lambda: False)
    monkeypatch.setattr(needs, "_LIBRARY", "libno_such_driver.so")
    monkeypatch.setenv("NUMGRAD_GPU", "emulated:random")
    assert needs.check() == 1
    monkeypatch.setenv("NUMGRAD_GPU", "emulated:sideways")
    with pytest.raises(ValueError, match=r"^NUMGRAD_GPU=emulated:sideways: expected emulated, emulated:down or"):
        needs.check()
