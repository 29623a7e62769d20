"""sin, cos and tan for GPUs: the same instructions compiled for the processor, compared with mpmath."""

import functools
import re

import mpmath
import numba
import numpy as np
import pytest
from numba.extending import intrinsic

from numgrad_kernels import angles
from numgrad_kernels.cuda import adapter
from numgrad_kernels.instructions import emitting

#: Greatest errors of results, in units in the last place.
LIMITS = {"sin": 2, "cos": 2, "tan": 3}

DTYPES = (np.float32, np.float64)

#: The least angle that is reduced by the bits of 2/pi, the logarithm of the largest angle, and an angle close to a
#: multiple of a quarter turn.
EDGES = {np.float32: (1e5, 88, 16367173.0 * 2.0**72), np.float64: (1e9, 709, 6381956970095103.0 * 2.0**797)}


def angles_to_try(dtype):
    """Return small, large and huge angles, and angles near multiples of a quarter turn."""
    rng = np.random.default_rng(0)
    large, logarithm, close = EDGES[dtype]
    near = rng.integers(1, 10 * large, 300) * (np.pi / 2)
    largest = np.exp(rng.uniform(-20, logarithm, 600)) * rng.choice([-1, 1], 600)
    edges = [1e-45, -1e-38, np.nextafter(dtype(large), dtype(0)), -large, np.finfo(dtype).max, close]
    few = np.arange(1, 100) * (np.pi / 2)
    return np.concatenate([rng.uniform(-10, 10, 300), few, near, largest, edges]).astype(dtype)


def compiled(function):
    """Return a function of a value that ``@njit`` code can call."""

    @intrinsic
    def call(typing_context, x):
        return x(x), emitting(function)

    return call


@functools.cache
def loop(name):
    function = compiled(getattr(angles, name))

    @numba.njit(error_model="numpy")
    def each(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    return each


def run(name, values):
    out = np.empty_like(values)
    loop(name)(values, out)
    return out


def worst(values, exact):
    """The largest error in units in the last place."""
    return max(
        abs(mpmath.mpf(float(found)) - value) / mpmath.mpf(float(np.spacing(abs(found.dtype.type(float(value))))))
        for found, value in zip(values, exact, strict=True)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_few_units_in_the_last_place(name, dtype):
    x = angles_to_try(dtype)
    with mpmath.workprec(1300):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(value))) for value in x]
    assert worst(run(name, x), exact) < LIMITS[name]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_zeros_keep_their_sign_and_infinity_has_no_angle(name, dtype):
    found = run(name, np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype))
    assert np.isnan(found[2:]).all()
    if name != "cos":
        assert np.signbit(found[:2]).tolist() == [False, True]


@pytest.mark.parametrize("dtype", DTYPES)
def test_sine_and_cosine_at_once(dtype):
    both = compiled(lambda x: angles.sin_cos(x)[0] - 2 * angles.sin_cos(x)[1])
    x = np.linspace(-7, 7, 50, dtype=dtype)
    found = numba.njit(lambda values: np.array([both(value) for value in values]))(x)
    np.testing.assert_array_equal(found, run("sin", x) - 2 * run("cos", x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_a_gpu_needs_neither_memory_nor_float64(name, dtype):
    text = f"from numgrad_kernels.scalar import {name}\n\n\ndef kernel(x):\n    x[0] = {name}(x[0])\n"
    element = numba.from_dtype(np.dtype(dtype))
    code = adapter.compile_ptx("angle", text, [adapter.pointer_type(element)])
    assert dtype is np.float64 or ".f64" not in code
    assert not re.search(r"\.local|\.extern", code)
