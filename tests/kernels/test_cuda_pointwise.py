"""Pointwise kernels for GPUs: their text, their results in the simulator, and their PTX."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import config

from numgrad_kernels import scalar
from numgrad_kernels.cuda import adapter, language
from numgrad_kernels.cuda.pointwise import argument_types, flat_text, may_be_quads, quads_text, strided_text
from numgrad_kernels.merged import Merger
from numgrad_kernels.pointwise import Operand, PointwiseProgram

FLOAT32 = np.dtype(np.float32)
BOOL = np.dtype(np.bool_)


def gelu(x, y, factor):
    inner = scalar.tanh(x + factor)
    return inner * y + 0.5


def slope(x, y, factor):
    return x / (1 + y)


def bits(x, y, factor):
    return scalar.where(scalar.isinf(x), scalar.floor(-x), scalar.erf(scalar.atanh(x)) + scalar.log(scalar.exp(x)))


def larger(x, y, factor):
    return x > y


def product(x, y):
    return x * y


def total(x, y):
    return x + y


def program(*functions, dtype=FLOAT32, outputs=None):
    inputs = Operand("x", dtype), Operand("y", np.dtype(np.int16)), Operand("factor", np.dtype(float), scalar=True)
    outs = tuple([(f"out{n}", outputs[n] if outputs else dtype) for n in range(len(functions))])
    return PointwiseProgram("example", dtype, inputs, outs, functions)


def test_a_thread_computes_every_element_that_is_its_own():
    text = strided_text(program(gelu), 2, narrow=True)
    assert text.startswith('"""example: one pass over memory, computed in float32, on a GPU."""')
    for line in ["i1 = int64(rest(i, uint64(n1)))", "y_q = y_o + i0 * y_s0 + i1 * y_s1", "y_i = float32(y[y_q])"]:
        assert f"        {line}\n" in text


def test_operands_may_be_called_as_the_text_calls_its_own_variables():
    def named(quads, left, out_q0, i_q):
        return quads + left * out_q0 - i_q

    inputs = tuple([Operand(name, FLOAT32) for name in ("quads", "left", "out_q0", "i_q")])
    text = quads_text(PointwiseProgram("named", FLOAT32, inputs, (("out", FLOAT32),), (named,)))
    assert "def kernel(quads_, left_, out_q0_, i_q, out, n):" in text


def test_complex_numbers_are_not_read_four_at_a_time():
    assert may_be_quads(program(slope))
    assert not may_be_quads(program(slope, dtype=np.dtype(np.complex64)))


SIMULATED = """
import numpy as np
import test_cuda_pointwise as given
from numgrad_kernels.cuda import adapter
from numgrad_kernels.cuda.pointwise import quads_text, flat_text, strided_text

found = given.program(given.gelu, given.larger, outputs=[given.FLOAT32, given.BOOL])
for count in (0, 1, 4, 7, 26):
    x = np.linspace(-2, 2, count, dtype=np.float32)
    y = np.arange(count, dtype=np.int16) % 3
    for text in (flat_text(found), quads_text(found)):
        out, truth = np.zeros(count, np.float32), np.zeros(count, np.uint8)
        adapter.simulated_kernel("example", text)(2, 3, x, y, 0.25, out, truth, count)
        np.testing.assert_allclose(out, np.tanh(x + 0.25) * y + 0.5, rtol=1e-5)
        assert (truth == (x > y)).all()

x, y = np.linspace(-2, 2, 24, dtype=np.float32), np.arange(3, dtype=np.int16)
for narrow in (False, True):
    out, truth = np.zeros(24, np.float32), np.zeros(24, np.uint8)
    run = adapter.simulated_kernel("example", strided_text(found, 3, narrow))
    run(2, 4, x, y, 0.25, out, truth, 24, 3, 4, 4, 8, 1, 0, 1, 0, 12, 4, 1, 12, 4, 1, 0, 0, 0, 0)
    seen = x.reshape(3, 2, 4).transpose(1, 0, 2)
    np.testing.assert_allclose(out.reshape(2, 3, 4), np.tanh(seen + 0.25) * y[:, None] + 0.5, rtol=1e-5)
"""


def simulate(script):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": os.pathsep.join([
        str(Path(__file__).parent), *sys.path,
    ])}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)


def test_the_simulator_finds_what_numpy_does():
    done = simulate(SIMULATED)
    assert done.returncode == 0, done.stderr


STRICT = """
import numpy as np
from numgrad_kernels.cuda import adapter

text = '''
from numba import cuda
from numpy import float32

def kernel(x, out, barrier):
    part = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    part[thread] = x[thread]
    if barrier:
        cuda.syncthreads()
    out[thread] = part[7 - thread]
'''
run, x = adapter.simulated_kernel("example", text), np.arange(8, dtype=np.float32)
for barrier in (True, False):
    right = 0
    for _ in range(20):
        out = np.zeros(8, np.float32)
        run(1, 8, x, out, barrier)
        right += (out == x[::-1]).all()
    assert right == (20 if barrier else 0), (barrier, right)
try:
    run(1, 8, x[:7], np.zeros(8, np.float32), True)
except IndexError as error:
    assert "element 7 of a buffer of 7" in str(error)
else:
    raise AssertionError("a kernel has read what is not its own")
"""


def test_the_simulator_shows_a_missing_barrier_and_an_index_out_of_bounds():
    done = simulate(STRICT)
    assert done.returncode == 0, done.stderr


def test_the_adapter_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[cuda\]"'):
        importlib.reload(adapter)


def test_the_simulator_makes_no_ptx(monkeypatch):
    monkeypatch.setattr(config, "ENABLE_CUDASIM", 1)
    with pytest.raises(NotImplementedError, match="simulator"):
        adapter.compile_ptx("example", "def kernel(x):\n    x[0] = 1\n", [adapter.pointer_type(adapter.types.float32)])


@pytest.mark.parametrize("function", [gelu, slope, bits], ids=lambda function: function.__name__)
def test_float32_stays_float32_in_ptx(function):
    found = program(function)
    code = adapter.compile_ptx("example", flat_text(found), argument_types(found, 1))
    assert ".visible .entry" in code
    assert "st.global.f32" in code
    assert not re.search(r"\.f64 %fd[0-9]+, %fd|\.extern", code)


@pytest.mark.parametrize(("dtype", "kind"), [(np.float32, "f32"), (np.float64, "f64")])
def test_merged_programs_round_each_product(dtype, kind):
    """NVIDIA's compilers fuse no addition that states its rounding: here that of -0."""
    dtype = np.dtype(dtype)
    operands, outputs, merger = (Operand("x", dtype), Operand("y", dtype)), (("out", dtype),), Merger(dtype)
    first, second = [PointwiseProgram("example", dtype, operands, outputs, (each,)) for each in (product, total)]
    merger.add(first, [("x", False), ("y", False)], ["product"])
    merger.add(second, [("product", False), ("x", False)], ["total"])
    merged, _ = merger.program("product_total", ["total"])
    code = adapter.compile_ptx("example", flat_text(merged), argument_types(merged, 1))
    operations = re.findall(rf"\t(mul|add|fma)(\S*)\.{kind}", code)
    assert operations == [("mul", ""), ("add", ".rn"), ("add", ""), ("add", ".rn")]


def test_four_elements_are_one_access():
    found = program(slope, larger, outputs=[FLOAT32, BOOL])
    code = adapter.compile_ptx("example", quads_text(found), argument_types(found, 1))
    for access in ["ld.global.v4.f32", "ld.global.v4.u16", "st.global.v4.f32", "st.global.v4.u8"]:
        assert access in code


def test_indices_of_fewer_than_32_bits_are_divided_as_such():
    found = program(slope)
    narrow, wide = [
        adapter.compile_ptx("example", strided_text(found, 2, narrow), argument_types(found, 2 * 4 + 3))
        for narrow in (True, False)
    ]
    assert "div.u32" in narrow
    assert "div.u64" not in narrow
    assert "div.u64" in wide


ATOMIC = """
from numba import cuda
from numpy import {dtype}

from numgrad_kernels.cuda.language import atomic_add, row_at


def kernel(table, n):
    total = row_at(table[0], {dtype})
    atomic_add(total, n, {dtype}(1))
"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_an_atomic_addition_at_an_address(dtype):
    whole = adapter.types.int64
    code = adapter.compile_ptx("example", ATOMIC.format(dtype=dtype), [adapter.pointer_type(whole), whole])
    assert re.search(r"(atom|red)\.(global\.)?add\.", code)


def test_words_of_the_language_in_plain_python():
    row = np.arange(8.0)
    assert language.load4(row, 1) == (4, 5, 6, 7)
    language.store4(row, 0, 9, 8, 7, 6)
    language.atomic_add(row, 7, 2)
    assert row.tolist() == [9, 8, 7, 6, 4, 5, 6, 9]
    assert (language.quotient(17, 5), language.rest(17, 5)) == (3, 2)
    assert language.row_at(row.ctypes.data, np.float64)[2] == 7
