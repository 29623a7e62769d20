"""Modes that user code sets inside of backward end with its node."""

import pytest

import numgrad
from numgrad import is_grad_enabled, set_grad_enabled, tensor
from numgrad.autograd import Function


class Switching(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        set_grad_enabled(True)
        return grad * 2


def switch(*gradients):
    set_grad_enabled(True)


def by_function(y):
    return Switching.apply(y)


def by_tensor_hook(y):
    z = y * 1
    z.register_hook(switch)
    return z


def by_node_hook(y):
    z = y * 1
    z.grad_fn.register_hook(switch)
    return z


def by_prehook(y):
    z = y * 1
    z.grad_fn.register_prehook(switch)
    return z


def by_leaf(y):
    other = tensor([1.0], requires_grad=True)
    other.register_hook(switch)
    return y * other


@pytest.mark.parametrize("switched", [by_function, by_tensor_hook, by_node_hook, by_prehook, by_leaf])
@pytest.mark.parametrize("outside", [True, False])
def test_grad_mode_switched_in_backward(switched, outside):
    x = tensor([1.0], requires_grad=True)
    y = x * 3
    seen = []
    y.register_hook(lambda gradient: seen.append(is_grad_enabled()))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(is_grad_enabled()))
    result = switched(y).sum()
    with numgrad.set_grad_enabled(outside):
        result.backward()
        assert is_grad_enabled() is outside
    assert seen == [False, False]
    assert not x.grad.requires_grad
