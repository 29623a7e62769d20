"""Conversions of float16 and bfloat16 in kernels: the same bits with and without the processor's instructions."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

import numgrad
from numgrad_kernels import halves

#: Numbers near the limits and between neighbours of both dtypes, of each exponent, then all the others' bits once.
EXPONENTS = np.arange(512, dtype=np.uint32) << 23
ENDS = [0, 1, 0xFFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001, 0x18000, 0x7FEFFF, 0x7FF000, 0x7FFFFF]
NUMBERS = (EXPONENTS[:, None] | np.array(ENDS, np.uint32)).reshape(-1).view(np.float32)
ALL = np.arange(1 << 16, dtype=np.uint16)

IN_A_PROCESS = """
from kernels import test_halves
test_halves.check_float16()
"""


def check_float16():
    """Compare with NumPy's conversions, which give the same bits but for those of NaN."""
    wide = numgrad.from_numpy(ALL.view(np.float16).copy()).float().numpy()
    expected = ALL.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(wide), np.isnan(expected))
    np.testing.assert_array_equal(wide.view(np.uint32)[~np.isnan(wide)], expected.view(np.uint32)[~np.isnan(wide)])
    narrow = numgrad.from_numpy(NUMBERS).half().numpy().view(np.uint16)
    with np.errstate(all="ignore"):
        expected = np.where(np.isnan(NUMBERS), np.uint16(0x7E00), NUMBERS.astype(np.float16).view(np.uint16))
    np.testing.assert_array_equal(narrow, expected)


def test_float16():
    check_float16()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="other processors have the instructions")
def test_float16_without_instructions():
    environment = {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", IN_A_PROCESS]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_bfloat16_is_rounded_to_the_nearest_and_then_to_the_even_number():
    x = numgrad.from_numpy(NUMBERS).bfloat16()
    result = x._array().view(np.uint16)
    bits = NUMBERS.view(np.uint32).astype(np.uint64)
    expected = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    np.testing.assert_array_equal(result, np.where(np.isnan(NUMBERS), np.uint16(0x7FC0), expected))
    assert (x.float().bfloat16()._array().view(np.uint16) == result).all()


def test_in_python():
    for x in NUMBERS[::7]:
        for narrow, widen in ((halves.to_float16, halves.from_float16), (halves.to_bfloat16, halves.from_bfloat16)):
            assert narrow(widen(narrow(x))) == narrow(x)
    assert halves.from_float16(halves.to_float16(np.float32(0.1))) == np.float16(0.1)
    assert halves.to_float16(np.nan) == 0x7E00
    assert halves.to_bfloat16(np.float32(1 + 2.0**-8)) == 0x3F80
