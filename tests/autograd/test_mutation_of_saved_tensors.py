"""In-place changes of saved tensors in a context that allows them."""

import gc
from contextlib import nullcontext
from weakref import ref

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd.graph import allow_mutation_on_saved_tensors, saved_tensors_hooks


@pytest.fixture
def x():
    return tensor([0.5, 1.5, 2.5], requires_grad=True)


def unrecorded(change):
    def run(t):
        with numgrad.no_grad():
            change(t)

    return run


CHANGES = {
    "mul_": lambda t: t.mul_(3), "copy_": lambda t: t.copy_(ones(t.shape)), "zero_": lambda t: t.zero_(),
    "fill_": lambda t: t.fill_(2.0), "assignment": lambda t: t.__setitem__(0, 9.0), "view": lambda t: t[1:].exp_(),
    "index_add_": lambda t: t.index_add_(0, tensor([0]), ones(1)), "unrecorded": unrecorded(lambda t: t.add_(1)),
    "out": unrecorded(lambda t: numgrad.add(t, 1, out=t)), "random": lambda t: t.uniform_(),
    "sort of base": lambda t: t.cumsum_(0), "masked_fill_": lambda t: t.masked_fill_(t > 1, 0.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("times", [1, 2])
def test_backward_finds_the_tensor_as_it_was_saved(x, change, times):
    with allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y * y).sum()
        for _ in range(times):
            change(y)
        z.backward()
    assert x.grad.tolist() == [1.0, 3.0, 5.0]


def test_leaves_and_results(x):
    with allow_mutation_on_saved_tensors():
        total = (x * x).sum()
        with numgrad.no_grad():
            x.add_(1)
        total.backward()
        assert x.grad.tolist() == [1.0, 3.0, 5.0]
        x.grad = None
        y = x.exp()
        z = y * 2
        y.zero_()
        z.sum().backward()
        assert x.grad.tolist() == pytest.approx([2 * 2.7182818 ** value for value in (1.5, 2.5, 3.5)], rel=1e-5)


def test_tensors_saved_before_and_after_a_change(x):
    with allow_mutation_on_saved_tensors() as context:
        y = x * 1
        first = y * y
        y.mul_(2)
        second = y * y
        assert len(context.cloned) == 2
        (first + second).sum().backward()
    assert x.grad.tolist() == [5.0, 15.0, 25.0]


def test_nothing_is_copied_if_nothing_is_changed(x):
    with allow_mutation_on_saved_tensors() as context:
        y = x * 1
        z = y * y
        other = y.detach().clone()
        other.zero_()
        assert (len(context.original), len(context.cloned)) == (2, 0)
        z.sum().backward()
        assert (len(context.original), len(context.cloned)) == (0, 0)


def test_backward_outside_of_the_block(x):
    with allow_mutation_on_saved_tensors() as context:
        z = (x * x).sum()
    assert len(context.original) == 0
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        z.backward()
    with allow_mutation_on_saved_tensors(), pytest.raises(AssertionError, match="outside of"):
        z.backward()


def test_clearing(x):
    with allow_mutation_on_saved_tensors() as context:
        z = (x * x).sum()
        context.clear()
        with pytest.raises(AssertionError, match="outside of"):
            z.backward()


def test_blocks_cannot_be_nested(x):
    with allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="contexts cannot be nested"), allow_mutation_on_saved_tensors():
            pass
        y = x * 1
        z = (y * y).sum()
        y.zero_()
        z.backward()
    assert x.grad.tolist() == [1.0, 3.0, 5.0]


def test_outside_of_the_block_changes_are_errors_again(x):
    with allow_mutation_on_saved_tensors():
        pass
    y = x * 1
    z = (y * y).sum()
    y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_copies_go_with_the_graph(x):
    gc.collect()
    gc.disable()
    try:
        with allow_mutation_on_saved_tensors() as context:
            y = x * 1
            z = y * y
            y.zero_()
            kept = [ref(t) for t in context.cloned.values()]
            assert all(weak() is not None for weak in kept)
            del z, y
            assert not any(weak() for weak in kept)
    finally:
        gc.enable()


ACTIVATIONS = {
    "tanh": lambda x: 1 - numgrad.tanh(x) ** 2, "sigmoid": lambda x: numgrad.sigmoid(x) * numgrad.sigmoid(-x),
    "expm1": numgrad.exp,
}


@pytest.mark.parametrize("keep", [nullcontext(), saved_tensors_hooks(lambda t: t, lambda t: t)], ids=["", "hooks"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_whose_input_is_changed_go_by_the_result(x, name, keep):
    function, right = getattr(numgrad, name), ACTIVATIONS[name]
    with keep:
        h = x * 1
        y = function(h)
        h.add_(1)
        overwritten = getattr(x * 1, f"{name}_")()
    assert not hasattr(overwritten.grad_fn, "_saved_self")  # and no copy of the old value is kept
    for result in (y, overwritten):
        (slope,) = numgrad.autograd.grad(result.sum(), x, create_graph=True)
        assert slope.tolist() == pytest.approx(right(x).tolist())
        (second,) = numgrad.autograd.grad(slope.sum(), x, retain_graph=True)
        assert second.tolist() == pytest.approx(numgrad.autograd.grad(right(x).sum(), x)[0].tolist(), abs=1e-6)
        assert numgrad.autograd.grad(result.sum(), x)[0].tolist() == pytest.approx(slope.tolist())


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_whose_input_and_result_are_changed_are_an_error(x, name):
    h = x * 1
    y = getattr(numgrad, name)(h)
    h.add_(1)
    y.detach().add_(1)
    assert [value.tolist() for value, _ in y.grad_fn.modified()] == [y.tolist()]
    with pytest.raises(RuntimeError, match=f"is output 0 of {name.capitalize()}, is at version 1"):
        y.sum().backward()
