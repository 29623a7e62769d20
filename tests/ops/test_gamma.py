"""The gamma function's logarithm and the polygamma functions: accuracy, poles, arguments."""

import math

import mpmath
import numpy as np
import pytest

import numgrad

NUMBERS = np.concatenate([
    10 ** np.random.default_rng(0).uniform(-5, 4, 60), np.random.default_rng(1).uniform(0, 12, 60),
    np.random.default_rng(2).uniform(-30, 0, 60),
])

FUNCTIONS = {
    "lgamma": (numgrad.lgamma, lambda x: mpmath.log(abs(mpmath.gamma(x)))),
    **{
        f"polygamma({n})": (lambda x, n=n: numgrad.polygamma(n, x), lambda x, n=n: mpmath.psi(n, x))
        for n in (0, 1, 2, 3, 8)
    },
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_a_few_units_in_the_last_place_but_near_zeros(name, dtype):
    function, reference = FUNCTIONS[name]
    x = NUMBERS.astype(dtype)
    with mpmath.workdps(40):
        expected = np.array([float(reference(mpmath.mpf(float(number)))) for number in x])
    # Near a zero, terms of the size of 1 cancel; sums over the poles of negative numbers have terms of larger size.
    size = np.maximum(np.abs(expected), 1) if name in ("lgamma", "polygamma(0)") else np.abs(expected)
    compared = (size < np.finfo(dtype).max) & (size > np.finfo(dtype).smallest_normal)
    compared &= (x > 0) | np.isin(name, ["lgamma", "polygamma(0)", "polygamma(1)", "polygamma(3)"])
    errors = np.abs(function(numgrad.from_numpy(x)).numpy() - expected) / (size * np.finfo(dtype).eps)
    assert errors[compared].max() <= 8


def test_poles_and_infinities():
    x = numgrad.tensor([0.0, -0.0, -1.0, -2.0, math.inf, -math.inf, math.nan])
    for function, expected in (
        (numgrad.lgamma, [math.inf] * 6),
        (numgrad.digamma, [-math.inf, math.inf, math.nan, math.nan, math.inf, math.nan]),
        (lambda x: numgrad.polygamma(1, x), [math.inf] * 4 + [0, math.nan]),
        (lambda x: numgrad.polygamma(2, x), [-math.inf] * 4 + [0, math.nan]),
        (lambda x: numgrad.polygamma(3, x), [math.inf] * 4 + [0, math.nan]),
    ):
        np.testing.assert_equal(function(x).numpy() + 0.0, np.array([*expected, math.nan], np.float32))


def test_multivariate():
    x = numgrad.tensor([2.0, 3.5], dtype=numgrad.float64, requires_grad=True)
    result = numgrad.special.multigammaln(x, 3)
    expected = [
        1.5 * math.log(math.pi) + sum(math.lgamma(number - j / 2) for j in range(3)) for number in (2, 3.5)
    ]
    np.testing.assert_allclose(result.detach(), expected, 1e-14)
    result.sum().backward()
    sums = [sum(float(mpmath.digamma(number - j / 2)) for j in range(3)) for number in (2, 3.5)]
    np.testing.assert_allclose(x.grad, sums, 1e-13)
    assert numgrad.tensor([2, 3]).mvlgamma(1).tolist() == pytest.approx([0, math.log(2)])


def test_refusals():
    x = numgrad.ones(2)
    with pytest.raises(RuntimeError, match="does not support negative n"):
        numgrad.polygamma(-1, x)
    with pytest.raises(TypeError, match=r"polygamma\(\): argument 'n' \(position 1\) must be int, not Tensor"):
        numgrad.polygamma(x, 1)
    with pytest.raises(RuntimeError, match="p has to be greater than or equal to 1"):
        numgrad.mvlgamma(x, 0)
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        numgrad.digamma(x + 1j)


def test_in_place():
    x = numgrad.tensor([2.5, 3.5])
    assert x.clone().polygamma_(1).equal(numgrad.polygamma(1, x))
    assert x.clone().mvlgamma_(2).equal(numgrad.mvlgamma(x, 2))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        numgrad.tensor([2]).polygamma_(1)
