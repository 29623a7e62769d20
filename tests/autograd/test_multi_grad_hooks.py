"""``register_multi_grad_hook``: hooks called with the gradients of several tensors, or with the first one."""

import threading

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import grad
from numgrad.autograd.graph import register_multi_grad_hook
from numgrad.utils.hooks import RemovableHandle


@pytest.fixture
def leaves():
    return tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0], requires_grad=True)


def lists(gradients):
    return [None if g is None else g.tolist() for g in gradients]


def test_all_gradients_come_together_once(leaves):
    a, b = leaves
    c, d = a * b, a + b
    seen = []
    register_multi_grad_hook((a, b, c, d), lambda gradients: seen.append(lists(gradients)))
    (c * 2 + d + c).sum().backward()
    assert seen == [[[10.0, 13.0], [4.0, 7.0], [3.0, 3.0], [1.0, 1.0]]]


def test_tensors_that_get_no_gradient_are_not_waited_for(leaves):
    a, b = leaves
    c, d = a * b, a + b
    seen = []
    register_multi_grad_hook((a, b, c, d), lambda gradients: seen.append([g is not None for g in gradients]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    c.sum().backward(inputs=(c,), retain_graph=True)
    grad((c + d).sum(), b, retain_graph=True)
    grad((c + d).sum(), d, retain_graph=True)
    (ones(2, requires_grad=True) * 2).sum().backward()  # has nothing to do with them
    assert seen == [
        [True, True, True, False],
        [True, False, True, False],
        [False, False, True, False],
        [False, True, True, True],
        [False, False, False, True],
    ]


def test_an_input_out_of_reach_is_not_waited_for(leaves):
    a, b = leaves
    seen = []
    register_multi_grad_hook((a, b), lambda gradients: seen.append(lists(gradients)))
    grad((a * 2).sum(), (a, b), allow_unused=True)
    assert seen == [[[2.0, 2.0], None]]


def test_any_takes_the_first_gradient(leaves):
    a, b = leaves
    c = a * b
    seen = []
    register_multi_grad_hook((a, b, c), lambda gradient: seen.append(gradient.tolist()), mode="any")
    (c * 2).sum().backward(retain_graph=True)
    grad((a * 5).sum(), a)
    assert seen == [[2.0, 2.0], [5.0, 5.0]]


def test_every_pass_counts_anew(leaves):
    a, b = leaves
    every, first = [], []
    register_multi_grad_hook(leaves, lambda gradients: every.append(lists(gradients)))
    register_multi_grad_hook(leaves, lambda gradient: first.append(1), mode="any")
    for _ in range(3):
        (a * b).sum().backward()
    assert every == [[[3.0, 4.0], [1.0, 2.0]]] * 3
    assert len(first) == 3


def test_a_gradient_that_did_not_arrive_is_none(leaves):
    first, second = (leaves[0] * 1).unbind()
    seen = []
    register_multi_grad_hook((first, second), lambda gradients: seen.append(lists(gradients)))
    (second * 3).backward()
    assert seen == [[None, 3.0]]


def test_one_tensor_may_be_named_twice(leaves):
    a, _ = leaves
    seen = []
    register_multi_grad_hook([a, a], lambda gradients: seen.append(lists(gradients)))
    a.sum().backward()
    assert seen == [[[1.0, 1.0], [1.0, 1.0]]]


def test_other_hooks_on_the_same_tensors(leaves):
    a, b = leaves
    a.register_hook(lambda g: g * 10)
    seen = []
    register_multi_grad_hook(leaves, lambda gradients: seen.append(("one", lists(gradients))))
    register_multi_grad_hook(leaves, lambda gradients: seen.append(("two", lists(gradients))))
    (a + b).sum().backward()
    assert seen == [("one", [[10.0, 10.0], [1.0, 1.0]]), ("two", [[10.0, 10.0], [1.0, 1.0]])]


def test_the_result_of_the_function_is_ignored(leaves):
    a, b = leaves
    register_multi_grad_hook(leaves, lambda gradients: [g * 5 for g in gradients])
    register_multi_grad_hook(leaves, lambda gradient: gradient * 5, mode="any")
    (a + b).sum().backward()
    assert a.grad.tolist() == b.grad.tolist() == [1.0, 1.0]


def test_the_hook_belongs_to_the_values_of_its_time(leaves):
    a, _ = leaves
    c = a * 2
    seen = []
    register_multi_grad_hook([c], lambda gradients: seen.append(lists(gradients)))
    c.mul_(3)
    c.sum().backward()
    assert seen == [[[3.0, 3.0]]]


def test_gradients_can_be_differentiated(leaves):
    a, b = leaves
    kept = []
    register_multi_grad_hook(leaves, kept.extend)
    (a * a * b).sum().backward(create_graph=True)
    assert grad(kept[0].sum(), a)[0].tolist() == [6.0, 8.0]
    a.grad = b.grad = None


# --- nested and parallel passes ----------------------------------------------------


def test_a_pass_inside_of_a_pass(leaves):
    a, b = leaves
    every, first = [], []
    register_multi_grad_hook(leaves, lambda gradients: every.append(lists(gradients)))
    register_multi_grad_hook(leaves, lambda gradient: first.append(gradient.tolist()), mode="any")

    def inner(gradient):
        with numgrad.enable_grad():
            (a * 5).sum().backward()

    handle = b.register_hook(inner)  # runs when b has been counted, but perhaps not a
    (a * b).sum().backward()
    handle.remove()
    assert sorted(every, key=str) == [[[3.0, 4.0], [1.0, 2.0]], [[5.0, 5.0], None]]
    assert [5.0, 5.0] in first
    assert len(first) == 2


def test_passes_in_several_threads(leaves):
    a, b = leaves
    every, first = [], []
    register_multi_grad_hook(leaves, lambda gradients: every.append(lists(gradients)))
    register_multi_grad_hook(leaves, lambda gradient: first.append(1), mode="any")

    def work():
        for _ in range(20):
            (a * b).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert every == [[[3.0, 4.0], [1.0, 2.0]]] * 80
    assert len(first) == 80


# --- handles and errors -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["all", "any"])
def test_the_handle_removes_all_hooks(leaves, mode):
    a, b = leaves
    seen = []
    handle = register_multi_grad_hook(leaves, seen.append, mode=mode)
    assert isinstance(handle, RemovableHandle)
    handle.remove()
    handle.remove()
    (a * b).sum().backward()
    assert seen == []
    assert not a._backward_hooks
    with register_multi_grad_hook(leaves, seen.append, mode=mode):
        (a * b).sum().backward()
    (a * b).sum().backward()
    assert len(seen) == 1


def test_a_hook_may_remove_itself(leaves):
    a, b = leaves
    seen = []
    handle = register_multi_grad_hook(leaves, lambda gradients: (seen.append(1), handle.remove()))
    (a * b).sum().backward()
    (a * b).sum().backward()
    assert seen == [1]


def test_after_an_error_the_next_pass_counts_anew(leaves):
    a, b = leaves
    seen = []

    def fails_once(gradients):
        seen.append(lists(gradients))
        if len(seen) == 1:
            raise ValueError("my own")

    register_multi_grad_hook(leaves, fails_once)
    with pytest.raises(ValueError, match="my own"):
        (a + b).sum().backward()
    (a * b).sum().backward()
    assert seen[1:] == [[[3.0, 4.0], [1.0, 2.0]]]


def test_tensors_without_gradient(leaves):
    a, _ = leaves
    with pytest.raises(AssertionError, match="Expected gradient function to be set: tensor 1"):
        register_multi_grad_hook((a, ones(2)), print)
    assert not a._backward_hooks
    seen = []
    register_multi_grad_hook((ones(2), a), seen.append, mode="any")
    a.sum().backward()
    assert len(seen) == 1


def test_other_modes(leaves):
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got some"):
        register_multi_grad_hook(leaves, print, mode="some")


def test_leaves_whose_graph_is_gone_or_replaced(leaves):
    a, b = leaves
    seen = []
    register_multi_grad_hook((a, b, a * 1), lambda gradients: seen.append(lists(gradients)))
    (a * 2).sum().backward()  # b has no node now, and the third has been freed
    a.requires_grad_(False)
    b.sum().backward()
    assert seen == [[[2.0, 2.0], None, None], [None, [1.0, 1.0], None]]
