"""Pointwise kernels for GPUs: what they compute, in Numba's simulator, and their PTX."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import config, types

from numgrad_kernels import scalar
from numgrad_kernels.cuda.pointwise import kernel_text
from numgrad_kernels.cuda.ptx import ptx
from numgrad_kernels.pointwise import Operand, Program, argument_types

FLOAT32 = np.dtype(np.float32)


def gelu(x, y, factor):
    inner = scalar.tanh(x + factor)
    return inner * y + 0.5


def slope(x, y, factor):
    return x / (1 + y)


def bits(x, y, factor):
    return scalar.where(scalar.isinf(x), scalar.floor(-x), scalar.erf(scalar.atanh(x)) + scalar.log(scalar.exp(x)))


def program(*functions, dtype=FLOAT32):
    inputs = Operand("x", dtype), Operand("y", np.dtype(np.int16)), Operand("factor", np.dtype(float), scalar=True)
    outputs = tuple([(f"out{number}", dtype) for number in range(len(functions))])
    return Program("example", dtype, inputs, outputs, functions)


def test_a_thread_computes_every_element_that_is_its_own():
    text = kernel_text(program(gelu), 2)
    assert text.startswith('"""example: one pass over memory, computed in float32, on a GPU."""')
    for line in ["i1 = i % uint64(out0.shape[1])", "y_i = float32(y[i0, i1])", "i += step"]:
        assert f"        {line}\n" in text


SIMULATED = """
import sys
import types
import numpy as np
from numba import cuda

sys.path.insert(0, {here!r})
from test_cuda_pointwise import gelu, kernel_text, program, slope

for rank, shape in [(1, (7,)), (2, (3, 5)), (3, (2, 3, 4))]:
    x = np.linspace(-2, 2, np.prod(shape), dtype=np.float32).reshape(shape).T
    y = np.arange(x.size, dtype=np.int16).reshape(x.shape)
    outs = np.zeros((2, *x.shape), np.float32)
    module = types.ModuleType("example")
    exec(kernel_text(program(gelu, slope), rank), module.__dict__)
    cuda.jit(module.kernel)[2, 3](x, y, 0.25, *outs)
    np.testing.assert_allclose(outs[0], np.tanh(x + 0.25) * y + 0.5, rtol=1e-5)
    np.testing.assert_allclose(outs[1], x / (1 + y.astype(np.float32)), rtol=1e-6)
""".replace("{here!r}", repr(str(Path(__file__).parent)))


def test_the_simulator_finds_what_numpy_does():
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-c", SIMULATED], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ptx_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[cuda\]"'):
        ptx("def kernel(x):\n    x[0] = 1\n", [types.float32[::1]])


def test_the_simulator_makes_no_ptx(monkeypatch):
    monkeypatch.setattr(config, "ENABLE_CUDASIM", 1)
    with pytest.raises(NotImplementedError, match="simulator"):
        ptx("def kernel(x):\n    x[0] = 1\n", [types.float32[::1]])


@pytest.mark.parametrize("function", [gelu, slope, bits], ids=lambda function: function.__name__)
def test_float32_stays_float32_in_ptx(function):
    found = program(function)
    code = ptx(kernel_text(found, 1), argument_types(found, 1, True))
    assert ".visible .entry" in code
    assert "st.global.f32" in code
    assert not re.search(r"\.f64 %fd[0-9]+, %fd|\.extern", code)
