"""Higher derivatives through operations of one's own: ``backward`` is itself recorded and differentiated."""

import numpy as np
import pytest
from autograd_functions import Cube, Exp
from ops.gradients import check_gradients

import numgrad
from numgrad import tensor
from numgrad.autograd import Function, grad
from numgrad.autograd.function import once_differentiable


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


class SumAndProduct(Function):
    """Two inputs, two outputs."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a + b, a * b

    @staticmethod
    def backward(ctx, of_sum, of_product):
        a, b = ctx.saved_tensors
        return of_sum + of_product * b, of_sum + of_product * a


@pytest.mark.parametrize("function", [Exp, Cube, SumAndProduct])
def test_backward_can_be_differentiated(function):
    count = 2 if function is SumAndProduct else 1
    inputs = [numgrad.from_numpy(np.array([0.5, -1.5, 2.0]) + n).requires_grad_() for n in range(count)]
    check_gradients(function.apply, *inputs)


def test_third_derivatives(x):
    for function, expected in ((Cube, [6.0, 6.0]), (Exp, np.exp([1.0, 2.0]))):
        value = function.apply(x).sum()
        for _ in range(2):
            value = grad(value, x, create_graph=True)[0].sum()
        np.testing.assert_allclose(grad(value, x)[0].tolist(), expected, rtol=1e-6)


def test_once_differentiable(x):
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not numgrad.is_grad_enabled()
            return g * 3 * ctx.saved_tensors[0] ** 2

    Once.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
    (first,) = grad((Once.apply(x) * x).sum(), x, create_graph=True)
    assert first.tolist() == [4.0, 32.0]
    with pytest.raises(RuntimeError, match=r"twice .*once_differentiable"):
        first.sum().backward()


def test_once_differentiable_with_several_inputs(x):
    class Once(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(b)
            return a * b

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            (b,) = ctx.saved_tensors
            return g * b, None

    y = tensor([3.0, 5.0], requires_grad=True)
    (first,) = grad(Once.apply(x, y).sum(), x, create_graph=True)
    assert first.tolist() == [3.0, 5.0]
    assert not first.requires_grad  # the incoming gradient was a constant
    (first,) = grad((Once.apply(x, y) * x).sum(), x, create_graph=True)
    assert first.requires_grad


def test_backward_may_call_other_functions(x):
    class Reverse(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return Cube.apply(g) * 2

    weights = tensor([3.0, 5.0], requires_grad=True)
    (first,) = grad(Reverse.apply(x), x, weights, create_graph=True)  # 2 w³
    assert first.tolist() == [54.0, 250.0]
    assert grad(first.sum(), weights)[0].tolist() == [54.0, 150.0]


def test_a_saved_input_that_is_also_returned(x):
    class Weighted(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    (first,) = grad(Weighted.apply(x).sum(), x, create_graph=True)  # x itself
    assert first.tolist() == [1.0, 2.0]
    assert grad(first.sum(), x)[0].tolist() == [1.0, 1.0]
