"""``grad_dtype``: the dtype of a leaf's gradients."""

import copy

import pytest

import numgrad
from numgrad import float32, float64, int64, ones, tensor
from numgrad.autograd import Function, grad


class InDouble(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad.double()


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def test_it_is_the_dtype_of_the_tensor_at_first(x):
    assert x.grad_dtype is float32
    assert ones(2, dtype=int64).grad_dtype is int64


def test_gradients_are_converted_to_it(x):
    x.grad_dtype = float64
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient.dtype))
    for _ in range(2):
        (x * 3).sum().backward()
    assert x.grad.dtype is float64
    assert x.grad.tolist() == [6.0, 6.0]
    assert seen == [float64, float64]
    assert grad((x * 3).sum(), x)[0].dtype is float64


def test_it_holds_for_graphs_that_are_recorded_already(x):
    y = (x * x).sum()
    x.grad_dtype = float64
    y.backward()
    assert x.grad.dtype is float64


def test_none_leaves_gradients_as_they_are(x):
    x.grad_dtype = None
    assert x.grad_dtype is None
    InDouble.apply(x).sum().backward()
    assert x.grad.dtype is float64
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.dtype is float32
    x.grad = None
    (InDouble.apply(x) + x).sum().backward()
    assert x.grad.dtype is float64
    assert x.grad.tolist() == [2.0, 2.0]


def test_its_conversion_can_be_differentiated(x):
    x.grad_dtype = float64
    gradient = grad((x**3).sum(), x, create_graph=True)[0]
    assert gradient.dtype is float64
    x.grad_dtype = float32
    assert grad(gradient.sum(), x)[0].tolist() == [6.0, 12.0]


def test_grad_must_have_it(x):
    x.grad_dtype = float64
    with pytest.raises(RuntimeError, match="dtype 'float' to a tensor with grad_dtype 'Double'"):
        x.grad = ones(2)
    x.grad = ones(2, dtype=float64)
    with pytest.raises(RuntimeError, match="Cannot set grad_dtype to 'Float' because there is already a gradient"):
        x.grad_dtype = float32
    x.grad_dtype = None
    x.grad = ones(2)


def test_only_leaves_have_it(x):
    y = x * 2
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        _ = y.grad_dtype
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        y.grad_dtype = float64
    with pytest.raises(RuntimeError, match="grad_dtype must be a dtype or None, but got int"):
        x.grad_dtype = 3


def test_other_tensors_do_not_inherit_it(x):
    x.grad_dtype = float64
    assert copy.deepcopy(x).grad_dtype is float32
    assert x.detach().grad_dtype is float32
    assert numgrad.nn.Parameter(x.detach()).grad_dtype is float32
