"""Gradients of functions of scores do not lose digits where the scores are large."""

import numpy as np
import pytest
from ops.large_scores import FUNCTIONS, gradient, second_derivatives

import numgrad


@pytest.mark.parametrize("size", [-1e6, -30.0, 1e4, 1e6])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_right_to_five_digits(name, size):
    exact = gradient(FUNCTIONS[name], size, "cpu", numgrad.float64)
    np.testing.assert_allclose(gradient(FUNCTIONS[name], size, "cpu", numgrad.float32), exact, 1e-5, 1e-7)


@pytest.mark.parametrize("size", [-30.0, 1e6])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_are_right_to_five_digits(name, size):
    exact = second_derivatives(FUNCTIONS[name], size, "cpu", numgrad.float64)
    np.testing.assert_allclose(
        second_derivatives(FUNCTIONS[name], size, "cpu", numgrad.float32), exact, 1e-5, 1e-6
    )
