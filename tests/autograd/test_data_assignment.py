"""Assigning to ``data`` between forward and backward: saved values stay, or an error says that they are lost."""

from contextlib import suppress

import pytest

import numgrad
from numgrad import full, ones, tensor

#: Functions that save their input: through the fast path and the general one, in parts and whole.
FUNCTIONS = {
    "exp of product": lambda x: (x * x).exp(), "square": lambda x: x**2, "sin": lambda x: x.sin(),
    "broadcast": lambda x: x[None] * x[:, None], "log_softmax": lambda x: (x * 1).log_softmax(0) * x,
    "layer_norm": lambda x: numgrad.nn.functional.layer_norm(x, (3,)), "prod": lambda x: x.prod(),
    "matmul": lambda x: x @ x, "index": lambda x: x[tensor([0, 0])] * x[1:],
}
functions = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


@pytest.fixture
def x():
    return tensor([0.5, 1.5, 2.5], requires_grad=True)


@functions
@pytest.mark.parametrize("size", [0, 1, 2, 5, 1000])
@pytest.mark.parametrize("hooked", [False, True], ids=["plain", "hooked"])
def test_data_of_another_size(x, function, size, hooked):
    expected, = numgrad.autograd.grad(function(x).sum(), x)
    y = function(x)
    if hooked:
        y.register_hook(lambda gradient: None)
        y.grad_fn.register_prehook(lambda gradients: None)
    total = y.sum()
    edge, number = numgrad.autograd.graph.get_gradient_edge(x)[:2]
    x.data = ones(size)
    with suppress(RuntimeError):  # a saved tensor itself has another array now
        found, = numgrad.autograd.grad(total, numgrad.autograd.graph.GradientEdge(edge, number))
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("hooked", [False, True], ids=["plain", "hooked"])
def test_data_of_the_same_size(x, hooked):
    y = x * x
    if hooked:
        y.grad_fn.register_prehook(lambda gradients: None)
    x.data = full((3,), 10.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    assert x.grad is None


def test_new_data_gets_gradients_of_its_own_shape(x):
    (x * 2).sum().backward()
    x.grad = None
    x.data = ones(2, 2)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0]] * 2


def test_data_and_requires_grad_cannot_be_deleted(x):
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del x.data
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        del x.requires_grad
    assert x.tolist() == [0.5, 1.5, 2.5]
    assert x.requires_grad
