"""``retain_grad``: the gradient that it keeps, for which value of the tensor, and when."""

import gc
import weakref

import pytest

import numgrad
from numgrad import tensor
from numgrad.autograd import grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


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


def test_retain_grad_does_nothing_to_a_leaf(x):
    x.retain_grad()
    assert not x.retains_grad
    assert x._backward_hooks is None
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_retains_grad_is_not_to_be_set(x):
    with pytest.raises(AttributeError):
        (x * 1).retains_grad = True


def test_grad_of_a_result_warns_unless_it_is_retained(x):
    y = x * 1
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None


def test_a_second_pass_adds_to_another_tensor(x):
    y = x * 1
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first = y.grad
    y.sum().backward()
    assert first.tolist() == [1.0, 1.0]
    assert y.grad.tolist() == [2.0, 2.0]


def test_a_gradient_put_there_is_added_to(x):
    y = x * 2
    y.retain_grad()
    y.grad = tensor([5.0, 6.0])
    y.sum().backward()
    assert y.grad.tolist() == [6.0, 7.0]


def test_retained_gradients_are_copies(x):
    y = x * 1
    y.retain_grad()
    seen = []
    y.register_hook(seen.append)
    (y * y).sum().backward()
    y.grad.zero_()
    assert seen[0].tolist() == [2.0, 4.0]
    assert x.grad.tolist() == [2.0, 4.0]


def test_prehooks_of_the_node_come_after(x):
    y = x * 2
    y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 7,))
    y.retain_grad()
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [14.0, 14.0]


def test_every_change_in_place_is_followed(x):
    y = x * 2
    y.retain_grad()
    before = y * 3
    y.add_(1)
    y.mul_(5)
    y.register_hook(lambda g: g * 10)
    (before + y).sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]  # not of the value that ``before`` was made of
    assert x.grad.tolist() == [2 * 3 + 2 * 50.0] * 2


def test_writing_to_a_part_is_followed():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y[0] = 5.0
    (y * y).sum().backward()
    assert y.grad.tolist() == [10.0, 8.0, 12.0]
    assert x.grad.tolist() == [0.0, 16.0, 24.0]


def test_a_view_of_a_leaf_keeps_its_part():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    view = x[1:]
    view.retain_grad()
    view.register_hook(lambda g: g * 2)
    (view * 5).sum().backward()
    assert view.grad.tolist() == [10.0, 10.0]
    assert x.grad.tolist() == [0.0, 10.0, 10.0]


def test_outputs_of_one_node_are_kept_apart(x):
    first, second = (x * 1).unbind()
    first.retain_grad()
    second.retain_grad()
    (second * 3).backward()
    assert first.grad is None
    assert second.grad.item() == 3.0
    assert first.retains_grad


def test_inputs_keep_their_gradient_as_if_asked_to(x):
    y = x * 2
    y.sum().backward(inputs=[y], retain_graph=True)
    assert y.retains_grad
    assert y.grad.tolist() == [1.0, 1.0]
    assert x.grad is None
    y.sum().backward(inputs=[x])
    assert y.grad.tolist() == [2.0, 2.0]


def test_retained_gradients_can_be_differentiated(x):
    y = x * 2
    y.retain_grad()
    total = (y * y).sum()
    total.backward(create_graph=True)
    assert y.grad.requires_grad
    assert grad(y.grad.sum(), x)[0].tolist() == [4.0, 4.0]


def test_it_may_be_asked_for_without_recording(x):
    y = x * 2
    with numgrad.no_grad():
        y.retain_grad()
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


def test_keeping_a_gradient_does_not_keep_the_tensor(x):
    gc.disable()
    try:
        y = x * 3
        y.retain_grad()
        gone = weakref.ref(y)
        total = y.sum()
        del y
        assert gone() is None
    finally:
        gc.enable()
    total.backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_retained_gradients_are_contiguous():
    x = numgrad.ones(2, 3, requires_grad=True)
    y = x.clone()
    y.retain_grad()
    y.backward(numgrad.ones(3, 2).t())
    assert y.grad.stride() == (3, 1)
