"""Functions that return their input or a view of it: the caller's result is a view, too."""

import pytest
from autograd_functions import returning
from snapshots import unchanged

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function

STALE = "is a view and its base or another view of its base has been modified inplace"


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


class Same(Function):
    """Returns its input, with a gradient of its own."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 7


class First(Function):
    """Returns a part of its input."""

    @staticmethod
    def forward(ctx, x):
        return x[:1]

    @staticmethod
    def backward(ctx, g):
        return numgrad.cat([g * 7, g * 0])


def test_an_input_returned_is_another_tensor_on_its_memory(x):
    y = Same.apply(x)
    assert y is not x
    assert y.data_ptr() == x.data_ptr()
    assert y.grad_fn.name() == "SameBackward"
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_without_recording_it_is_still_another_tensor():
    plain = ones(2)
    y = Same.apply(plain)
    assert not y.requires_grad
    assert y.data_ptr() == plain.data_ptr()


def test_a_part_of_an_input(x):
    part = First.apply(x)
    assert part.grad_fn.name() == "FirstBackward"
    (part * 2).sum().backward()
    assert x.grad.tolist() == [14.0, 0.0]


def test_views_of_such_outputs_pass_their_gradient_through_the_function(x):
    y = Same.apply(x * 1)
    part = y[1:]
    assert part.grad_fn.next_functions == ((y.grad_fn, 0),)
    y.retain_grad()
    (part * 3).sum().backward()
    assert y.grad.tolist() == [0.0, 3.0]
    assert x.grad.tolist() == [0.0, 21.0]


@pytest.mark.parametrize("make", [
    lambda y: Same.apply(y), lambda y: First.apply(y), lambda y: First.apply(y[:]), lambda y: Same.apply(y)[:1],
], ids=["input", "part", "part of a view", "view of an input"])
@pytest.mark.parametrize("leaf", [False, True], ids=["result", "leaf"])
def test_such_outputs_cannot_be_changed_in_place(x, make, leaf):
    # The input shares their memory, and its graph has no record of the change.
    y = x if leaf else x * 1
    output = make(y)
    words = "is a view and is being modified inplace. This view was created inside a custom Function"
    with unchanged(x, y, output):
        with pytest.raises(RuntimeError, match=words):
            output.mul_(2)
        with pytest.raises(RuntimeError, match=words):
            output[0] = 5.0
    with numgrad.no_grad():
        output.mul_(2)
    assert y[0].item() == 2.0


def test_an_input_returned_is_a_view_of_it(x):
    for base in (x, x * 1, ones(2), tensor([1, 2])):
        y = returning(lambda x: x).apply(base)
        assert y is not base
        assert y._base is base
        assert y.requires_grad is base.requires_grad


def test_without_recording_an_input_returned_has_no_graph(x):
    with numgrad.no_grad():
        y = returning(lambda x: x).apply(x)
    assert y is not x
    assert not y.requires_grad
    plain = ones(2)
    returning(lambda x: x).apply(plain).mul_(2)
    assert plain.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[:1], lambda x: x.view(2, 1)], ids=["same", "part", "view"])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_view_cannot_follow_a_change_of_its_base(x, make, recorded):
    base = x * 1
    y = returning(make).apply(base)
    with numgrad.set_grad_enabled(recorded):
        base.mul_(3)
    assert "grad_fn=<Invalid>" in repr(y)
    assert y.tolist() == make(base).tolist()
    for use in (lambda: y.grad_fn, lambda: y * 2, lambda: y.sum().backward(), lambda: y[:1]):
        with pytest.raises(RuntimeError, match=f"Output 0 of Returns {STALE}"):
            use()


def test_views_among_several_outputs_cannot_be_changed(x):
    words = "This view is the output of a function that returns multiple views"
    whole, double = returning(lambda x: (x, x * 2)).apply(x * 1)
    parts = returning(lambda x: (x[:1], x[1:])).apply(x * 1)
    made, view = returning(lambda x: (x * 2).view(2, 1).split(1)).apply(x)
    result, of_result = returning(lambda x: (lambda y: (y, y.view(2, 1)))(x * 2)).apply(x)
    for output in (whole, *parts, made, view, of_result):
        assert output._is_view()
        with unchanged(output), pytest.raises(RuntimeError, match=words):
            output.mul_(2)
    double.mul_(2)
    assert of_result._base is result
    result.mul_(2)
    with pytest.raises(RuntimeError, match="Output 1 of Returns is a view and its base"):
        of_result.sum()


def test_a_view_of_an_intermediate(x):
    y = returning(lambda x: (x * 2).view(2, 1), lambda ctx, g: g.view(2) * 2).apply(x)
    assert y._is_view()
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        y.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_gradients_of_several_parts(x):
    first, second = returning(lambda x: (x[:1], x[1:]), lambda ctx, a, b: numgrad.cat([a, b])).apply(x)
    (first.sum() + 3 * second.sum()).backward()
    assert x.grad.tolist() == [1.0, 3.0]
