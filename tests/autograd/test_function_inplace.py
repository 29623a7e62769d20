"""Functions that change their inputs in place."""

import numpy as np
import pytest
from ops.gradients import check_gradients

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


class Twice(Function):
    """Not in place."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

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


def test_in_place_with_another_output(x):
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


def test_dirty_tensors_must_be_returned(x):
    class Forgets(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x + 1

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        Forgets.apply(x * 1)


def dirty(*outputs):
    """A Function that doubles its input in place and returns ``outputs``, each a function of it."""

    class Changes(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            results = tuple([output(x) for output in outputs])
            return results if len(results) > 1 else results[0]

        @staticmethod
        def backward(ctx, *gradients):
            return gradients[0] * 2

    return Changes


def same(x):
    return x


def test_a_dirty_view_must_be_the_only_output(x):
    for other in (lambda x: x.clone(), lambda x: 3):
        with pytest.raises(RuntimeError, match="Function cannot return more than one Tensor"):
            dirty(same, other).apply((x * 1)[:1])


def test_a_dirty_input_returned_twice(x):
    y = x * 1
    first, second = dirty(same, same).apply(y)
    assert first is second is y
    assert y.output_nr == 1


def test_two_dirty_inputs_in_another_order(x):
    class Swap(Function):
        @staticmethod
        def forward(ctx, a, b):
            a.mul_(2)
            b.mul_(3)
            ctx.mark_dirty(a, b)
            return b, a

        @staticmethod
        def backward(ctx, of_b, of_a):
            return of_a * 2, of_b * 3

    w = tensor([3.0, 4.0], requires_grad=True)
    a, b = x * 1, w * 1
    first, second = Swap.apply(a, b)
    assert first is b
    assert second is a
    (a + b * 10).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert w.grad.tolist() == [30.0, 30.0]


def test_dirty_and_not_differentiable(x):
    class Marks(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            ctx.mark_non_differentiable(x)
            return x

    y = x * 1
    result = Marks.apply(y)
    assert not result.requires_grad
    assert result.tolist() == y.tolist() == [2.0, 4.0]
    assert y.grad_fn.name() == "MulBackward0"


def test_only_tensors_can_be_dirty(x):
    class Marks(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x, 3)
            return x

    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables, but argument 1 is of type int"):
        Marks.apply(x * 1)


def test_dirty_tensors_should_be_inputs(x):
    class Marks(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.warns(UserWarning, match=r"ctx.mark_dirty\(\) received a tensor that was not an input"):
        y = Marks.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_integer_input_may_be_dirty(x):
    class Count(Function):
        @staticmethod
        def forward(ctx, x, number):
            number.add_(1)
            ctx.mark_dirty(number)
            return x * 2, number

        @staticmethod
        def backward(ctx, g, of_number):
            return g * 2, None

    number = tensor(3)
    y, result = Count.apply(x, number)
    assert result is number
    assert number.item() == 4
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_hooks_of_a_tensor_that_becomes_dirty(x):
    y = x * 1
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.tolist()))  # of the value before
    seen = []
    Double.apply(y)
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]
    assert seen == [[6.0, 6.0]]


def test_other_views_follow_the_change(x):
    y = x * 1
    column = y.view(2, 1)
    Double.apply(y)
    assert column.tolist() == [[2.0], [4.0]]
    (column * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_views_made_at_once_cannot_be_dirty(x):
    for part in (x * 1).unbind(0)[0], (x * 1).split(1)[0], Same.apply(x * 1):
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            Double.apply(part)


def test_a_change_that_is_not_marked(x):
    y = x * 1
    result = dirty(lambda x: x * 1)
    result.forward = staticmethod(lambda ctx, x: x.mul_(2))
    changed = result.apply(y)
    assert changed is not y  # an input returned, as if forward had not written to it
    assert y._version == 1
    changed.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_other_outputs_can_be_changed_in_place(x):
    y = Twice.apply(x)
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


def test_a_view_changed_without_need_of_gradients_stays_the_view_that_it_was():
    base, factor = ones(3), tensor([1.0, 2.0], requires_grad=True)
    part = base[1:]
    assert Double.apply(part) is part
    part.mul_(factor)
    base.sum().backward()
    assert factor.grad.tolist() == [2.0, 2.0]
