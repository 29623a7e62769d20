"""``autograd.graph.get_gradient_edge``: edges of the graph instead of tensors; and ``increment_version``."""

import gc
import weakref

import pytest
from snapshots import refused

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import backward, grad
from numgrad.autograd.graph import GradientEdge, get_gradient_edge, increment_version


@pytest.fixture
def x():
    return tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_attributes_of_an_edge(x):
    y = x * 2
    edge = get_gradient_edge(y)
    assert edge == (y.grad_fn, 0, None)
    assert (edge.node, edge.output_nr, edge.ownership_token) == (y.grad_fn, 0, None)
    assert GradientEdge(y.grad_fn, 0) == edge
    _, second = x.split([1, 2])
    assert get_gradient_edge(second).output_nr == 1
    leaf = get_gradient_edge(x)
    assert type(leaf.node).__name__ == "AccumulateGrad"
    assert leaf.node is y.grad_fn.next_functions[0][0]


def test_the_edge_of_a_view_whose_base_was_changed():
    base = ones(3, requires_grad=True).clone()
    view = base[:2]
    base.mul_(2)
    assert type(get_gradient_edge(view).node).__name__ == "AsStridedBackward0"


def test_inputs_without_gradients_have_no_edge():
    with pytest.raises(RuntimeError, match="not possible to get the gradient edge for a Tensor that does not require"):
        get_gradient_edge(ones(3))


def test_edges_as_inputs_of_grad(x):
    y = x * 2
    total = (y * y).sum()
    edges = get_gradient_edge(y), get_gradient_edge(x)
    expected = [g.tolist() for g in grad(total, [y, x], retain_graph=True)]
    assert [g.tolist() for g in grad(total, edges, retain_graph=True)] == expected
    assert grad(total, edges[0])[0].tolist() == expected[0]


def test_edges_as_outputs(x):
    y = x * 2
    edge = get_gradient_edge(y)
    del y
    assert grad(edge, x, ones(3), retain_graph=True)[0].tolist() == [2, 2, 2]
    assert grad([edge], [edge], [ones(3)])[0].tolist() == [1, 1, 1]
    backward([edge, x.sum()], [ones(3), None])
    assert x.grad.tolist() == [3, 3, 3]
    x.grad = None
    backward(get_gradient_edge(x.sum()))  # of one element: its gradient is 1
    backward(get_gradient_edge(x), ones(3))
    assert x.grad.tolist() == [2, 2, 2]


def test_an_edge_of_one_of_several_outputs(x):
    _, second = (x * 2).split([1, 2])
    edge = get_gradient_edge(second)
    assert grad((second * 3).sum(), edge)[0].tolist() == [3, 3]
    assert grad(edge, x, tensor([1.0, 5.0]))[0].tolist() == [0, 2, 10]


def test_backward_into_edges(x):
    y = x * 2
    y.sum().backward(inputs=get_gradient_edge(x))
    assert x.grad.tolist() == [2, 2, 2]
    y = x * 2
    y.sum().backward(inputs=[get_gradient_edge(y)])  # no tensor, so no grad
    assert not y.retains_grad
    assert x.grad.tolist() == [2, 2, 2]


def test_edges_keep_what_they_need():
    def make():
        leaf = ones(3, requires_grad=True)
        return get_gradient_edge(leaf), (leaf * 2 * 3).sum(), weakref.ref(leaf)

    edge, total, leaf = make()
    assert leaf() is not None
    assert grad(total, edge)[0].tolist() == [6, 6, 6]
    gc.disable()
    try:
        del edge, total
        assert leaf() is None
    finally:
        gc.enable()


def test_errors_of_edges(x):
    y = x * 2
    edge = get_gradient_edge(y)
    with refused(RuntimeError, [x], "Mismatch in shape", "torch.Size([4])", "torch.Size([3])"):
        grad(edge, x, ones(4))
    with refused(RuntimeError, [x], "grad can be implicitly created only for scalar outputs"):
        grad(edge, x)
    with refused(RuntimeError, [x], "materialize_grads cannot be used when the given input is a GradientEdge"):
        grad(x.sum(), edge, materialize_grads=True)
    with refused(RuntimeError, [x], "The differentiated Tensor at index 0 appears to not have been used", "[3]"):
        grad(x.sum(), edge)
    for number in (1, 7, -1, "a", None):
        with refused(RuntimeError, [x], "output_nr must be one of the 1 of MulBackward0", repr(number)):
            grad(y.sum(), GradientEdge(y.grad_fn, number))
    assert grad(x.sum(), edge, allow_unused=True) == (None,)
    message = "GradientEdge's first object must be an autograd.graph.Node but got"
    for call in (lambda wrong: grad(x.sum(), wrong), lambda wrong: grad(wrong, x)):
        with refused(RuntimeError, [x], message, "NoneType"):
            call(GradientEdge(None, 0))
    with refused(RuntimeError, [x], "all inputs have to be Tensors or GradientEdges, but got MulBackward0"):
        grad(x.sum(), (y.grad_fn, 0))


# --- increment_version ------------------------------------------------------------------


def test_increment_version():
    a, b = ones(3), ones(2)
    increment_version(a)
    increment_version([a, b])
    increment_version(each for each in (a, a[:1]))
    increment_version([])
    assert (a._version, b._version) == (4, 1)
    for wrong, message in ((5, "expect a Iterable"), ([5], "each element of the iterable to be a tensor")):
        with pytest.raises(RuntimeError, match=message):
            increment_version(wrong)


def test_backward_notices_the_new_version(x):
    y = x.exp()
    y.detach().numpy()[0] = 5.0
    increment_version(y)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.sum().backward()


def test_inference_tensors_have_no_version():
    with numgrad.inference_mode():
        a = ones(3)
    increment_version(a)
    assert a.tolist() == [1, 1, 1]
