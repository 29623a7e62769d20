"""Views made without recording: computations with them are recorded, but pass no gradient to the base."""

import pytest

import numgrad
from numgrad import arange, ones, zeros
from numgrad.autograd import Function, grad, graph

LEADS_NOWHERE = ((None, 0),)


@pytest.fixture
def x():
    return arange(3.0).requires_grad_()


@pytest.fixture(params=["no_grad", "inference mode", "before the base required one"])
def view(request, x):
    """A view of a leaf, or of a result, that requires a gradient."""
    if request.param == "before the base required one":
        base = x.detach()
        result = base[:2]
        base.requires_grad_()
        return result
    with numgrad.no_grad() if request.param == "no_grad" else numgrad.inference_mode():
        return x[:2]


def test_it_requires_a_gradient_as_its_base_does(view):
    assert view.requires_grad
    assert view.is_leaf
    assert view.grad_fn is None
    view._base.requires_grad_(False)
    assert not view.requires_grad
    assert not (view * 2).requires_grad


@pytest.mark.parametrize("compute", [
    lambda t: t * 2, lambda t: t.exp(), lambda t: t.sum(), lambda t: t[1:], lambda t: t.clone(), lambda t: t @ ones(2),
    lambda t: t.view(2, 1), lambda t: t[[0, 1]], lambda t: numgrad.cat([t]), lambda t: numgrad.where(t > 0, t, 0.0),
    lambda t: t + ones(2, 2), lambda t: t.double(),
], ids=["mul", "exp", "sum", "slice", "clone", "dot", "view", "index", "cat", "where", "broadcast", "convert"])
def test_operations_on_such_a_view_are_recorded(view, compute):
    result = compute(view)
    assert result.requires_grad
    assert result.grad_fn.next_functions[0] == (None, 0)
    result.sum().backward()
    assert view.grad is None
    assert view._base.grad is None


def test_other_operands_get_their_gradients(view):
    other = ones(2, requires_grad=True)
    (view * other).sum().backward()
    assert other.grad.tolist() == view.tolist()
    assert view._base.grad is None


def test_written_to_another_tensor(view):
    buffer = zeros(2)
    buffer.copy_(view)
    assert buffer.requires_grad
    assert buffer.grad_fn.next_functions == LEADS_NOWHERE * 2


def test_a_function_is_asked_for_its_gradient(view):
    asked = []

    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            asked.append(ctx.needs_input_grad)
            return gradient * 2

    result = Double.apply(view)
    assert result.grad_fn.next_functions == LEADS_NOWHERE
    result.sum().backward()
    assert asked == [(True,)]


def test_a_nodes_hook_sees_no_gradient_for_it(view):
    seen = []
    result = view * 2
    result.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs))
    result.sum().backward()
    assert seen == [(None, None)]


def test_it_is_not_an_output_to_start_from(view):
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        view.backward(ones(2))
    with pytest.raises(RuntimeError, match="not possible to get the gradient edge"):
        graph.get_gradient_edge(view)


def test_as_an_input_it_is_unused(view):
    result = (view * view._base[:2]).sum()
    assert grad(result, view, allow_unused=True, retain_graph=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad(result, view)


def test_it_may_become_a_leaf_of_its_own(view):
    view.requires_grad_()
    (view * 3).sum().backward()
    assert view.grad.tolist() == [3.0, 3.0]
    assert view._base.grad is None


def test_once_its_base_was_changed_it_follows_if_it_may():
    base = arange(3.0)
    view = base[1:]
    view.mul_(2)
    base.requires_grad_()
    assert view.grad_fn.name() == "AsStridedBackward0"
    (view * 3).sum().backward()
    assert base.grad.tolist() == [0.0, 3.0, 3.0]


def test_once_its_base_was_changed_it_cannot_be_used(x):
    with numgrad.no_grad():
        view = x[:2]
        x.mul_(2)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and its base or another view"):
        view * 2
