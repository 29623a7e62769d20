"""Operations of one's own that change their inputs in place, or return them or parts of them."""

import numpy as np
import pytest
from ops.gradients import check_gradients
from snapshots import unchanged

import numgrad
from numgrad import ones, tensor, zeros
from numgrad.autograd import Function, grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


class Double(Function):
    """In place."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class DoubleByNumpy(Double):
    """In place, by other means than operations."""

    @staticmethod
    def forward(ctx, x):
        x.detach().numpy()[...] *= 2
        ctx.mark_dirty(x)
        return x


class Scale(Function):
    """Multiplies its second input in place with the first."""

    @staticmethod
    def forward(ctx, factor, x):
        ctx.save_for_backward(factor, x.clone())
        x.mul_(factor)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        factor, before = ctx.saved_tensors
        return g * before, g * factor


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


# --- in place ---------------------------------------------------------------------------


@pytest.mark.parametrize("function", [Double, DoubleByNumpy])
def test_a_dirty_input_is_the_output(x, function):
    y = x * 1
    before = y._version
    result = function.apply(y)
    assert result is y
    assert y.tolist() == [2.0, 4.0]
    assert y.grad_fn.name() == f"{function.__name__}Backward"
    assert y._version > before
    (y * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("function", [Double, DoubleByNumpy])
def test_the_change_of_a_dirty_input_is_noticed(x, function):
    y = x * 1
    square = y * y
    function.apply(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_in_place_twice(x):
    y = x * 1
    Double.apply(Double.apply(y))
    assert y.tolist() == [4.0, 8.0]
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_in_place_on_a_view(x):
    base = x * 1
    view = Double.apply(base[1:])
    assert base.tolist() == [1.0, 4.0]
    assert type(base.grad_fn).__name__ == "CopySlices"
    (base * base).sum().backward()  # x₀² + 4 x₁²
    assert x.grad.tolist() == [2.0, 16.0]
    assert view.tolist() == [4.0]


@pytest.mark.parametrize("part", [lambda y: y, lambda y: y[1:], lambda y: y[::2]], ids=["whole", "slice", "strided"])
def test_in_place_on_another_than_the_first_input(part):
    factor = tensor([[3.0]], dtype=numgrad.float64, requires_grad=True)
    x = numgrad.from_numpy(np.array([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]])).requires_grad_()

    def function(factor, x):
        y = x * x
        Scale.apply(factor, part(y))
        return y * y

    check_gradients(function, factor, x, order=1)  # the copy that Scale keeps has no graph


def test_in_place_into_a_plain_buffer():
    factor, buffer = ones(2, requires_grad=True), tensor([3.0, 4.0, 5.0])
    Scale.apply(factor, buffer[1:])
    assert buffer.requires_grad
    buffer.sum().backward()
    assert factor.grad.tolist() == [4.0, 5.0]


def test_in_place_beside_another_output(x):
    class Both(Function):
        @staticmethod
        def forward(ctx, other, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return other * 5, x

        @staticmethod
        def backward(ctx, first, second):
            return first * 5, second * 2

    other, y = ones(2, requires_grad=True), x * 1
    result, changed = Both.apply(other, y)
    assert changed is y
    assert (result.output_nr, y.output_nr) == (0, 1)
    (result + y * 10).sum().backward()
    assert other.grad.tolist() == [5.0, 5.0]
    assert x.grad.tolist() == [20.0, 20.0]
    with pytest.raises(RuntimeError, match="view"):
        Both.apply(other, (x * 1)[:])


def test_in_place_without_recording(x):
    plain = ones(2)
    assert Double.apply(plain) is plain
    assert plain.tolist() == [2.0, 2.0]
    assert plain.is_leaf
    with numgrad.no_grad():
        Double.apply(x)
    assert x.tolist() == [2.0, 4.0]
    assert x.is_leaf


def test_a_leaf_cannot_be_dirty(x):
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Double.apply(x)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        Double.apply(x[:1])
    assert x.is_leaf


def test_what_is_dirty_must_be_returned(x):
    class Forgets(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x + 1

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        Forgets.apply(x * 1)


# --- inputs and parts of them as outputs ------------------------------------------------


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
    # The input shares their memory, and nothing tells its graph how the change is to be undone.
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


def test_other_outputs_can_be_changed_in_place(x):
    class Reshaped(Function):
        @staticmethod
        def forward(ctx, x):
            return (x * 2).view(2, 1)

        @staticmethod
        def backward(ctx, g):
            return g.view(2) * 2

    y = Reshaped.apply(x)
    y.mul_(3)
    y[0] = 0.0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 6.0]


def test_the_gradient_of_a_result_written_in_place(x):
    y = zeros(2)
    y.copy_(Double.apply(x * 1))
    y.mul_(y.detach().clone())
    (gradient,) = grad(y.sum(), x)  # 2x · 2x with the second factor held fixed
    assert gradient.tolist() == [4.0, 8.0]
