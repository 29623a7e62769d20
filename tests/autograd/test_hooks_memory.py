"""Hooks and memory: kept gradients do not change, returned tensors keep their owners, and all memory is freed."""

import gc
import weakref

import pytest

from numgrad import tensor
from numgrad.autograd.graph import register_multi_grad_hook


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


@pytest.fixture
def without_collector():
    gc.disable()
    yield
    gc.enable()


class Token:
    """An object whose deletion can be observed."""


def test_gradients_kept_by_a_hook_are_not_overwritten(x):
    kept = []
    y = x * 1
    y.register_hook(kept.append)
    x.register_hook(lambda g: kept.append(g.view(2)))
    for _ in range(2):
        (y * y + y * 2 + y.exp() * 0).sum().backward(retain_graph=True)
    x.grad.zero_()
    assert [g.tolist() for g in kept] == [[4.0, 6.0]] * 4


def test_a_tensor_returned_by_a_hook_stays_its_owners(x):
    mine = tensor([3.0, 4.0])
    y = x * 1
    y.register_hook(lambda g: mine)
    x.register_hook(lambda g: mine)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    x.grad.add_(100)
    assert mine.tolist() == [3.0, 4.0]


def test_hooks_go_with_the_graph(without_collector):
    token = Token()
    gone = weakref.ref(token)
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g, token=token: None)
    x.register_hook(lambda g, token=token: None)
    y.sum().backward()
    del token, y
    assert handle.hooks_dict_ref() is None
    assert gone() is not None  # the leaf has it
    del x
    assert gone() is None
    handle.remove()


def test_a_graph_outlives_its_tensors_with_their_hooks(x):
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    total = y.sum()
    del y
    total.backward()
    assert seen == [[1.0, 1.0]]


def test_gradients_kept_by_hooks_of_nodes_are_not_overwritten(x):
    kept = []
    y = x * 1
    z, w = y + 0, y * 1
    z.grad_fn.register_hook(lambda inputs, outputs: kept.extend([inputs[0], outputs[0]]))
    w.grad_fn.register_prehook(lambda outputs: kept.append(outputs[0]))
    ((z + w) * w).sum().backward()
    x.grad.zero_()
    assert [g.tolist() for g in kept] == [[3.0, 6.0], [1.0, 2.0], [1.0, 2.0]]


def test_gradients_that_one_hook_gives_to_two_leaves_are_two(x):
    other = tensor([1.0, 1.0], requires_grad=True)
    total = x + other
    total.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], inputs[0]))
    total.sum().backward()
    x.grad.add_(1)
    assert other.grad.tolist() == [1.0, 1.0]


def test_all_kinds_of_hooks_go_with_the_tensors(without_collector):
    token = Token()
    gone = weakref.ref(token)
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g, token=token: None)
    x.register_hook(lambda g, token=token: None)
    x.register_post_accumulate_grad_hook(lambda leaf, token=token: None)
    y.grad_fn.register_hook(lambda inputs, outputs, token=token: None)
    y.grad_fn.register_prehook(lambda outputs, token=token: None)
    y.grad_fn.next_functions[0][0].register_hook(lambda inputs, outputs, token=token: None)
    handles = [register_multi_grad_hook([x, y], lambda g, token=token: None, mode=mode) for mode in ("all", "any")]
    y.sum().backward()
    del token
    assert gone() is not None
    del x, y
    assert gone() is None
    for handle in handles:
        handle.remove()


def test_an_error_in_a_hook_leaves_nothing_behind(without_collector, x):
    def failing(g):
        raise ValueError("my own")

    y = x * 2
    gone = weakref.ref(y)
    register_multi_grad_hook([x, y], print)
    y.register_hook(failing)
    with pytest.raises(ValueError, match="my own"):
        y.sum().backward()
    del y
    gc.collect()  # pytest's record of the error holds the frames
    assert gone() is None
