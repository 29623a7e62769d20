"""RemovableHandle, and hooks of tensors that are copied or pickled."""

import copy
import pickle
import warnings
import weakref
from collections import OrderedDict

import pytest

import numgrad
from numgrad import nn, tensor
from numgrad.utils.hooks import RemovableHandle, unserializable_hook, warn_if_has_hooks


def test_a_handle_removes_the_entry_of_its_number():
    hooks = OrderedDict()
    first, second = RemovableHandle(hooks), RemovableHandle(hooks)
    assert first.id != second.id
    assert hooks == {}
    assert first.hooks_dict_ref() is hooks
    hooks[first.id], hooks[second.id] = "first", "second"
    first.remove()
    first.remove()
    assert hooks == {second.id: "second"}
    with second as entered:
        assert entered is second
    assert hooks == {}


def test_a_handle_does_not_keep_the_hooks():
    hooks = OrderedDict()
    handle = RemovableHandle(hooks)
    gone = weakref.ref(hooks)
    del hooks
    assert gone() is None
    assert handle.hooks_dict_ref() is None
    handle.remove()


@pytest.mark.parametrize("several", [False, True])
def test_the_state_of_a_hook_is_removed_with_it(several):
    hooks, marks, others = OrderedDict(), OrderedDict(), OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=[marks, others] if several else marks)
    hooks[handle.id], marks[handle.id], others[handle.id] = 1, 2, 3
    handle.remove()
    assert (hooks, marks) == ({}, {})
    assert bool(others) is not several


def test_hooks_in_a_plain_dictionary_have_no_handle():
    with pytest.raises(TypeError, match="cannot create weak reference"):
        RemovableHandle({})


def test_a_handle_is_copied_with_its_hooks():
    hooks = OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=hooks)
    hooks[handle.id] = "hook"
    for copied, its_handle in (copy.deepcopy((hooks, handle)), pickle.loads(pickle.dumps((hooks, handle)))):
        assert its_handle.id == handle.id
        its_handle.remove()
        assert copied == {}
    assert hooks == {handle.id: "hook"}


def test_a_handle_without_its_hooks_is_pickled():
    handle = tensor([1.0], requires_grad=True).register_hook(print)
    pickle.loads(pickle.dumps(handle)).remove()


def test_numbers_are_new_in_a_dictionary_from_elsewhere():
    hooks = OrderedDict()
    taken = RemovableHandle(hooks).id + 1
    hooks[taken] = "from a pickle"
    assert RemovableHandle(hooks).id != taken


def test_handles_of_modules_survive_with_their_module():
    module = nn.Linear(1, 1)
    handle = module.register_forward_hook(print, with_kwargs=True, always_call=True)
    copied, its_handle = pickle.loads(pickle.dumps((module, handle)))
    its_handle.remove()
    assert not copied._forward_hooks
    assert not copied._forward_hooks_with_kwargs
    assert not copied._forward_hooks_always_called
    assert module._forward_hooks


def test_all_registering_methods_return_handles():
    x = tensor([1.0], requires_grad=True)
    y = x * 2
    for handle in (
        x.register_hook(print), y.register_hook(print), x.register_post_accumulate_grad_hook(print),
        y.grad_fn.register_hook(print), y.grad_fn.register_prehook(print),
        numgrad.autograd.graph.register_multi_grad_hook([x], print),
    ):
        assert isinstance(handle, RemovableHandle)
        handle.remove()
    y.backward()


def test_copies_of_tensors_have_no_hooks():
    x = tensor([1.0], requires_grad=True)
    x.register_hook(print)
    assert copy.deepcopy(x)._backward_hooks is None
    with pytest.warns(UserWarning, match="backward hook <built-in function print> on tensor will not be serialized"):
        assert pickle.loads(pickle.dumps(x))._backward_hooks is None


def test_a_hook_may_be_marked_as_one_not_to_be_pickled():
    @unserializable_hook
    def hook(gradient):
        return gradient * 2

    x = tensor([1.0], requires_grad=True)
    x.register_hook(hook)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_has_hooks(x)
        pickle.dumps(x)
    x.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_hooks_of_results_are_warned_of():
    y = tensor([1.0], requires_grad=True) * 2
    warn_if_has_hooks(y)
    y.register_hook(print)
    with pytest.warns(UserWarning, match="will not be serialized"):
        warn_if_has_hooks(y)


def test_hooks_can_be_assigned():
    def grad_of(x):
        x.grad = None
        x.sum().backward()
        return x.grad.item()

    x, y = tensor([1.0], requires_grad=True), tensor([1.0], requires_grad=True)
    hooks = OrderedDict({0: lambda g: g * 3})
    x._backward_hooks = hooks
    assert x._backward_hooks is hooks
    handle = x.register_hook(lambda g: g * 5)
    y._backward_hooks = x._backward_hooks
    assert (grad_of(x), grad_of(y)) == (15.0, 15.0)
    handle.remove()
    assert (grad_of(x), grad_of(y)) == (3.0, 3.0)
    x._backward_hooks = None
    assert (grad_of(x), x._backward_hooks) == (1.0, None)
    def last(gradient):
        x._backward_hooks = None
        return gradient * 2

    x._backward_hooks = {0: last}
    with numgrad.autograd.set_detect_anomaly(True):  # which notes the names of hooks
        assert (grad_of(x), grad_of(x)) == (2.0, 1.0)
    result = x * 2
    result._backward_hooks = hooks
    assert numgrad.autograd.grad(result.sum(), x)[0].item() == 6.0
    plain = numgrad.ones(1)
    plain._backward_hooks = hooks
    assert grad_of(plain.requires_grad_()) == 3.0
    with pytest.raises(TypeError, match="_backward_hooks must be a dictionary of hooks by number or None, not int"):
        x._backward_hooks = 3
    with pytest.raises(RuntimeError, match="Deletion of _backwards_hooks not allowed!"):
        del x._backward_hooks


def test_post_accumulate_hooks_can_be_assigned():
    x, seen = tensor([1.0], requires_grad=True), []
    x._post_accumulate_grad_hooks = {0: lambda leaf: seen.append(leaf.grad.item())}
    x.sum().backward()
    x._post_accumulate_grad_hooks = None
    x.sum().backward()
    assert seen == [1.0]
    with pytest.raises(TypeError, match="_post_accumulate_grad_hooks must be a dictionary"):
        x._post_accumulate_grad_hooks = [print]
    with pytest.raises(RuntimeError, match="Deletion of _post_accumulate_grad_hooks not allowed!"):
        del x._post_accumulate_grad_hooks
