"""Derivatives of scalar functions as compiled functions, and numgrad's functions of scalars in compiled code."""

import functools
import math
import re

import numba
import numpy as np
import pytest

import numgrad
from numgrad import derivative, scalar


@numba.njit
def series(x, n):
    total = 0
    for i in range(n):
        total += math.sin(x) ** i / (i + 1)
        if total > 5:
            return total + x
    return total


@numba.njit
def activation(x, slope):
    if x < -1:
        return slope * x
    return scalar.gelu(x) + scalar.softplus(x, 2.0) * slope


@numba.njit
def both(x, y):
    return x * y * y, math.exp(y) - x


slope_of = functools.cache(derivative)


def measured(function, *args):
    """The central difference by the first argument."""
    x, *rest = args
    return (function(x + 1e-6, *rest) - function(x - 1e-6, *rest)) / 2e-6


@pytest.mark.parametrize(("function", "args"), [
    (series, (0.4, 5)), (series, (1.5, 30)), (activation, (-2.0, 0.3)), (activation, (0.7, 0.3)),
])
def test_first_and_second_derivatives(function, args):
    slope = slope_of(function)
    assert slope(*args) == pytest.approx(measured(function, *args), rel=1e-7)
    assert slope_of(slope)(*args) == pytest.approx(measured(slope, *args), rel=1e-6)


def test_arguments_and_results():
    assert derivative(both)(2.0, 3.0) == (9, -1)
    assert derivative(both, 1)(2.0, 3.0) == pytest.approx((12, math.exp(3)))
    assert derivative(activation, (0, 1))(-2.0, 0.3) == (0.3, -2)
    assert derivative(activation, [1])(-2.0, 0.3) == (-2,)
    with pytest.raises(ValueError, match="both has 2 arguments, and none at 2"):
        derivative(both, 2)
    with pytest.raises(ValueError, match="by several arguments is not supported"):
        derivative(both, (0, 1))


def test_defaults_and_builtin_functions():
    def line(x, slope=3.0, offset=1.0):
        return slope * x * x + offset

    assert derivative(line)(2.0) == 12
    assert derivative(line)(2.0, slope=1.0) == 4
    for sine in (math.sin, np.sin, scalar.sin):
        assert derivative(sine)(0.5) == math.cos(0.5)


def test_a_loop_of_which_the_counter_alone_is_needed():
    def scaled(x):
        i, y = 1, 0.0
        for i in range(3):
            y = x + i  # noqa: F841 - the derivative drops it
        return x * i

    assert derivative(scaled).py_func(2.0) == 2


@pytest.mark.parametrize(("argnums", "expected"), [
    (-1, 12), (np.int64(0), 9), ((1,), (12,)), ((0, 0, -1), (9, 9, 12)), ((), ValueError), (2, ValueError),
    (-3, ValueError), (1.0, TypeError), ("0", TypeError), (None, TypeError),
])
def test_argnums(argnums, expected):
    def product(x, y):
        return x * y * y

    if isinstance(expected, type):
        with pytest.raises(expected, match=r"argnums must|has 2 arguments"):
            derivative(product, argnums)
    else:
        assert derivative(product, argnums)(2.0, 3.0) == expected


def test_other_compiled_functions_call_it():
    slope = slope_of(series)

    @numba.njit
    def steepest(x):
        best = 0.0
        for each in x:
            best = max(best, slope(each, 4))
        return best

    points = np.linspace(0, 1, 9)
    assert steepest(points) == max(slope(each, 4) for each in points)
    assert steepest(points.astype(np.float32)) == pytest.approx(steepest(points), rel=1e-6)


def test_a_c_function_for_scipy():
    scipy = pytest.importorskip("scipy")
    from scipy.integrate import quad

    @numba.njit
    def bell(x):
        return scalar.erf(x) * math.exp(-x * x)

    slope = derivative(bell)
    in_c = numba.cfunc("float64(float64)")(slope.py_func)
    found, _ = quad(scipy.LowLevelCallable(in_c.ctypes), 0.0, 1.5)
    assert found == pytest.approx(bell(1.5) - bell(0.0), rel=1e-12)


def test_unsupported_code_is_refused_with_its_line():
    @numba.njit
    def summed(x):
        return x.sum()

    where = f"summed, line {summed.py_func.__code__.co_firstlineno + 2}"
    with pytest.raises(TypeError, match=re.escape(where)):
        derivative(summed)


ARGUMENTS = {"acosh": (1.5,), "where": (True, 0.2, 0.7), "lerp": (0.2, 0.7, 0.4), "zeta": (1.5, 0.6)}


@pytest.mark.long
@pytest.mark.parametrize("name", scalar.__all__)
def test_functions_of_scalars_are_those_of_elements(name):
    function = getattr(scalar, name)
    args = ARGUMENTS.get(name, (0.3, 0.6)[: len(function.op.inputs)])
    tensors = [numgrad.tensor(each) if each is True else numgrad.tensor(each, dtype=numgrad.float64) for each in args]
    assert function(*args) == pytest.approx(function.op.run(tensors, function.op.attributes).item(), rel=1e-14)


def test_functions_of_scalars_keep_float32():
    @numba.njit
    def both(x):
        return scalar.silu(x), scalar.where(x > 0, x, 0)

    single = np.float32(0.5)
    one, other = both(single)
    assert one == scalar.silu(single)
    assert one != scalar.silu(0.5)
    assert {str(each) for each in both.nopython_signatures[0].return_type} == {"float32"}
    assert (other, scalar.hypot(3, 4), scalar.log(-1.0) != scalar.log(-1.0)) == (0.5, 5.0, True)


def test_a_loop_variable_that_held_a_float_has_no_derivative():
    def sums(x, y):
        i = x * y
        for _ in range(2):
            for i in range(3):
                y = y + i * x
            x = x + i
        return y * i * x

    def of_parameter(x, k):
        for k in range(3):
            x = x + k
        return x * k

    slope = (sums(0.73 + 1e-6, 0.9) - sums(0.73 - 1e-6, 0.9)) / 2e-6
    assert numgrad.derivative(sums)(0.73, 0.9) == pytest.approx(slope)
    assert numgrad.derivative(of_parameter, argnums=(0, 1))(1.0, 2.0) == (2.0, 0.0)
