"""``register_post_accumulate_grad_hook``: hooks of leaves that run when ``grad`` has been added to."""

import copy
import pickle

import pytest

import numgrad
from numgrad import nn, ones, tensor
from numgrad.autograd import grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def test_the_hook_gets_the_leaf_with_its_gradient(x):
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad.tolist())))
    (x * x + x * 3).sum().backward()  # once, with the whole gradient
    (x * 2).sum().backward()
    assert seen == [(True, [5.0, 7.0]), (True, [7.0, 9.0])]


def test_the_order_of_the_hooks_of_a_leaf(x):
    order = []
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_hook(lambda inputs, outputs: order.append("after the node"))
    x.register_post_accumulate_grad_hook(lambda leaf: order.append("after accumulation"))
    node.register_prehook(lambda outputs: order.append("before the node"))
    x.register_hook(lambda g: order.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda leaf: order.append("the next"))
    y.sum().backward()
    assert order == ["tensor", "before the node", "after accumulation", "the next", "after the node"]


def test_the_gradient_may_be_used_up(x):
    def use_up(leaf):
        leaf.grad = None

    handle = x.register_post_accumulate_grad_hook(use_up)
    x.sum().backward()
    assert x.grad is None
    handle.remove()
    handle.remove()
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_hooks_are_taken_out_at_the_end_of_a_block(x):
    seen = []
    with x.register_post_accumulate_grad_hook(lambda leaf: seen.append(1)):
        x.sum().backward()
    x.sum().backward()
    assert seen == [1]


def test_hooks_may_remove_and_register_hooks(x):
    seen = []

    def hook(leaf):
        seen.append("first")
        handle.remove()
        other.remove()
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append("new"))

    handle = x.register_post_accumulate_grad_hook(hook)
    other = x.register_post_accumulate_grad_hook(lambda leaf: seen.append("other"))
    x.sum().backward()
    x.sum().backward()
    assert seen == ["first", "other", "new"]


def test_an_optimizer_steps_within_backward():
    numgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    reference = copy.deepcopy(model)
    optimizers = {parameter: numgrad.optim.SGD([parameter], lr=0.1) for parameter in model.parameters()}

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    plain = numgrad.optim.SGD(reference.parameters(), lr=0.1)
    data = numgrad.randn(5, 3)
    for _ in range(3):
        model(data).pow(2).mean().backward()
        reference(data).pow(2).mean().backward()
        plain.step()
        plain.zero_grad()
    for parameter, expected in zip(model.parameters(), reference.parameters(), strict=True):
        assert parameter.grad is None
        assert parameter.tolist() == expected.tolist()


# --- when it runs -------------------------------------------------------------------------


def test_hooks_run_only_where_a_gradient_is_accumulated(x):
    other = tensor([5.0, 7.0], requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("x"))
    grad((x * other).sum(), x)
    (x * other).sum().backward(inputs=[other])
    assert seen == []
    (x * other).sum().backward(inputs=[x])
    assert seen == ["x"]


def test_hooks_run_where_the_graph_is_but_a_leaf(x):
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    x.backward(tensor([5.0, 6.0]))
    assert seen == [[5.0, 6.0]]


def test_hooks_run_with_none_where_no_gradient_arrived(x):
    class Stopped(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return None

    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad))
    Stopped.apply(x).sum().backward()
    assert seen == [None]


def test_hooks_may_use_what_is_recorded(x):
    seen = []
    x.register_post_accumulate_grad_hook(
        lambda leaf: seen.append((leaf.grad.requires_grad, numgrad.is_grad_enabled()))
    )
    (x * x).sum().backward()
    x.grad = None
    (x * x).sum().backward(create_graph=True)
    x.grad = None
    assert seen == [(False, False), (True, True)]


def test_a_backward_within_a_hook(x):
    other = tensor([1.0, 1.0], requires_grad=True)

    def hook(leaf):
        with numgrad.enable_grad():
            (other * leaf.grad).sum().backward()

    x.register_post_accumulate_grad_hook(hook)
    (x * x).sum().backward()
    assert other.grad.tolist() == [2.0, 4.0]


# --- errors -------------------------------------------------------------------------------


def test_only_leaves_that_require_a_gradient_have_such_hooks(x):
    for result in (x * 2, x.view(2)):
        with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
            result.register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        ones(2).register_post_accumulate_grad_hook(print)


def test_a_hook_returns_nothing(x):
    x.register_post_accumulate_grad_hook(lambda leaf: 5)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        x.sum().backward()


def test_a_hook_may_return_the_leaf_as_changes_in_place_do():
    x = numgrad.zeros(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.add_(leaf.grad, alpha=-0.5))
    x.backward(tensor([1.0, 2.0]))
    assert x.tolist() == [-0.5, -1.0]


def test_a_tensor_returned_is_an_error(x):
    x.register_post_accumulate_grad_hook(lambda leaf: leaf * 0)
    with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
        x.sum().backward()


def test_after_an_error_the_gradient_is_there(x):
    def failing(leaf):
        raise ValueError("my own")

    handle = x.register_post_accumulate_grad_hook(failing)
    with pytest.raises(ValueError, match="my own"):
        x.sum().backward()
    handle.remove()
    x.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_copies_have_no_hooks(x):
    x.register_post_accumulate_grad_hook(len)
    for other in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x)), x.detach()):
        assert other._post_accumulate_grad_hooks is None
    assert list(x._post_accumulate_grad_hooks.values()) == [len]
