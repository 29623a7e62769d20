"""Loops on several threads."""

import numpy as np
import pytest
from numba.core import types

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
        factor = factor + 1
        for place in prange(out.size - half):
            for square in range(2):
                out[half + place] = factor * square
'''


@pytest.mark.parametrize("size", [0, 1, 7, 1001])
def test_every_round_is_done_once(size):
    row = types.Array(types.float64, 1, "C")
    kernels = [compile_kernel("two_loops", TWO_LOOPS, (row, types.float64, row), parallel=p) for p in (False, True)]
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
    assert "def rounds_0(_first, _stop, factor, out, x):" in text
    assert "parallel_for(rounds_0, half, (factor, out, x))" in text
    assert "def rounds_1(_first, _stop, factor, half, out):" in text


def test_what_a_round_writes_is_not_read_after_the_loop():
    text = "def kernel(x, out):\n    for place in prange(x.size):\n        last = x[place]\n    out[0] = last\n"
    with pytest.raises(TypeError, match="'last', which is read after the loop"):
        with_parts(text)
