"""Functions of complex numbers, compiled for the processor and held against others."""

import functools
import re

import mpmath
import numba
import numpy as np
import pytest

import numgrad
from numgrad_kernels import complexes, scalar
from numgrad_kernels.cuda import adapter
from numgrad_kernels.instructions import compiled_pairs

DTYPES = (np.complex64, np.complex128)

REAL = {"magnitude", "angle"}

#: Functions of one number, under mpmath's names.
EXACT = {
    "exp": mpmath.exp, "exp2": lambda z: mpmath.power(2, z), "expm1": mpmath.expm1, "log": mpmath.log,
    "log2": lambda z: mpmath.log(z) / mpmath.log(2), "log10": mpmath.log10, "log1p": mpmath.log1p,
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)), "sqrt": mpmath.sqrt, "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tanh": mpmath.tanh, "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "asinh": mpmath.asinh,
    "acosh": mpmath.acosh, "atanh": mpmath.atanh, "magnitude": abs, "angle": mpmath.arg,
}

#: As NumPy has them.
NUMPY = {name: getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
                            "acosh": "arccosh", "atanh": "arctanh", "magnitude": "abs"}.get(name, name))
         for name in EXACT if name not in ("sigmoid", "rsqrt")}

#: Functions for which mpmath loses the digits of a small part.
INVERSES = {"asin", "acos", "atan", "asinh", "acosh", "atanh"}

INF, NAN = np.inf, np.nan


@functools.cache
def loop(name):
    arguments = 2 if name in ("divide", "pow") else 1
    function = compiled_pairs(getattr(complexes, name), arguments, real=name in REAL)

    def unary(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    def binary(x, y, out):
        for i in range(x.size):
            out[i] = function(x[i], y[i])

    return numba.njit(error_model="numpy")(unary if arguments == 1 else binary)


def run(name, *arrays):
    out = np.empty_like(arrays[0].real if name in REAL else arrays[0])
    loop(name)(*arrays, out)
    return out


def numbers(dtype):
    """Return numbers of all magnitudes and angles, and numbers near 1, -1, i and the axes."""
    rng = np.random.default_rng(3)
    largest = 37 if dtype is np.complex64 else 300
    spread = [np.exp(rng.uniform(-3, 3, 80)), 10 ** rng.uniform(-largest, largest, 50), np.full(20, 1.0)]
    parts = [np.concatenate(spread) * rng.choice([-1, 1], 150) for _ in range(2)]
    for part in parts:
        rng.shuffle(part)
    z = parts[0] + 1j * parts[1]
    turned = np.exp(1j * rng.uniform(-3.1, 3.1, 30))
    near = np.concatenate([rng.choice([1, -1, 1j, -1j], 30), turned]) + 1e-3 * (rng.normal(size=60) + 1j)
    small = rng.uniform(-1, 1, 30) * (1e-9 + 1j) + rng.uniform(-1, 1, 30)
    return np.concatenate([z, near, small, small * 1j]).astype(dtype)


def worst(values, exact):
    """The largest distance, in units of precision of the exact value's magnitude, where it is a normal number."""
    info = np.finfo(values.dtype)
    errors = []
    for found, value in zip(values, exact, strict=True):
        if float(info.smallest_normal) / float(info.eps) < abs(value) < float(info.max) / 2:
            assert np.isfinite(found), value
            errors.append(abs(mpmath.mpmathify(complex(found)) - value) / abs(value) / float(info.eps))
    return float(max(errors))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EXACT)
def test_precision(name, dtype):
    z = numbers(dtype)
    if name == "exp2":  # whose angle is rounded before it is a function's argument
        z = z[np.abs(z) < 10]
    if name in ("exp", "expm1", "exp2", "sigmoid", "sinh", "cosh", "sin", "cos"):
        z = z[np.abs(z) < 1e4]
    with mpmath.workprec(2400 if name in INVERSES else 200):
        exact = [EXACT[name](mpmath.mpmathify(complex(value))) for value in z]
        assert worst(run(name, z), exact) < 5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["divide", "pow"])
def test_precision_of_two_arguments(name, dtype):
    z = numbers(dtype)
    w = np.roll(z, 37)
    size = np.maximum(np.abs(np.log(z)), 1) if name == "pow" else 1
    chosen = (np.abs(w) < 100 / size) & (np.abs(w) > 1e-20) & (np.abs(z) > 1e-20)
    z, w = z[chosen], w[chosen]
    function = mpmath.power if name == "pow" else lambda a, b: a / b
    with mpmath.workprec(400):
        exact = [function(*map(mpmath.mpmathify, map(complex, pair))) for pair in zip(z, w, strict=True)]
        assert worst(run(name, z, w), exact) < (100 if name == "pow" else 3)  # a power's angle is rounded, too


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NUMPY)
def test_cuts_infinities_and_nan_are_numpys(name, dtype):
    info = np.finfo(dtype)
    extreme = [89.0, 1000.0, -1000.0, info.max / 2, info.smallest_subnormal, INF, -INF, NAN]
    parts = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, *extreme]
    z = np.array([complex(a, b) for a in parts for b in parts], dtype)
    with np.errstate(all="ignore"):
        expected = NUMPY[name](z)
    if name == "expm1":  # of which NumPy multiplies 0 by infinity
        z, expected = z[np.isfinite(expected)], expected[np.isfinite(expected)]
    found = run(name, z)
    for value, one, other in zip(z, found, expected, strict=True):
        for part, wanted in ((one.real, other.real), (one.imag, other.imag)):
            if not np.isfinite(value):  # where C leaves some signs open
                part, wanted = abs(part), abs(wanted)
            np.testing.assert_allclose(part, wanted, 2e-6, 2e-6, err_msg=str(value))
            assert wanted != 0 or part != 0 or np.signbit(part) == np.signbit(wanted), value


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NUMPY)
def test_operations_compute_the_same(name, dtype):
    """The operations on tensors, on the CPU."""
    parts = [0.0, -1.5, 1000.0, np.finfo(dtype).max, INF, NAN]
    z = np.array([complex(a, b) for a in parts for b in parts], dtype)
    public = {"magnitude": "abs"}.get(name, name)
    np.testing.assert_array_equal(getattr(numgrad, public)(numgrad.tensor(z)).numpy(), run(name, z))


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_of_extreme_numbers(dtype):
    info = np.finfo(dtype)
    sizes = [float(info.max) * 0.99, float(info.smallest_subnormal) * 8]
    z = np.array([size * turn for size in sizes for turn in (1, 1j, 1 + 1j, 1 - 1j)], dtype)
    np.testing.assert_allclose(run("divide", z, z), np.ones_like(z), 4 * info.eps)
    np.testing.assert_allclose(run("divide", np.ones_like(z[:4]), z[:4]) * z[:4] / 2, np.full(4, 0.5), 1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sigmoid_far_from_zero(dtype):
    z = np.array([-100 + 3j, -50 - 2j, 1000 + 3j, -1000 + 3j, INF, -INF], dtype)
    small = np.exp(-100 + 3j), np.exp(-50 - 2j)
    np.testing.assert_allclose(run("sigmoid", z), np.array([*small, 1, 0, 1, 0], dtype), 1e-5, 3e-45)


def test_powers_of_zero():
    w = np.array([0, 2, 2 + 1j, -1, 1j], np.complex128)
    found = run("pow", np.zeros(5, np.complex128), w)
    assert found[:3].tolist() == [1, 0, 0]
    assert np.isnan(found[3:]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_by_zero_each_part_is_divided(dtype):
    z = np.array([1 - 2j, 0, -3, complex(INF, NAN)], dtype)
    found = run("divide", z, np.zeros(4, dtype))
    np.testing.assert_array_equal(found.real, [INF, NAN, -INF, INF])
    np.testing.assert_array_equal(found.imag, [-INF, NAN, NAN, NAN])


@pytest.mark.parametrize("name", ["tanh", "acos", "pow", "divide", "abs"])
def test_a_gpu_needs_neither_memory_nor_float64(name):
    element = numba.complex64
    result = numba.float32 if name == "abs" else element
    given = "x[0], x[1]" if name in ("pow", "divide") else "x[0]"
    text = f"from numgrad_kernels.scalar import {name}\n\n\ndef kernel(x, y):\n    y[0] = {name}({given})\n"
    code = adapter.compile_ptx("complex", text, [adapter.pointer_type(element), adapter.pointer_type(result)])
    assert ".f64" not in code
    assert not re.search(r"\.local|\.extern", code)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    ("function", "argument", "wanted"),
    [
        (scalar.tanh, 50 + 1j, 1), (scalar.tanh, -400 + 2j, -1), (scalar.log1p, 1e-30 + 1e-30j, 1e-30 + 1e-30j),
        (scalar.expm1, 1e-30 - 1e-30j, 1e-30 - 1e-30j),
    ],
)  # fmt: skip
def test_on_cpus_too_nothing_is_lost_far_from_one(function, argument, wanted, dtype):
    found = numba.njit(lambda z: function(z))(dtype(argument))
    assert abs(found - wanted) <= 1e-6 * abs(wanted)
