"""Derivatives of the programs of ``known_programs`` are those of finite differences."""

import numba
import numpy as np
import pytest
from adjoints.in_python import gradients
from adjoints.known_programs import cases, predator, rk4

import numgrad as torch


@pytest.mark.parametrize(("function", "arguments"), [pytest.param(*case, id=case[0].__name__) for case in cases()])
def test_gradient(function, arguments):
    draw = np.random.default_rng(1)
    floating = [number for number, each in enumerate(arguments) if np.asarray(each).dtype.kind == "f"]
    directions = {number: draw.normal(size=np.shape(arguments[number])) for number in floating}
    _, found = gradients(function, *arguments)
    derivative = sum(np.sum(each * directions[number]) for number, each in zip(floating, found, strict=True))

    def moved(step):
        return function(*[
            each + step * directions[number] if number in directions else each for number, each in enumerate(arguments)
        ])

    h = 1e-6
    assert derivative == pytest.approx((moved(h) - moved(-h)) / (2 * h), rel=2e-6, abs=1e-7)


def test_right_hand_side_as_argument():
    rhs = numba.njit(predator)
    y = torch.tensor([1.0, 0.5], dtype=torch.float64, requires_grad=True)
    p = torch.tensor([1.1, 0.4], dtype=torch.float64, requires_grad=True)
    simulate = torch.differentiable(rk4)
    assert torch.autograd.gradcheck(lambda y, p: simulate(rhs, y, p, 5, 0.1), (y, p))
