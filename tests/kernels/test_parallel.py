"""Loops on several threads."""

import numpy as np
import pytest
from numba.core import types

from numgrad_kernels.facts import Facts
from numgrad_kernels.parallel import with_parts
from numgrad_kernels.store import compile_kernel

TWO_LOOPS = '''
from numba import prange

def kernel(x, factor, out):
    half = out.size // 2
    for place in prange(half):
        square = x[place] * x[place]
        out[place] = square * factor
    if half:
        larger = factor + 1
        for place in prange(out.size - half):
            for square in range(2):
                out[half + place] = larger * square
'''


@pytest.mark.parametrize("size", [0, 1, 7, 1001])
def test_every_round_is_done_once(size):
    row = types.Array(types.float64, 1, "C")
    facts = Facts(np.dtype(np.float64))
    given = row, types.float64, row
    kernels = [compile_kernel("two_loops", TWO_LOOPS, given, facts, parallel=p) for p in (False, True)]
    x = np.arange(size, dtype=np.float64)
    serial, threaded = np.zeros_like(x), np.zeros_like(x)
    for kernel, out in zip(kernels, (serial, threaded), strict=True):
        kernel.entry(x, 3.0, out)
    half = size // 2
    expected = np.concatenate([3 * x[:half] ** 2, np.full(size - half, 4.0 * (half > 0))])
    np.testing.assert_array_equal(serial, expected)
    np.testing.assert_array_equal(threaded, serial)


def test_the_rounds_of_a_loop_are_a_function_of_what_they_read():
    text = with_parts(TWO_LOOPS)
    assert "def rounds_1(_first, _stop, factor, out, x):" in text
    assert "parallel_for(rounds_1, half, (factor, out, x))" in text
    assert "def rounds_2(_first, _stop, half, larger, out):" in text


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["for i in prange(x.size):", "    last = x[i]", "out[0] = last"], "writes last, known outside"),
        (["last = 0.0", "for i in prange(x.size):", "    last = x[i]"], "writes last, known outside"),
        (["total = 0.0", "for i in prange(x.size):", "    total += x[i]", "out[0] = total"], "writes total, known"),
        (["for i in prange(x.size):", "    out[i] = x[i]", "out[0] = i"], "writes i, known outside"),
        (["for i in prange(x.size):", "    x = out"], "writes x, known outside"),
        (["for i in prange(x.size):", "    if x[i] < 0:", "        return"], "can end the loop"),
        (["for i in prange(x.size):", "    if x[i] < 0:", "        break"], "can end the loop"),
        (["for i in prange(1, x.size):", "    out[i] = x[i]"], r"over prange\(count\)"),
        (["for i in prange(x.size):", "    for k in prange(i):", "        out[k] = x[i]"], r"over prange\(count\)"),
    ],
)
def test_loops_whose_rounds_depend_on_each_other_are_refused(lines, message):
    body = "".join([f"    {line}\n" for line in lines])
    with pytest.raises(TypeError, match=message):
        with_parts(f"def kernel(x, out):\n{body}")


def test_nothing_in_a_kernel_counts_references():
    row = types.Array(types.float64, 1, "C")
    given = row, types.float64, row
    code = compile_kernel("two_loops", TWO_LOOPS, given, Facts(np.dtype(np.float64)), parallel=True).llvm()
    assert "NRT_" not in code
