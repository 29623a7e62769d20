"""The incomplete gamma functions: accuracy of the three methods, derivatives by the shape, arguments at the edges."""

import math

import mpmath
import numpy as np
import pytest

import numgrad
from numgrad.ops.pointwise.incomplete_gamma import gamma_slope

RNG = np.random.default_rng(0)

#: Shapes, and numbers for which the power series, the continued fraction and the uniform expansion serve.
SHAPES = np.concatenate([10 ** RNG.uniform(-1, 2.5, 40), RNG.uniform(15, 3000, 20)])
NUMBERS = np.concatenate([
    SHAPES[:40] * 10 ** RNG.uniform(-1, 0.5, 40), SHAPES[40:] + 2 * RNG.normal(size=20) * np.sqrt(SHAPES[40:]),
])


def slope(a, x):
    """dx/da of a quantile x, by central differences in 200 digits."""
    step = a * mpmath.mpf(10) ** -15
    above, below = [mpmath.gammainc(shape, x, regularized=True) for shape in (a + step, a - step)]
    return (above - below) / (2 * step * x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_errors_are_a_few_units_in_the_last_place_but_in_the_tails(dtype):
    a, x = SHAPES.astype(dtype), NUMBERS.astype(dtype)
    tensors = numgrad.from_numpy(a), numgrad.from_numpy(x)
    for function, reference in (
        (numgrad.igamma, lambda a, x: mpmath.gammainc(a, 0, x, regularized=True)),
        (numgrad.igammac, lambda a, x: mpmath.gammainc(a, x, regularized=True)),
        (gamma_slope, slope),
    ):
        with mpmath.workdps(200):
            pairs = zip(a.tolist(), x.tolist(), strict=True)
            expected = np.array([float(reference(mpmath.mpf(a), mpmath.mpf(x))) for a, x in pairs])
        # An error of the exponent, which is the logarithm of a small probability, is a relative error of the result.
        tiny = np.finfo(dtype).tiny
        size = expected * (4 + np.abs(np.log(np.maximum(expected, tiny)))) * np.finfo(dtype).eps + tiny
        assert (np.abs(function(*tensors).numpy() - expected) / size).max() <= 4


def test_derivatives_by_the_shape():
    a = numgrad.tensor([0.5, 2.0, 30.0], dtype=numgrad.float64, requires_grad=True)
    x = numgrad.tensor([0.3, 5.0, 31.0], dtype=numgrad.float64)
    (lower,) = numgrad.autograd.grad(numgrad.igamma(a, x).sum(), a, create_graph=True)
    (upper,) = numgrad.autograd.grad(numgrad.igammac(a, x).sum(), a)
    expected = [
        float(mpmath.diff(lambda a, x=x: mpmath.gammainc(a, 0, x, regularized=True), a))
        for a, x in zip(a.tolist(), x.tolist(), strict=True)
    ]
    np.testing.assert_allclose(lower.detach(), expected, 1e-12)
    np.testing.assert_allclose(upper, -lower.detach(), 1e-15)
    with pytest.raises(NotImplementedError, match="the derivative for 'gamma_slope: input' is not implemented"):
        lower.sum().backward()


def test_edges():
    inf, nan = math.inf, math.nan
    a = numgrad.tensor([0, 0, 1, inf, inf, 1, -1, 1, 2, 0, 0.01, 1e4, nan])
    x = numgrad.tensor([0, 1, 0, inf, 1, inf, 1, -1, nan, inf, 1e-30, 1e4, 1])
    below = [nan, 1, 0, nan, 0, 1, nan, nan, nan, 1, 0.50404727, 0.50132981, nan]
    np.testing.assert_allclose(numgrad.igamma(a, x), below, 1e-5)
    np.testing.assert_allclose(numgrad.igammac(a, x), 1 - np.array(below), 1e-5)
    with pytest.raises(NotImplementedError, match="\"igamma_cpu\" not implemented for 'Long'"):
        numgrad.igamma(numgrad.tensor([1]), numgrad.tensor([1]))
    with pytest.raises(TypeError, match="must be Tensor, not float"):
        numgrad.igamma(1.0, a)
