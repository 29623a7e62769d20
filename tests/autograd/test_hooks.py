"""Hooks on tensors: when they run, in which order, what they may return, and what ``retain_grad`` keeps."""

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


# --- hooks on tensors -------------------------------------------------------------------


def test_a_hook_sees_the_gradient(x):
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("y", g.tolist())))
    x.register_hook(lambda g: seen.append(("x", g.tolist())))
    (y * y).sum().backward()
    assert seen == [("y", [4.0, 8.0]), ("x", [8.0, 16.0])]
    assert x.grad.tolist() == [8.0, 16.0]


def test_a_hook_replaces_the_gradient(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]
    x.grad = None
    x.register_hook(lambda g: g + 1)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_hooks_run_in_the_order_of_their_registration(x):
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 3)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 5)
    y.sum().backward()
    assert seen == [[1.0, 1.0], [3.0, 3.0]]
    assert x.grad.tolist() == [30.0, 30.0]


def test_one_function_may_be_registered_twice(x):
    def double(g):
        return g * 2

    x.register_hook(double)
    x.register_hook(double)
    x.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_hooks_are_removed_by_their_handle(x):
    y = x * 1
    first, second = y.register_hook(lambda g: g * 2), y.register_hook(lambda g: g * 3)
    assert second.id > first.id
    first.remove()
    first.remove()
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [3.0, 3.0]
    second.remove()
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [4.0, 4.0]
    with y.register_hook(lambda g: g * 5):
        y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_a_hook_of_a_leaf_sees_the_whole_gradient_once(x):
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * x + x * 3 + x).sum().backward()
    assert seen == [[6.0, 8.0]]
    x.backward(tensor([7.0, 8.0]))
    assert seen[1:] == [[7.0, 8.0]]


def test_hooks_of_several_outputs(x):
    first, second = (x * 2).unbind()
    seen = []
    first.register_hook(lambda g: seen.append(("first", g.item())))
    second.register_hook(lambda g: (seen.append(("second", g.item())), g * 10)[1])
    (first * 3 + second * 5).backward()
    assert sorted(seen) == [("first", 3.0), ("second", 5.0)]
    assert x.grad.tolist() == [6.0, 100.0]


def test_hooks_run_for_grad_and_are_left_out_where_no_gradient_is_asked_for(x):
    other = tensor([5.0, 7.0], requires_grad=True)
    seen = []
    x.register_hook(lambda g: (seen.append("x"), g * 2)[1])
    other.register_hook(lambda g: seen.append("other"))
    assert grad((x * other).sum(), x)[0].tolist() == [10.0, 14.0]
    assert seen == ["x"]
    (x * other).sum().backward(inputs=[other])
    assert seen == ["x", "other"]
    assert x.grad is None
    assert other.grad.tolist() == [1.0, 2.0]


def test_hooks_run_without_recording_unless_the_gradient_is_recorded(x):
    modes = []
    y = x * x
    y.register_hook(lambda g: modes.append((numgrad.is_grad_enabled(), g.requires_grad)))
    (y * y).sum().backward(retain_graph=True)
    grad((y * y).sum(), x, create_graph=True)
    assert modes == [(False, False), (True, True)]


def test_hooks_belong_to_the_value_they_were_registered_on(x):
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    assert seen == [("after", [1.0, 1.0]), ("before", [3.0, 3.0])]
    assert x.grad.tolist() == [6.0, 6.0]


def test_hooks_of_a_leaf_stay_when_it_is_changed(x):
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    with numgrad.no_grad():
        x.mul_(3)
    (x * x).sum().backward()
    assert seen == [[6.0, 12.0]]


def test_a_hook_may_register_hooks(x):
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(y.register_hook(lambda g: seen.append("new"))))
    y.sum().backward(retain_graph=True)
    assert len(seen) == 1  # the new one begins with the next pass
    y.sum().backward()
    assert seen.count("new") == 1


def one(g):
    return ones(3)


def number(g):
    return 3


def widened(g):
    return g.double()


def failing(g):
    raise ValueError("my own")


@pytest.mark.parametrize(("hook", "error", "words"), [
    (one, RuntimeError, ["hook 'one' has changed the size of value", "[2]", "[3]"]),
    (number, TypeError, ["expected Variable, but hook", "int"]),
    (widened, RuntimeError, ["hook 'widened' has changed the type of value", "FloatTensor", "DoubleTensor"]),
    (failing, ValueError, ["my own"]),
])
@pytest.mark.parametrize("on_leaf", [False, True], ids=["result", "leaf"])
def test_what_a_hook_may_not_return(x, hook, error, words, on_leaf):
    y = x * 1
    (x if on_leaf else y).register_hook(hook)
    with pytest.raises(error) as caught:
        y.sum().backward()
    for word in words:
        assert word in str(caught.value)
    assert x.grad is None
    assert numgrad.is_grad_enabled()


def test_hooks_need_a_gradient_to_come():
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        tensor([1.0]).register_hook(print)


# --- retain_grad ------------------------------------------------------------------------


def test_retain_grad_keeps_the_gradient_of_a_result(x):
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward(retain_graph=True)
    assert y.grad.tolist() == [6.0, 12.0]
    (y * y).sum().backward()
    assert y.grad.tolist() == [12.0, 24.0]


def test_retain_grad_keeps_what_the_hooks_made_of_it(x):
    y = x * 3
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.register_hook(lambda g: g * 5)
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]
    assert x.grad.tolist() == [30.0, 30.0]


def test_retain_grad_also_keeps_what_grad_passes_through(x):
    y = x * 3
    y.retain_grad()
    assert grad((y * 2).sum(), x)[0].tolist() == [6.0, 6.0]
    assert y.grad.tolist() == [2.0, 2.0]
    assert x.grad is None


def test_retain_grad_follows_a_tensor_changed_in_place(x):
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    assert y.retains_grad
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0, 5.0]
    assert x.grad.tolist() == [30.0, 30.0]


def test_retain_grad_follows_views_and_their_base():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1
    view = base[:2]
    base.retain_grad()
    view.retain_grad()
    view.mul_(2)  # base is now (2 x₀, 2 x₁, x₂)
    assert base.retains_grad
    assert view.retains_grad
    (base.sum() * 3 + (view * 7).sum()).backward()
    assert view.grad.tolist() == [7.0, 7.0]
    assert base.grad.tolist() == [10.0, 10.0, 3.0]
    assert x.grad.tolist() == [20.0, 20.0, 3.0]


def test_retained_gradients_need_a_graph():
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        tensor(1.0).retain_grad()
