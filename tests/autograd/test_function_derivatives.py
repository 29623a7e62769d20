"""Higher derivatives of Functions: ``backward`` is itself recorded and differentiated."""

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


# --- the three ways of PyTorch's tutorial on double backward ----------------------------


class Sinh(Function):
    """Saves intermediates, and returns them, so that they have gradients."""

    @staticmethod
    def forward(ctx, x):
        up, down = numgrad.exp(x), numgrad.exp(-x)
        ctx.save_for_backward(up, down)
        return (up - down) / 2, up, down

    @staticmethod
    def backward(ctx, of_result, of_up, of_down):
        up, down = ctx.saved_tensors
        return of_result * (up + down) / 2 + of_up * up - of_down * down


class SinhOnce(Function):
    """Keeps intermediates on the context, which lack the graph that a second derivative needs."""

    @staticmethod
    def forward(ctx, x):
        ctx.up, ctx.down = numgrad.exp(x), numgrad.exp(-x)
        return (ctx.up - ctx.down) / 2

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.up + ctx.down) / 2


class CubeForward(Function):
    """Its backward is a Function, too."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return CubeBackward.apply(g, *ctx.saved_tensors)


class CubeBackward(Function):
    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return g * 3 * x**2

    @staticmethod
    def backward(ctx, of_result):
        g, x = ctx.saved_tensors
        return of_result * 3 * x**2, of_result * g * 6 * x


def doubles(*values):
    return numgrad.from_numpy(np.array(values)).requires_grad_()


def test_intermediates_that_are_outputs():
    check_gradients(lambda x: Sinh.apply(x)[0], doubles(0.5, -1.5))
    check_gradients(Sinh.apply, doubles(0.5, -1.5))
    x = doubles(0.5, -1.5)
    value = Sinh.apply(x)[0].sum()
    for expected in (np.cosh, np.sinh, np.cosh):
        (first,) = grad(value, x, create_graph=True)
        np.testing.assert_allclose(first.tolist(), expected([0.5, -1.5]))
        value = first.sum()


def test_intermediates_kept_on_the_context_are_constants():
    x = doubles(0.5, -1.5)
    (first,) = grad(SinhOnce.apply(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(first.tolist(), np.cosh([0.5, -1.5]))
    assert not first.requires_grad


def test_a_backward_that_is_a_function():
    check_gradients(CubeForward.apply, doubles(0.5, -1.5))


# --- grad mode --------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_is_recorded_with_create_graph(x, create_graph):
    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append((numgrad.is_grad_enabled(), g.requires_grad))
            return g * 2

    seen = []
    (first,) = grad((Look.apply(x) * x).sum(), x, create_graph=create_graph)
    assert seen == [(create_graph, create_graph)]
    assert first.requires_grad is create_graph


def test_in_place_functions_can_be_differentiated_twice():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def whole(x):
        return Double.apply(x * 1) ** 3

    def part(x):
        y = x * 1
        Double.apply(y[1:])
        return y**3

    check_gradients(whole, doubles(0.5, -1.5))
    check_gradients(part, doubles(0.5, -1.5))


def test_the_decorator_keeps_the_name_and_the_error_is_a_node(x):
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            """Compute the gradients."""
            return g * 2

    assert (Once.backward.__name__, Once.backward.__doc__) == ("backward", "Compute the gradients.")
    (first,) = grad(Once.apply(x * x).sum(), x, create_graph=True)
    first.detach()
    (first,) = grad((Once.apply(x) ** 2).sum(), x, create_graph=True)
    assert first.grad_fn.name() == "torch::autograd::Error"
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        first.sum().backward()
