"""Views in place: t_, transpose_, squeeze_, unsqueeze_ and their other names."""

import numpy as np
import pytest
from ops.gradients import check_gradients
from snapshots import refused

import numgrad
from numgrad import arange, ones, zeros

#: Each in place and apart, for a tensor of shape (2, 1, 3).
CHANGES = {
    "t_": (lambda y: y.squeeze_(1).t_(), lambda y: y.squeeze(1).t()),
    "transpose_": (lambda y: y.transpose_(0, -1), lambda y: y.transpose(0, -1)),
    "swapaxes_": (lambda y: y.swapaxes_(1, 2), lambda y: y.swapaxes(1, 2)),
    "swapdims_": (lambda y: y.swapdims_(0, 1), lambda y: y.swapdims(0, 1)),
    "squeeze_": (lambda y: y.squeeze_(), lambda y: y.squeeze()),
    "squeeze_ dim": (lambda y: y.squeeze_(-2), lambda y: y.squeeze(-2)),
    "squeeze_ other dim": (lambda y: y.squeeze_(0), lambda y: y.squeeze(0)),
    "squeeze_ dims": (lambda y: y.squeeze_((0, 1)), lambda y: y.squeeze((0, 1))),
    "unsqueeze_": (lambda y: y.unsqueeze_(0), lambda y: y.unsqueeze(0)),
    "unsqueeze_ last": (lambda y: y.unsqueeze_(-1), lambda y: y.unsqueeze(-1)),
    "twice": (lambda y: y.unsqueeze_(1).transpose_(0, 3), lambda y: y.unsqueeze(1).transpose(0, 3)),
}
changes = pytest.mark.parametrize(("in_place", "apart"), CHANGES.values(), ids=CHANGES)


@pytest.fixture
def x():
    return numgrad.from_numpy(np.array([[[0.7, 1.3, 2.1]], [[0.4, 1.8, 0.9]]])).requires_grad_()


def weights(t):
    return arange(1.0, t.numel() + 1, dtype=numgrad.float64).reshape(t.shape)


def weighted(t):
    return t * weights(t)


@changes
def test_the_tensor_takes_the_shape_and_keeps_its_memory(x, in_place, apart):
    for y in (x.detach().clone(), x * 1):
        memory, wanted = y.data_ptr(), apart(y.detach().clone())
        assert in_place(y) is y
        assert (y.shape, y.stride(), y.tolist()) == (wanted.shape, wanted.stride(), wanted.tolist())
        assert y.data_ptr() == memory
        assert y._version > 0


@changes
def test_derivatives(x, in_place, apart):
    check_gradients(lambda x: weighted(in_place(x * x)), x)


@changes
def test_derivatives_of_a_view(x, in_place, apart):
    def function(x):
        base = numgrad.stack([x, x * 2]) * x
        view = base[1]
        in_place(view)
        view.mul_(weights(view))
        return base * base, view.log()

    check_gradients(function, x)


@changes
def test_views_of_the_base_follow_it(x, in_place, apart):
    def function(x):
        base = x * x
        view, other = base[:, :, 1:], base[1]
        in_place(base)
        view.mul_(3)
        return weighted(base), view * other[:, :2]

    check_gradients(function, x)


def test_nodes_have_names_of_their_own(x):
    def name(t):
        return t.grad_fn.name()

    assert name((x * 1).squeeze_()) == "SqueezeBackward3"
    assert name((x * 1).squeeze_(1)) == "SqueezeBackward4"
    assert name((x * 1).squeeze_((0, 1))) == "SqueezeBackward5"
    assert name((x * 1).unsqueeze_(1)) == "UnsqueezeBackward1"
    assert name((x * 1).transpose_(0, 2)) == "TransposeBackward1"
    assert name((x[0] * 1).t_()) == "TBackward1"
    base = x * 1
    assert name(base[0].t_()) == "TBackward1"
    assert name(base) == "MulBackward0"


def test_it_counts_as_a_change(x):
    y = x * 1
    total = (y * y).sum()
    y.unsqueeze_(0)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        total.backward()


def test_a_view_reshaped_without_recording_passes_gradients_on():
    leaf = numgrad.arange(6.0).view(2, 3).clone().requires_grad_()
    view = (leaf * 1)[:, :2]
    with numgrad.no_grad():
        view.t_()
    (view * numgrad.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert leaf.grad.tolist() == [[1.0, 3.0, 0.0], [2.0, 4.0, 0.0]]


def test_leaves_and_several_views_are_refused(x):
    with refused(RuntimeError, [x], "a leaf Variable that requires grad is being used in an in-place operation"):
        x.squeeze_()
    view = x[0]
    with refused(RuntimeError, [x, view], "a view of a leaf Variable that requires grad"):
        view.t_()
    row = (x * 1).unbind()[0]
    with refused(RuntimeError, [row], "a function that returns multiple views"):
        row.unsqueeze_(0)


def test_a_leaf_reshaped_without_recording_gets_gradients_of_its_new_shape():
    x = ones(2, 3, requires_grad=True)
    (x * 2).sum().backward()
    x.grad = None
    with numgrad.no_grad():
        x.t_()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0]] * 3


@pytest.mark.parametrize(("change", "error", "words"), [
    (lambda t: t.t_(), RuntimeError, "t_() expects a tensor with <= 2 dimensions, but self is 3D"),
    (lambda t: t.transpose_(0, 3), IndexError, "Dimension out of range"),
    (lambda t: t.squeeze_(5), IndexError, "Dimension out of range"),
    (lambda t: t.unsqueeze_(5), IndexError, "Dimension out of range"),
])
def test_wrong_dimensions(change, error, words):
    t = zeros(2, 1, 3)
    with refused(error, [t], words):
        change(t)


def test_another_view_that_was_made_alike_is_not_reshaped_with_it():
    x = ones(2, 3).requires_grad_()
    y = x * 1
    one, other = y.t(), y.t()
    one.unsqueeze_(0)
    other.mul_(2)
    assert one.grad_fn is not None
    (gradient,) = numgrad.autograd.grad((one * 3).sum(), x)
    assert one.shape == (1, 3, 2)
    assert gradient.tolist() == [[6.0] * 3] * 2
