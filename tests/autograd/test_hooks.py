"""Hooks on tensors: their times, order and results."""

import functools

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


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


def several(g):
    return (g,)


class Threes:
    def __call__(self, g):
        return ones(3)


def failing(g):
    raise ValueError("my own")


@pytest.mark.parametrize(("hook", "error", "words"), [
    (one, RuntimeError, ["hook 'one' has changed the size of value", "[2]", "[3]"]),
    (number, TypeError, ["expected Variable, but hook returned 'int'", "hook 'number'"]),
    (several, TypeError, ["expected Variable, but hook returned 'tuple'"]),
    (Threes(), RuntimeError, ["hook '<", "Threes object", "has changed the size of value"]),
    (functools.partial(one), RuntimeError, ["functools.partial", "has changed the size of value"]),
    (widened, RuntimeError, ["hook 'widened' has changed the type of value", "FloatTensor", "DoubleTensor"]),
    (failing, ValueError, ["my own"]),
])
@pytest.mark.parametrize("on_leaf", [False, True], ids=["result", "leaf"])
def test_invalid_results_of_a_hook(x, hook, error, words, on_leaf):
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


def test_after_an_error_the_graph_is_usable(x):
    y = x * 1
    handle = y.register_hook(failing)
    with pytest.raises(ValueError, match="my own"):
        y.sum().backward()
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_hook_that_is_not_callable_fails_in_backward(x):
    x.register_hook(3)
    with pytest.raises(TypeError, match="'int' object is not callable"):
        x.sum().backward()


def test_any_callable_is_a_hook(x):
    class Tripled:
        def __call__(self, g):
            return g * 3

    def scaled(factor, g):
        return g * factor

    x.register_hook(Tripled())
    x.register_hook(functools.partial(scaled, 5))
    x.sum().backward()
    assert x.grad.tolist() == [15.0, 15.0]


# --- registering and removing while they run ---------------------------------------------


def test_a_hook_may_remove_itself(x):
    y = x * 2
    seen = []
    handle = y.register_hook(lambda g: (seen.append("once"), handle.remove())[1])
    y.register_hook(lambda g: seen.append("always"))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert seen == ["once", "always", "always"]


def test_a_hook_removed_by_another_still_runs_in_this_pass(x):
    y = x * 2
    seen = []
    y.register_hook(lambda g: (seen.append("first"), second.remove())[1])
    second = y.register_hook(lambda g: seen.append("second"))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert seen == ["first", "second", "first"]


def test_the_dictionary_of_hooks(x):
    y = x * 2
    assert x._backward_hooks is None
    assert y._backward_hooks is None
    on_leaf, on_result = x.register_hook(print), y.register_hook(len)
    assert x._backward_hooks == {on_leaf.id: print}
    assert y._backward_hooks == {on_result.id: len}
    y.mul_(2)
    assert y._backward_hooks is None  # those belong to the value before


# --- where no gradient arrives ------------------------------------------------------------


def test_hooks_of_an_unused_output_see_none(x):
    first, second = (x * 2).unbind()
    seen = []
    second.register_hook(lambda g: seen.append(("second", g.item())))
    first.register_hook(lambda g: seen.append(("first", g)))
    (second * 5).backward()
    assert seen == [("second", 5.0), ("first", None)]
    assert x.grad.tolist() == [0.0, 10.0]


def test_no_gradient_cannot_be_replaced(x):
    first, second = (x * 2).unbind()
    first.register_hook(lambda g: ones(()))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        second.backward()


def test_hooks_run_on_a_path_without_gradient():
    class Stopped(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return None

    x = tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    seen = []
    y.register_hook(lambda g: seen.append(("y", g)))
    x.register_hook(lambda g: seen.append(("x", g)))
    Stopped.apply(y).sum().backward()
    assert seen == [("y", None), ("x", None)]
    assert x.grad is None


def test_hooks_of_outputs_run_in_the_order_in_which_the_outputs_got_them(x):
    first, second = (x * 2).unbind()
    seen = []
    second.register_hook(lambda g: seen.append("second"))
    first.register_hook(lambda g: seen.append("first"))
    second.register_hook(lambda g: seen.append("second again"))
    (first + second).backward()
    assert seen == ["second", "second again", "first"]


# --- hooks and the arguments of backward --------------------------------------------------


def test_the_gradient_asked_for_is_what_the_hooks_made_of_it(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    x.register_hook(lambda g: g * 5)
    assert grad(y.sum(), y, retain_graph=True)[0].tolist() == [3.0, 3.0]
    assert grad(y.sum(), x)[0].tolist() == [30.0, 30.0]


def test_a_gradient_on_the_way_to_another_is_given_without_the_hooks(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    ahead, behind = grad(y.sum(), [y, x])
    assert ahead.tolist() == [1.0, 1.0]  # as PyTorch does
    assert behind.tolist() == [6.0, 6.0]


def test_hooks_of_a_leaf_that_lost_its_flag_run_but_nothing_is_accumulated(x):
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    assert seen == [[2.0, 2.0]]
    assert x.grad is None


def test_hooks_survive_turning_the_flag_off_and_on(x):
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.requires_grad_(False).requires_grad_()
    x.sum().backward()
    assert seen == [[1.0, 1.0]]


def test_hooks_are_differentiated_with_the_rest():
    x, w = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0], requires_grad=True)
    y = x * x
    y.register_hook(lambda g: g * w)
    (gradient,) = grad(y.sum(), x, create_graph=True)  # 2 x w
    assert gradient.tolist() == [6.0, 16.0]
    assert [g.tolist() for g in grad(gradient.sum(), [x, w])] == [[6.0, 8.0], [2.0, 4.0]]
