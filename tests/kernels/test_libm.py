"""numgrad_kernels.libm in fresh processes: other processors, no libmvec, and the import alone."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import pytest

import numgrad_kernels

PROGRAM = """
import json, numba, numpy as np
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    from numgrad_kernels import libm, overloads, scalar
overloads.register()

@numba.njit(error_model="numpy", fastmath={"contract"})
def run(x, doubles, bytes_, flags, out):
    for i in range(x.shape[0]):
        value = scalar.exp(x[i]) * scalar.sin(x[i]) + np.float32(scalar.cos(doubles[i])) + scalar.tanh(x[i])
        out[i] = scalar.where(flags[i], value, scalar.atan(x[i]) + np.float32(bytes_[i]))

@numba.njit(error_model="numpy", fastmath={"contract"})
def powers(x, y, out):
    for i in range(x.shape[0]):
        out[i] = scalar.pow(x[i], y[i])

x = np.linspace(-3, 3, 1003).astype(np.float32)
doubles, counts = np.linspace(-2, 5, 1003), np.arange(1003)
bytes_, flags = (counts % 251).astype(np.uint8), counts % 3 == 0
out = np.empty_like(x)
run(x, doubles, bytes_, flags, out)
w = x.astype(np.float64)
exact = np.where(flags, np.exp(w) * np.sin(w) + np.cos(doubles) + np.tanh(w), np.arctan(w) + bytes_)
base, exponent = np.exp2(x / 3), np.linspace(-99, 99, 1003).astype(np.float32)
power = np.empty_like(x)
powers(base, exponent, power)
print(json.dumps({
    "compiled": len(compiled.buffer),
    "vector": libm.has_vector_form("sin"),
    "fingerprint": libm.fingerprint(),
    "error": float(np.max(np.abs(out - exact) / np.maximum(1, np.abs(exact)))),
    "power_error": float(np.max(np.abs(power / base.astype(np.float64) ** exponent - 1))),
    "code": next(iter(run.inspect_llvm().values())),
}))
"""


def in_subprocess(**environment):
    path = os.pathsep.join([str(Path(numgrad_kernels.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_CPU", "NUMGRAD_"))}
    command = [sys.executable, "-c", PROGRAM]
    complete = {**inherited, "PYTHONPATH": path, **environment}
    done = subprocess.run(command, env=complete, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_compiles_nothing_and_a_fresh_process_agrees():
    result = in_subprocess()
    assert result["compiled"] == 0
    assert result["error"] < 1e-6
    assert result["power_error"] < 2e-7
    assert ("libmvec absent" in result["fingerprint"]) == (not result["vector"])


def test_without_libmvec():
    result = in_subprocess(NUMGRAD_LIBMVEC="0")
    assert not result["vector"]
    assert "libmvec absent" in result["fingerprint"]
    assert "_ZGV" not in result["code"]
    assert re.search(r"call (contract )?float @sinf\(", result["code"])
    assert result["error"] < 1e-6


AVX2 = bool(llvmlite.binding.get_host_cpu_features().get("avx2"))
PROCESSORS = [("generic", "", "b"), *([("haswell", "", "d"), ("haswell", None, None)] if AVX2 else [])]


@pytest.mark.parametrize(("processor", "features", "variant"), PROCESSORS)
def test_other_processors(processor, features, variant):
    environment = {"NUMBA_CPU_NAME": processor}
    if features is not None:  # otherwise the name is haswell's, the features are this machine's
        environment["NUMBA_CPU_FEATURES"] = features
    result = in_subprocess(**environment)
    assert result["error"] < 1e-6
    assert result["power_error"] < 2e-7  # without a fused multiply-add, too
    if variant is not None and result["vector"]:
        assert result["fingerprint"].endswith(f"libmvec {variant}")
        assert set(re.findall(r"@_ZGV(\w)N", result["code"])) == {variant}
