"""Nodes called directly, ``node(gradient)``: the gradients of its inputs."""

import pytest
from snapshots import refused

import numgrad
from numgrad import ones, tensor

#: Operations whose backward runs kernels of every category.
OPERATIONS = {
    "exp": lambda x: x.exp(), "broadcast": lambda x: x * ones(2, 1), "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(0), "cumprod": lambda x: x.cumprod(0), "logsumexp": lambda x: x.logsumexp(1),
    "sum": lambda x: x.sum(0), "max": lambda x: x.max(1).values, "matmul": lambda x: x @ ones(3, 4),
    "gather": lambda x: x.gather(0, tensor([[0, 1, 0]])),
    "index": lambda x: x[tensor([1, 0])],
    "layer_norm": lambda x: numgrad.nn.functional.layer_norm(x, (3,)), "sort": lambda x: x.sort().values,
    "nll_loss": lambda x: numgrad.nn.functional.nll_loss(x, tensor([0, 2]), reduction="none"),
    "view": lambda x: x.t(), "cat": lambda x: numgrad.cat([x, ones(2, 3)]),
    "where": lambda x: numgrad.where(x > 1, x, ones(2, 3)),
}
operations = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


@pytest.fixture
def x():
    return tensor([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]], requires_grad=True)


@operations
def test_the_same_as_backward(x, operation):
    y = operation(x)
    expected, = numgrad.autograd.grad(y, x, ones(y.shape), retain_graph=True)
    found = y.grad_fn(ones(y.shape))
    assert (found[0] if isinstance(found, tuple) else found).tolist() == expected.tolist()


@operations
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 2), (50, 50), (3, 2, 3)])
def test_a_gradient_of_another_shape_is_refused(x, operation, shape):
    y = operation(x)
    with refused(RuntimeError, [x, y], "Mismatch in shape", str(list(shape)), str(list(y.shape))):
        y.grad_fn(ones(shape))


@operations
def test_no_gradient_gives_none(x, operation):
    found = operation(x).grad_fn(None)
    assert all(part is None for part in (found if isinstance(found, tuple) else (found,)))


def test_the_wrong_number_or_kind(x):
    node = x.exp().grad_fn
    for arguments in ((), (ones(2, 3), ones(2, 3))):
        with pytest.raises(TypeError, match=rf"^expected 1 arguments, got {len(arguments)} instead"):
            node(*arguments)
    with pytest.raises(TypeError, match=r"^argument 0 is not a Variable .*float"):
        node(1.0)
    with pytest.raises(TypeError, match=r"^expected 2 arguments, got 1 instead"):
        x.unbind()[0].grad_fn(ones(3))
    with pytest.raises(TypeError, match=r"^keyword arguments are not supported"):
        node(grad=ones(2, 3))


def test_several_outputs(x):
    node = x.unbind()[0].grad_fn
    assert node(ones(3), None).tolist() == [[1.0] * 3, [0.0] * 3]
    with refused(RuntimeError, [x], "Mismatch in shape", "grad_output[1]"):
        node(None, ones(2))


def test_the_end_of_a_path(x):
    leaf = (x * 2).grad_fn.next_functions[0][0]
    with refused(RuntimeError, [x], "Mismatch in shape"):
        leaf(ones(5))
    leaf(ones(2, 3))
    assert x.grad.tolist() == [[1.0] * 3] * 2


def test_a_freed_node_refuses_even_no_gradient(x):
    y = x.exp()
    y.sum().backward()
    for gradient in (ones(2, 3), None):
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.grad_fn(gradient)


def test_the_end_of_a_path_copies_what_it_is_given(x):
    gradient = ones(2, 3)
    (x * 2).grad_fn.next_functions[0][0](gradient)
    assert x.grad is not gradient
    x.grad.add_(1)
    assert gradient.tolist() == [[1.0] * 3] * 2
