"""numgrad_kernels.scalar: precision, special values, vectorisation, types, and the two forms' agreement."""

import functools
import inspect
import math
import re
from functools import partial

import mpmath
import numpy as np
import pytest
from numba import njit

from numgrad_kernels import libm, scalar

OPTIONS = {"error_model": "numpy", "fastmath": {"contract"}}
FLOATS = [np.float32, np.float64]
POLYNOMIALS = [(name, dtype) for name in ("exp", "expm1", "log", "log1p", "tanh", "sigmoid") for dtype in FLOATS]
POLYNOMIALS += [(name, np.float32) for name in ("erf", "erfc", "pow")]
PATH = f"libmvec {libm.variant()}" if libm.libmvec_found() else "no libmvec"  # shown in the tests' names


@functools.cache
def loop(name):
    """out[i] = function(x[i]) as kernels have it."""
    function = getattr(scalar, name)

    def unary(x, out):
        for i in range(x.shape[0]):
            out[i] = function(x[i])

    def binary(x, y, out):
        for i in range(x.shape[0]):
            out[i] = function(x[i], y[i])

    return njit(**OPTIONS)(unary if arity(name) == 1 else binary)


def arity(name):
    return len(inspect.signature(getattr(scalar, name)).parameters)


def apply(name, *arrays, size=None):
    """The function of the arrays by its loop; with a size in pieces of so many elements."""
    out = np.empty_like(arrays[0])
    size = size or len(out)
    for start in range(0, len(out), size):
        piece = slice(start, start + size)
        loop(name)(*(a[piece] for a in arrays), out[piece])
    return out


def code(name, dtype):
    """LLVM's code of the loop in one dtype."""
    array = np.ones(1, dtype)
    apply(name, *[array] * arity(name))
    signature = next(s for s in loop(name).signatures if s[0].dtype.name == np.dtype(dtype).name)
    return loop(name).inspect_llvm(signature)


def machine_code(name):
    apply(name, np.ones(1, np.float32))
    return next(iter(loop(name).inspect_asm().values()))


def same_bits(a, b):
    unsigned = f"u{a.itemsize}"
    return np.array_equal(a.view(unsigned), b.view(unsigned))


def units_off(got, exact):
    """The largest distance in units in the last place."""
    info = np.finfo(got.dtype)
    worst = 0.0
    for value, reference in zip(got, exact, strict=True):
        if abs(reference) > info.max:
            assert np.isinf(value), reference
            continue
        exponent = mpmath.frexp(max(abs(reference), mpmath.mpf(float(info.smallest_normal))))[1] - 1
        unit = mpmath.ldexp(1, exponent - info.nmant)
        worst = max(worst, float(abs(mpmath.mpf(float(value)) - reference) / unit))
    return worst


RNG = np.random.default_rng(20)
SEEDED = RNG.bit_generator.state
COUNT = 100


@pytest.fixture(autouse=True)
def the_same_numbers_whichever_tests_run():
    RNG.bit_generator.state = SEEDED


# --- precision

# True if the target multiplies and adds in one instruction, as the polynomials' limit of 2 units supposes.
FUSED = re.search("fmadd|fmla", machine_code("exp")) is not None


def between(low, high):
    return lambda info: RNG.uniform(low, high, COUNT)


def sized(low, high, signs=(-1, 1)):
    """Powers of ten from low to high."""
    return lambda info: 10.0 ** RNG.uniform(low, high, COUNT) * RNG.choice(signs, COUNT)


def positive(info):
    """All the positive numbers, subnormal ones too."""
    return 2.0 ** RNG.uniform(info.minexp - info.nmant, info.maxexp - 0.01, COUNT)


def near_minus_1(info):
    return 2.0 ** RNG.uniform(-info.nmant, -1, COUNT) - 1


def exponents(factor):
    """Return arguments for which e^(x / factor) is neither 0 nor infinite."""
    return lambda info: factor * RNG.uniform(info.minexp - info.nmant, info.maxexp - 0.01, COUNT) * np.log(2)


def exact_lgamma(x):
    return mpmath.log(abs(mpmath.gamma(x)))


TURNS = [between(-10, 10), between(-1e4, 1e4), sized(-30, 30)]
SMALL = [between(-1, 1), sized(-30, 0)]
ALL_BELOW_1 = sized(-45, 0)  # of float32, subnormal numbers, too
LOGARITHM = [positive, between(0.5, 2), between(0.999, 1.001)]

# name: (exact function, limit in units in the last place, arguments)
UNARY = {
    "exp": (mpmath.exp, 2, [exponents(1), *SMALL]),
    "log": (mpmath.log, 2, LOGARITHM),
    "tanh": (mpmath.tanh, 2, [between(-25, 25), *SMALL]),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), 2, [exponents(1), between(-5, 5), *SMALL]),
    "exp2": (lambda x: mpmath.power(2, x), 4, [exponents(1.4426), *SMALL]),
    "expm1": (mpmath.expm1, 2, [exponents(1), between(-2, 2), ALL_BELOW_1, *SMALL]),
    "log2": (lambda x: mpmath.log(x, 2), 4, LOGARITHM),
    "log10": (mpmath.log10, 4, LOGARITHM),
    "log1p": (mpmath.log1p, 2, [positive, between(-0.99, 2), ALL_BELOW_1, near_minus_1, sized(6, 9, [1])]),
    "sqrt": (mpmath.sqrt, 0.5, [positive]),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), 1.5, [positive]),
    "sin": (mpmath.sin, 4, TURNS),
    "cos": (mpmath.cos, 4, TURNS),
    "tan": (mpmath.tan, 4, TURNS),
    "asin": (mpmath.asin, 4, SMALL),
    "acos": (mpmath.acos, 4, SMALL),
    "atan": (mpmath.atan, 4, [between(-10, 10), sized(-30, 30)]),
    "sinh": (mpmath.sinh, 4, [exponents(0.7), *SMALL]),
    "cosh": (mpmath.cosh, 4, [exponents(0.7), *SMALL]),
    "asinh": (mpmath.asinh, 4, [between(-10, 10), sized(-30, 30)]),
    "acosh": (mpmath.acosh, 4, [between(1, 10), between(1, 1.01), sized(0, 30, [1])]),
    "atanh": (mpmath.atanh, 4, SMALL),
    "erf": (mpmath.erf, {np.float32: 2, np.float64: 4}, [between(-5, 5), between(0.7, 1.1), ALL_BELOW_1, *SMALL]),
    "erfc": (mpmath.erfc, 4, [between(-3, 9), between(8.5, 10.2), ALL_BELOW_1, *SMALL]),
    "lgamma": (exact_lgamma, 4, [between(0, 3), between(3, 100), sized(-20, 20, [1])]),
    "digamma": (mpmath.digamma, 8, [between(0, 0.9), between(3, 100), sized(-20, 0, [1]), sized(1, 20, [1])]),
    "erfinv": (mpmath.erfinv, 2, [between(-1, 1), *SMALL]),
    "ndtri": (lambda p: -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p), 4, [between(0, 0.5), between(0.5, 1)]),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), 4, [between(-5, 10), sized(-20, 1)]),
    "erfcx_slope": (
        lambda x: 2 * (x * mpmath.exp(x * x) * mpmath.erfc(x) - 1 / mpmath.sqrt(mpmath.pi)), 8,
        [between(-5, 10), sized(-20, 3)],
    ),
    "modified_bessel_i0": (partial(mpmath.besseli, 0), 4, [between(-20, 20), sized(-20, 1.9)]),
    "scaled_modified_bessel_i0": (lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), 4, [between(-20, 20)]),
    "modified_bessel_i1": (partial(mpmath.besseli, 1), 4, [between(-20, 20), sized(-20, 1.9)]),
    "scaled_modified_bessel_i1": (lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), 4, [between(-20, 20)]),
    "modified_bessel_k0": (partial(mpmath.besselk, 0), 4, [between(0, 20), sized(-20, 1.5, [1])]),
    "modified_bessel_k1": (partial(mpmath.besselk, 1), 4, [between(0, 20), sized(-20, 1.5, [1])]),
    "scaled_modified_bessel_k0": (lambda x: mpmath.exp(x) * mpmath.besselk(0, x), 5, [between(0, 20)]),
    "scaled_modified_bessel_k1": (lambda x: mpmath.exp(x) * mpmath.besselk(1, x), 4, [between(0, 20)]),
    # between their zeros
    "bessel_j0": (partial(mpmath.besselj, 0), 8, [between(-2, 2), between(6, 8.2)]),
    "bessel_j1": (partial(mpmath.besselj, 1), 8, [between(-3.4, 3.4), between(7.4, 9.8)]),
    "bessel_y0": (partial(mpmath.bessely, 0), 12, [between(0, 0.6), between(1.2, 3.6), between(7.4, 9.8)]),
    "bessel_y1": (partial(mpmath.bessely, 1), 8, [between(0, 1.9), between(5.8, 8.2)]),
    "spherical_bessel_j0": (lambda x: mpmath.sin(x) / x, 4, [between(-3, 3), *SMALL]),
    "airy_ai": (mpmath.airyai, 16, [between(-2, 4), between(-3.8, -2.6), between(-5.2, -4.4)]),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_precision(name, dtype):
    exact, limit, samples = UNARY[name]
    limit = limit[dtype] if isinstance(limit, dict) else limit
    if limit == 2 and not FUSED:
        limit = 3
    x = np.concatenate([sample(np.finfo(dtype)) for sample in samples]).astype(dtype)
    x = x[np.isfinite(x)]
    with mpmath.workprec(160):
        expected = [exact(mpmath.mpf(float(v))) for v in x]
        assert units_off(apply(name, x), expected) <= limit
        assert units_off(apply(name, x, size=3), expected) <= limit  # too short for the vector form


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "tanh", "erf"])
def test_precision_of_float32_throughout(name):
    x = np.arange(0, 1 << 32, 8191, np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        exact = (np.vectorize(math.erf) if name == "erf" else getattr(np, name))(x.astype(np.float64))
        finite = np.abs(exact) <= np.finfo(np.float32).max
        units = np.abs(apply(name, x)[finite] - exact[finite]) / np.spacing(np.abs(exact[finite]).astype(np.float32))
    assert units.max() <= (2 if FUSED else 3)


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_odd_functions_that_rise(name):
    x = np.linspace(0, 12, 1_000_000, dtype=np.float32)
    y = apply(name, x)
    assert same_bits(apply(name, -x), -y)
    assert (np.diff(y) >= 0).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_precision_of_two_arguments(name, dtype):
    x = (2.0 ** RNG.uniform(-20, 20, 3 * COUNT)).astype(dtype)
    y = RNG.uniform(-6, 6, 3 * COUNT).astype(dtype)
    x[::3] = RNG.uniform(0.9, 1.1, COUNT)
    y[::3] *= 50
    if name == "pow":
        x[1::3] *= -1
        y[1::3] = np.rint(y[1::3])
    exact = {"pow": mpmath.power, "atan2": mpmath.atan2, "hypot": mpmath.hypot}[name]
    with mpmath.workprec(200):
        expected = [exact(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(x, y, strict=True)]
        assert units_off(apply(name, x, y), expected) <= 4
        assert units_off(apply(name, x, y, size=3), expected) <= 4


def test_precision_of_float32_powers():
    bases = [2.0 ** RNG.uniform(low, high, COUNT) for low, high in ((-149, -100), (100, 128), (-1, 1), (-0.1, 0.1))]
    exponents = [RNG.uniform(-size, size, COUNT) for size in (1.3, 1.1, 150, 1200)]
    x, y = (np.concatenate(part).astype(np.float32) for part in (bases, exponents))
    with mpmath.workprec(200):
        exact = [mpmath.power(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(x, y, strict=True)]
        assert units_off(apply("pow", x, y), exact) <= 3


# --- special values

INF, NAN = np.inf, np.nan
SPECIAL = {
    "exp": [(-INF, 0), (INF, INF), (NAN, NAN), (0, 1), (-0.0, 1), (1000, INF), (-1000, 0)],
    "log": [(0, -INF), (-0.0, -INF), (-1, NAN), (-INF, NAN), (INF, INF), (NAN, NAN), (1, 0)],
    "tanh": [(-INF, -1), (INF, 1), (NAN, NAN), (0, 0), (-0.0, -0.0), (50, 1), (-50, -1), (1e-8, 1e-8)],
    "sigmoid": [(-INF, 0), (INF, 1), (NAN, NAN), (0, 0.5), (-0.0, 0.5), (1000, 1), (-1000, 0)],
    "sin": [(INF, NAN), (NAN, NAN), (-0.0, -0.0)],
    "expm1": [(-INF, -1), (INF, INF), (-0.0, -0.0), (0, 0), (NAN, NAN), (-1000, -1), (1000, INF), (1e-40, 1e-40)],
    "log1p": [(-1, -INF), (-2, NAN), (-0.0, -0.0), (0, 0), (INF, INF), (-INF, NAN), (NAN, NAN), (1e-40, 1e-40)],
    "sqrt": [(-1, NAN), (-0.0, -0.0), (INF, INF)],
    "rsqrt": [(0, INF), (-1, NAN), (INF, 0)],
    "erf": [(INF, 1), (-INF, -1), (-0.0, -0.0), (NAN, NAN), (1e30, 1), (-40, -1)],
    "erfc": [(INF, 0), (-INF, 2), (0, 1), (-0.0, 1), (NAN, NAN), (1e30, 0), (-40, 2)],
    "lgamma": [(0, INF), (-1, INF), (1, 0), (2, 0), (INF, INF), (-INF, INF), (NAN, NAN)],
    "digamma": [(0, -INF), (-0.0, INF), (-1, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "erfinv": [(1, INF), (-1, -INF), (2, NAN), (-0.0, -0.0), (NAN, NAN)],
    "ndtri": [(0, -INF), (1, INF), (0.5, 0), (-1, NAN), (2, NAN), (NAN, NAN)],
    "erfcx": [(INF, 0), (-INF, INF), (0, 1), (-0.0, 1), (NAN, NAN), (-40, INF)],
    "modified_bessel_i0": [(INF, INF), (-INF, INF), (0, 1), (NAN, NAN)],
    "modified_bessel_i1": [(INF, INF), (-INF, -INF), (-0.0, -0.0), (NAN, NAN)],
    "scaled_modified_bessel_i0": [(INF, 0), (-INF, 0), (0, 1), (NAN, NAN)],
    "modified_bessel_k0": [(0, INF), (-1, NAN), (INF, 0), (NAN, NAN)],
    "modified_bessel_k1": [(0, INF), (-1, NAN), (INF, 0), (NAN, NAN)],
    "bessel_y0": [(0, -INF), (-1, NAN), (NAN, NAN)],
    "bessel_y1": [(0, -INF), (-1, NAN), (NAN, NAN)],
    "spherical_bessel_j0": [(0, 1), (INF, 0), (NAN, NAN)],
    "airy_ai": [(INF, 0), (NAN, NAN)],
    "atanh": [(1, INF), (-1, -INF), (2, NAN)],
    "acosh": [(1, 0), (0.5, NAN)],
    "sign": [(NAN, 0), (-0.0, 0), (3, 1), (-INF, -1)],
    "abs": [(-0.0, 0), (-INF, INF), (NAN, NAN)],
    "round": [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, -0.0), (-2.5, -2), (INF, INF)],
    "trunc": [(-0.5, -0.0), (2.7, 2), (-2.7, -2)],
    "floor": [(-0.5, -1), (2.7, 2), (NAN, NAN)],
    "ceil": [(-0.5, -0.0), (2.2, 3), (-INF, -INF)],
    "isnan": [(NAN, 1), (INF, 0), (0, 0)],
    "isinf": [(NAN, 0), (-INF, 1), (0, 0)],
}
SPECIAL_PAIRS = {
    "maximum": [(NAN, 1, NAN), (1, NAN, NAN), (1, 2, 2), (-INF, 3, 3)],
    "minimum": [(NAN, 1, NAN), (1, NAN, NAN), (1, 2, 1), (INF, 3, 3)],
    "pow": [
        *[(0, 0, 1), (NAN, 0, 1), (1, NAN, 1), (-8, 3, -512), (-8, 0.5, NAN), (0, -1, INF), (-0.0, -1, -INF)],
        *[(2, INF, INF), (0.5, INF, 0), (-INF, 0.5, INF), (-0.0, 0.5, 0), (-0.0, 3, -0.0), (-INF, -3, -0.0)],
        *[(-1, INF, 1), (-1, -INF, 1), (-1, NAN, NAN), (NAN, 1, NAN), (1, INF, 1), (2, -INF, 0), (0.5, -INF, INF)],
        *[(INF, 0, 1), (INF, -2, 0), (-INF, 3, -INF), (-INF, 2, INF), (0, INF, 0), (0, -INF, INF), (-0.0, -2, INF)],
        *[(-3, 1e30, INF), (-0.5, -1e30, INF), (-2, 2.0**24, INF), (10, 400, INF), (3, 1e-30, 1), (-2, -INF, 0)],
    ],
    "atan2": [(0, -1, np.pi), (-0.0, -1, -np.pi), (0, 1, 0), (NAN, 1, NAN), (INF, INF, np.pi / 4)],
    "hypot": [(3, -4, 5), (INF, NAN, INF), (NAN, -INF, INF), (NAN, 1, NAN), (0, -0.0, 0), (1e30, 0, 1e30)],
    "truncated_quotient": [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (1, -2, -0.0), (1, 0, INF), (0, 0, NAN), (INF, 2, INF)],
    "floor_quotient": [(7, 2, 3), (-7, 2, -4), (7, -2, -4), (1, 0, INF), (0, 0, NAN), (-5, 3, -2)],
    "fmod": [(7, 3, 1), (-7, 3, -1), (7, -3, 1), (-4, 2, -0.0), (5, INF, 5), (5, 0, NAN), (INF, 2, NAN)],
    "remainder": [(7, 3, 1), (-7, 3, 2), (7, -3, -2), (-5, INF, INF), (5, INF, 5), (5, 0, NAN)],
    "zeta": [
        *[(1, 2, INF), (0.5, 2, NAN), (2, 0, INF), (2, -3, INF), (2.5, -0.5, NAN), (2, INF, 0), (NAN, 1, NAN)],
        *[(2, NAN, NAN), (2, 1, np.pi**2 / 6), (4, 1, np.pi**4 / 90), (200, 1, 1)],
    ],
    "copysign": [(3, -0.0, -3), (-3, 1, 3), (NAN, -1, NAN), (0, -1, -0.0)],
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "cases"), (SPECIAL | SPECIAL_PAIRS).items(), ids=[*SPECIAL, *SPECIAL_PAIRS])
def test_special_values(name, cases, dtype):
    for case in cases:
        *arguments, expected = (dtype(value) for value in case)
        plain = dtype(getattr(scalar, name)(*arguments))
        got = np.array([plain, *apply(name, *(np.full(67, value) for value in arguments))])
        np.testing.assert_allclose(got, np.full(68, expected), rtol=4 * np.finfo(dtype).eps, err_msg=str(case))
        assert np.isnan(expected) or np.all(np.signbit(got) == np.signbit(expected)), case


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainders_are_exact_for_quotients_of_every_size(dtype):
    random, size = np.random.default_rng(7), 4000
    x, y = np.frombuffer(random.bytes(2 * size * np.dtype(dtype).itemsize), dtype).reshape(2, size)
    divisors = random.uniform(0.1, 9, size).astype(dtype)
    multiples = divisors * random.integers(-999, 999, size).astype(dtype)
    x, y = np.append(x, np.nextafter(multiples, dtype(np.inf))), np.append(y, divisors)
    with np.errstate(all="ignore"):
        rest = np.fmod(x, y)
        expected = np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)
        np.testing.assert_array_equal(apply("fmod", x, y), rest)
        np.testing.assert_array_equal(apply("remainder", x, y), expected)
        np.testing.assert_array_equal(apply("floor_quotient", x, y), np.floor_divide(x, y))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_quotients_of_the_largest_integers(dtype):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.min + 1, 0, 1, 7, info.max - 1, info.max] + [-1, -7] * (info.min < 0), dtype)
    x, y = [numbers.ravel() for numbers in np.meshgrid(ends, ends[ends != 0])]
    exact = [int(a) // int(b) for a, b in zip(x, y, strict=True)]
    assert [q if q <= info.max else info.min for q in exact] == apply("floor_quotient", x, y).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_subnormal_numbers_in_and_out(dtype):
    info = np.finfo(dtype)
    tiny = info.smallest_subnormal * np.arange(1, 200, dtype=dtype)
    assert same_bits(apply("tanh", -tiny), -tiny)
    assert same_bits(apply("exp", tiny), np.ones_like(tiny))
    assert same_bits(apply("sigmoid", tiny), np.full_like(tiny, 0.5))
    ends = [np.log(float(info.smallest_normal)), np.log(float(info.smallest_subnormal)) - 1]
    below = np.linspace(*ends, 200, dtype=dtype)
    with mpmath.workprec(160):
        exact = [mpmath.exp(mpmath.mpf(float(v))) for v in below]
        assert units_off(apply("exp", below), exact) <= 1
        assert units_off(apply("sigmoid", below), exact) <= 1
        assert units_off(apply("log", tiny), [mpmath.log(mpmath.mpf(float(v))) for v in tiny]) <= 2


# --- an element's value and its place


PIECES = [(start, length) for start in (*range(18), 63, 64, 500) for length in (1, 2, 3, 5, 8, 17, 33, 64, 65, 130)]
FUNCTIONS = [*UNARY, "pow", "atan2", "hypot"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_do_not_depend_on_the_place(name, dtype):
    x = RNG.uniform(0.01, 0.99, 1000).astype(dtype) + (name == "acosh")
    arguments = [x, x[::-1].copy()][: arity(name)]
    whole = apply(name, *arguments)
    for start, length in PIECES:
        piece = slice(start, start + length)
        assert same_bits(apply(name, *[argument[piece] for argument in arguments]), whole[piece])


@pytest.mark.parametrize(("name", "dtype"), POLYNOMIALS)
def test_nor_do_polynomials_among_sums_and_products(name, dtype):
    function = getattr(scalar, name)

    @njit(**OPTIONS)
    def unary(x, y, out):  # the products and sums around the function may be contracted
        for i in range(x.shape[0]):
            out[i] = y[i] - function(x[i]) * y[i]

    @njit(**OPTIONS)
    def binary(x, y, out):
        for i in range(x.shape[0]):
            out[i] = y[i] - function(x[i], y[i]) * y[i]

    fused = unary if arity(name) == 1 else binary
    x = np.abs(RNG.normal(0, 4, 1000)).astype(dtype)
    y = RNG.normal(0, 1, 1000).astype(dtype)
    whole = np.empty_like(x)
    fused(x, y, whole)
    for start, length in PIECES:
        piece = slice(start, start + length)
        out = np.empty_like(x[piece])
        fused(x[piece], y[piece], out)
        assert same_bits(out, whole[piece])


# --- the code


@pytest.mark.parametrize(("name", "dtype"), POLYNOMIALS)
def test_polynomials_vectorise(name, dtype):
    number = "float" if dtype is np.float32 else "double"
    text = code(name, dtype)
    assert not re.search(r"\bf(add|sub|mul) contract", text)  # the caller's leave ends where the function begins
    assert re.search(rf"call (?:contract )?<\d+ x {number}> @llvm\.fmuladd\.v", text)
    assert not re.search(rf"@(_ZGV|{name}f?\b)", text)


#: Functions that are computed from both the sine and the cosine.
OF_SINE_AND_COSINE = {"airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"}

FROM_LIBM = [(name, dtype) for name in FUNCTIONS for dtype in FLOATS if (name, dtype) not in POLYNOMIALS]


@pytest.mark.parametrize("path", [PATH])
@pytest.mark.parametrize(("name", "dtype"), FROM_LIBM)
def test_libm_calls_vectorise(name, dtype, path):
    text = code(name, dtype)
    symbol = f"{name}f" if dtype is np.float32 else name
    called = rf"call (?:contract )?<\d+ x \w+> @_ZGV[bde]N\d+v+_{symbol}\(<\d+ x \w+> %wide\.load"
    calls_vectors = re.search(called, text)
    assert (calls_vectors is not None) == libm.has_vector_form(name)
    if path == "no libmvec":
        assert "_ZGV" not in text
    else:
        most = 2 if name in OF_SINE_AND_COSINE else 1  # all of a function's values come from one
        assert len(set(re.findall(r"@_ZGV\w+", text))) <= most
        assert all(map(libm.has_vector_form, ["sin", "cos", "pow"]))


@pytest.mark.parametrize("name", [*UNARY, *SPECIAL_PAIRS, "abs", "sign", "floor", "ceil", "round", "trunc"])
def test_float32_stays_float32(name):
    text = code(name, np.float32)
    assert "fpext float" not in text
    assert "double" not in text.replace("double, double", "")


def test_two_functions_in_one_loop():
    @njit(**OPTIONS)
    def both(x, out):
        for i in range(x.shape[0]):
            out[i] = scalar.sin(x[i]) + scalar.cos(x[i]) * scalar.tanh(x[i])

    x = RNG.uniform(-5, 5, 1000).astype(np.float32)
    out = np.empty_like(x)
    both(x, out)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(out, np.sin(wide) + np.cos(wide) * np.tanh(wide), rtol=0, atol=4e-7)
    text = next(iter(both.inspect_llvm().values()))
    for symbol in ("sinf", "cosf"):
        vectors = re.search(rf"call (?:contract )?<\d+ x float> @_ZGV\w+_{symbol}\(<\d+ x float> %wide\.load", text)
        assert (vectors is not None) == libm.libmvec_found()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sin", "erf", "exp", "tanh"])
def test_loops_of_mixed_element_sizes(name, dtype):
    function = getattr(scalar, name)

    @njit(**OPTIONS)
    def mixed(x, bytes_, flags, doubles, out):
        for i in range(x.shape[0]):
            out[i] = scalar.where(flags[i], function(x[i]), dtype(bytes_[i]) * function(dtype(doubles[i])))

    x = RNG.uniform(-3, 3, 1003).astype(dtype)
    bytes_ = RNG.integers(0, 255, 1003).astype(np.uint8)
    flags = RNG.integers(0, 2, 1003).astype(bool)
    doubles = RNG.uniform(-3, 3, 1003)
    out = np.empty_like(x)
    mixed(x, bytes_, flags, doubles, out)
    expected = np.where(flags, apply(name, x), bytes_.astype(dtype) * apply(name, doubles.astype(dtype)))
    np.testing.assert_allclose(out, expected, rtol=6 * np.finfo(dtype).eps)


# --- plain Python, and types


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*UNARY, *SPECIAL_PAIRS])
def test_plain_python_agrees(name, dtype):
    special = [0, -0.0, 1, -1, 2.5, 1e30, -40, INF, -INF, NAN]
    x = np.concatenate([RNG.uniform(0.1, 1, 20), special]).astype(dtype)
    pairs = [x] if arity(name) == 1 else [a.ravel() for a in np.meshgrid(x, x)]
    plain = [getattr(scalar, name)(*values) for values in zip(*pairs, strict=True)]
    assert {type(value) for value in plain} == {dtype}
    absolute = 1e-14 if name == "lgamma" else 0  # math.lgamma is rough where it is near zero
    np.testing.assert_allclose(apply(name, *pairs), plain, rtol=5 * np.finfo(dtype).eps, atol=absolute)


TYPES = [
    ("exp", [np.int32(2)], np.float64),
    ("exp", [True], np.float64),
    ("exp", [1.5], np.float64),
    ("exp", [np.complex64(1j)], np.complex64),
    ("abs", [np.int8(-3)], np.int8),
    ("abs", [np.complex64(3 + 4j)], np.float32),
    ("conj", [np.complex64(3 + 4j)], np.complex64),
    ("conj", [np.float32(3)], np.float32),
    ("sign", [np.int32(-3)], np.int32),
    ("sign", [np.uint8(3)], np.uint8),
    ("floor", [np.int64(-3)], np.int64),
    ("isnan", [np.int64(-3)], np.bool_),
    ("maximum", [np.int32(1), np.int32(2)], np.int32),
    ("maximum", [np.float32(1), np.int64(2)], np.float32),
    ("maximum", [np.float32(1), np.float64(2)], np.float64),
    ("pow", [np.float32(2), np.int64(3)], np.float32),
    ("pow", [np.int64(2), np.int64(3)], np.int64),
    ("pow", [np.complex64(1j), np.complex64(2)], np.complex64),
    ("atan2", [np.int64(2), np.int64(3)], np.float64),
    ("fmod", [np.uint8(7), np.uint8(4)], np.uint8),
    ("truncated_quotient", [np.int8(-7), np.int8(2)], np.int8),
    ("where", [True, np.float32(2), np.float32(3)], np.float32),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), TYPES)
def test_types(name, arguments, expected):
    function = getattr(scalar, name)
    plain = function(*arguments)
    assert type(plain) is expected
    call = njit(lambda *arguments: function(*arguments))
    np.testing.assert_allclose(call(*arguments), plain, rtol=1e-6)
    assert str(call.nopython_signatures[0].return_type) == np.dtype(expected).name


@pytest.mark.parametrize("compiled", [False, True])
def test_integers_are_exact(compiled):
    def call(name, *arguments):
        function = getattr(scalar, name)
        return njit(lambda x, y: function(x, y))(*arguments) if compiled else function(*arguments)

    i64 = np.int64
    assert call("pow", i64(3), i64(39)) == 3**39
    assert call("pow", i64(3), i64(41)) == (3**41 + 2**63) % 2**64 - 2**63  # wraps around
    assert call("pow", np.int8(-2), np.int8(7)) == -128
    bases, powers = [0, 1, -1, -1, 2], [-1, -5, -3, -2, -1]
    assert [call("pow", i64(b), i64(p)) for b, p in zip(bases, powers, strict=True)] == [0, 1, -1, 1, 0]
    for x, y in [(7, 3), (-7, 3), (7, -3), (-7, -3), (-6, 3), (-(2**63), -1), (2**62 + 1, 2**61)]:
        assert call("remainder", i64(x), i64(y)) == x % y
        assert call("fmod", i64(x), i64(y)) == (abs(x) % abs(y)) * (-1 if x < 0 else 1)
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        for name, exact in (("truncated_quotient", quotient), ("floor_quotient", x // y)):
            assert call(name, i64(x), i64(y)) == (exact if exact < 2**63 else -(2**63))  # it wraps around
    assert call("remainder", i64(5), i64(0)) == call("fmod", i64(5), i64(0)) == 0
    assert call("maximum", i64(2**62 + 1), i64(2**62)) == 2**62 + 1
    assert call("minimum", np.uint64(2**63), np.uint64(1)) == 1
