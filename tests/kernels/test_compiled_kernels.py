"""The check of all kernels for GPUs finds faults of machine code, which few kernels have."""

from pathlib import Path

import pytest
from numba.core import types

ROW = types.CPointer(types.float32)
ARGUMENTS = ROW, types.int64
TEXT = """
import numpy as np
from numba import cuda
THREADS = {threads}
def kernel(x, n):
    tile = cuda.shared.array({size}, np.float32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    cuda.syncthreads()
    {work}
"""
#: Needs a register for each of 100 values, all of which are read before any is written.
READ = [f"a{i} = x[i * n + {i}]" for i in range(100)]
WRITTEN = [f"x[i * n + {i}] = a{99 - i}" for i in range(100)]
WIDE = "\n    ".join([*READ, "cuda.syncthreads()", *WRITTEN])


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "ptx"))
    import compile_kernels

    return compile_kernels


@pytest.mark.parametrize(
    ("fault", "values"),
    [
        (None, {}),
        ("computes in float64 on (9, 0): mul.f64", {"work": "x[i] = np.float32(tile[i] * np.float64(n))"}),
        ("is not assembled", {"size": 12 * 1024 + 1}),
        ("registers for each of 1024 threads on (9, 0)", {"threads": 1024, "work": WIDE}),
    ],
)
def test_faults_are_found(script, fault, values):
    text = TEXT.format(**{"threads": 256, "size": 1024, "work": "x[i] = tile[n]", **values})
    found = script.faults(("planted", text, ARGUMENTS, "float32"), [(7, 5), (9, 0)])
    assert any(fault in each for each in found) if fault else not found
