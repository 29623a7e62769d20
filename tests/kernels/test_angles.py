"""sin, cos and tan of float32 for GPUs: the same instructions, compiled for the processor and held against mpmath."""

import re

import mpmath
import numba
import numpy as np
import pytest

from numgrad_kernels import angles
from numgrad_kernels.cuda import adapter
from numgrad_kernels.instructions import compiled

#: Units in the last place that results may be off by.
LIMITS = {"sin": 3, "cos": 3, "tan": 4}


def angles_to_try():
    """Small, large and huge ones, and such as lie near multiples of a quarter of a turn."""
    rng = np.random.default_rng(0)
    near = rng.integers(1, 10**6, 300) * (np.pi / 2)
    largest = np.exp(rng.uniform(-20, 88, 600)) * rng.choice([-1, 1], 600)
    edges = [1e-45, -1e-38, 99999.99, -100000.0, 3.4028235e38, 16367173.0 * 2.0**72]  # the last: near a multiple
    return np.concatenate([rng.uniform(-10, 10, 300), near, largest, edges]).astype(np.float32)


def run(name, values):
    function = compiled(getattr(angles, name))

    @numba.njit(error_model="numpy")
    def each(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    out = np.empty_like(values)
    each(values, out)
    return out


@pytest.mark.parametrize("name", LIMITS)
def test_few_units_in_the_last_place(name):
    x = angles_to_try()
    with mpmath.workprec(300):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(value))) for value in x]
        units = [abs(mpmath.mpf(float(found)) - value) / mpmath.mpf(float(np.spacing(abs(np.float32(float(value))))))
                 for found, value in zip(run(name, x), exact, strict=True)]
    assert max(units) < LIMITS[name]


@pytest.mark.parametrize("name", LIMITS)
def test_zeros_keep_their_sign_and_infinity_has_no_angle(name):
    found = run(name, np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32))
    assert np.isnan(found[2:]).all()
    if name != "cos":
        assert np.signbit(found[:2]).tolist() == [False, True]


@pytest.mark.parametrize("name", LIMITS)
def test_a_gpu_needs_no_float64(name):
    text = f"from numgrad_kernels.scalar import {name}\n\n\ndef kernel(x):\n    x[0] = {name}(x[0])\n"
    code = adapter.compile_ptx("angle", text, [adapter.pointer_type(adapter.types.float32)])
    assert ".f64" not in code
    assert not re.search(r"\.local|\.extern", code)
