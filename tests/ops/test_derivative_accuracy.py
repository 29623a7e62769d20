"""Derivatives keep their digits where a formula that is right on paper loses them to rounding."""

import mpmath
import pytest

import numgrad
from numgrad.func import grad, jvp


def forward(function):
    """The derivative by forward mode."""
    return lambda x: jvp(function, (x,), (numgrad.ones_like(x),))[1]


def exact(function, x, order):
    with mpmath.workdps(60):
        return float(mpmath.diff(function, mpmath.mpf(x), order))


def _sinc(x):
    return mpmath.sinc(mpmath.pi * x)


NEAR_0 = [0.0, 1e-20, 1e-5, -1e-4, 1e-2, 0.318, 0.319, 0.5]

CASES = {
    "sinc": (numgrad.sinc, _sinc, NEAR_0),
    "acosh": (numgrad.acosh, mpmath.acosh, [1 + 2**-20, 1.001, 1.5]),
}


@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64])
@pytest.mark.parametrize(("name", "at"), [(name, at) for name, (*_, points) in CASES.items() for at in points])
def test_first_and_second_derivatives(name, at, dtype):
    function, right, _ = CASES[name]
    x = numgrad.tensor(at, dtype=dtype)
    nestings = [
        [grad(function), forward(function)],
        [grad(grad(function)), forward(grad(function)), grad(forward(function)), forward(forward(function))],
    ]
    for order, derivatives in enumerate(nestings, 1):
        expected = exact(right, x.item(), order)
        for derivative in derivatives:
            found = derivative(x).item()
            assert found == pytest.approx(expected, 8 * order * numgrad.finfo(dtype).eps, 1e-300)


@pytest.mark.parametrize("derivative", [grad, forward])
@pytest.mark.parametrize("name", ["asinh", "acosh"])
def test_derivatives_where_squares_overflow(name, derivative):
    assert derivative(getattr(numgrad, name))(numgrad.tensor(1e20)).item() == pytest.approx(1e-20, 1e-6, 0)


def test_activations_where_intermediate_results_overflow():
    assert grad(grad(numgrad.nn.functional.mish))(numgrad.tensor(100.0)) == 0
    assert numgrad.nn.functional.hardswish(numgrad.tensor(1e38)).item() == pytest.approx(1e38)
