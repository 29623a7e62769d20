"""Writing to views: the base and its other views see the change, in their values and in their graph."""

import numpy as np
import pytest
from backward_times import slowdown
from ops.gradients import check_gradients
from snapshots import refused

import numgrad
from numgrad import ones, tensor, zeros


@pytest.fixture
def x():
    return numgrad.from_numpy(np.array([[0.7, 1.3, 2.1], [0.4, 1.8, 0.9]])).requires_grad_()


@pytest.fixture
def w():
    return numgrad.from_numpy(np.array([1.1, 0.6, 1.7])).requires_grad_()


#: Ways to look at a 2×3 tensor.
VIEWS = {
    "row": lambda y: y[1],
    "column": lambda y: y[:, 1],
    "element": lambda y: y[1, 2],
    "block": lambda y: y[:, 1:],
    "every other": lambda y: y[:, ::2],
    "transposed": lambda y: y.t(),
    "permuted": lambda y: y.permute(1, 0),
    "reshaped": lambda y: y.view(3, 2),
    "flat": lambda y: y.reshape(-1),
    "unsqueezed": lambda y: y.unsqueeze(1),
    "squeezed": lambda y: y[1:].squeeze(0),
    "everything": lambda y: y[:],
    "alias": lambda y: y[...],
    "view of a view": lambda y: y.t()[1:].view(2, 2)[:, 1],
    "part of a part of a part": lambda y: y[1][1:][0],
}

#: Ways to write to a tensor of any shape; ``w`` is a number.
WRITES = {
    "mul_": lambda v, w: v.mul_(w),
    "add_": lambda v, w: v.add_(w, alpha=2),
    "pow_": lambda v, w: v.pow_(w),
    "exp_": lambda v, w: v.exp_(),
    "copy_": lambda v, w: v.copy_(w),
    "zero_": lambda v, w: v.zero_(),
    "twice": lambda v, w: v.mul_(w).tanh_(),
}


#: Two of the ways to write to every view, and the others to a row and to elements that are not neighbours.
WRITTEN_VIEWS = [
    (name, change) for name in VIEWS for change in WRITES
    if change in ("mul_", "twice") or name in ("row", "every other")
]


@pytest.mark.parametrize(("name", "change"), WRITTEN_VIEWS)
def test_derivatives_through_a_written_view(x, w, name, change):
    view, write = VIEWS[name], WRITES[change]

    def function(x, w):
        base = x * x
        part = view(base)
        write(part, w[0])
        return base, part

    base, part = function(x, w)
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert part.data_ptr() == view(base).data_ptr()
    assert part.tolist() == view(base).tolist()
    check_gradients(function, x, w)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_derivatives_of_a_view_of_a_written_base(x, w, view):
    def function(x, w):
        base = x * x
        part = view(base)
        base.mul_(w)
        return part, part * w[0]

    check_gradients(function, x, w)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_derivatives_into_a_plain_buffer(w, view):
    def function(w):
        buffer = zeros(2, 3, dtype=numgrad.float64)
        part, other = view(buffer), buffer[1]
        part.add_(w[2]).mul_(w[0])
        return buffer, part * w[1], other

    check_gradients(function, w)


def test_views_of_one_base_see_one_anothers_changes(x, w):
    def function(x, w):
        base = x * x
        first, second = base[0], base[:, 1:]
        first.mul_(w)
        second.mul_(second.detach().clone() * 0 + w[1:])
        first.pow_(2)
        base[1, 1] = first[1].clone() * w[2]
        return base, first, second

    check_gradients(function, x, w)


def test_values_taken_before_keep_their_gradient(x, w):
    def function(x, w):
        base = x * 1
        part = base[0]
        early, early_part = base.exp(), part * part
        part.mul_(w)
        return early + base, early_part

    early_part = function(x, w)[1]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        early_part.sum().backward()
    check_gradients(lambda x, w: function(x, w)[0], x, w)


def test_a_loop_that_fills_a_buffer(x, w):
    def function(x, w):
        buffer, state = zeros(4, 3, dtype=numgrad.float64), w
        for step in range(4):
            state = (state * x[step % 2]).tanh()
            buffer[step] = state
        return buffer

    check_gradients(function, x, w)


def test_a_buffer_that_is_used_while_it_is_filled(x, w):
    def function(x, w):
        buffer = zeros(3, 3, dtype=numgrad.float64)
        buffer[0] = w
        for step in range(2):
            buffer[step + 1] = buffer[step].clone() * x[step]
        return buffer

    check_gradients(function, x, w)


def test_columns_moved_within_one_tensor(x, w):
    def function(x, w):
        base = x * w
        base[:, 0] = base[:, 1]
        base[0, ::2] += base[1, ::2]
        return base

    check_gradients(function, x, w)


@pytest.mark.parametrize("write", [
    lambda base, part, w: part.mul_(w), lambda base, part, w: part[1:2].exp_(), lambda base, part, w: base.mul_(w),
], ids=["view", "part of it", "base"])
@pytest.mark.parametrize("look", [
    lambda base: base.t().view(6), lambda base: base.t().reshape(-1)[::2], lambda base: base.t()[1:].view(3),
], ids=["flat", "every other", "row"])
def test_a_base_that_is_not_row_major(x, w, look, write):
    # Views of it need not be views of a gradient that is.
    def function(x, w):
        base = x.t().clone()
        part = look(base)
        write(base, part, w[0])
        return base, part * w[1]

    assert x.t().clone().stride() == (1, 3)
    check_gradients(function, x, w)


def test_who_requires_a_gradient_afterwards(w):
    buffer = zeros(5, dtype=numgrad.float64)
    touched, beside, copy = buffer[:3], buffer[3:], buffer.clone()
    touched.copy_(w)
    assert [t.requires_grad for t in (buffer, touched, beside, copy)] == [True, True, True, False]
    assert [t.is_leaf for t in (buffer, touched, beside, copy)] == [False, False, False, True]
    beside.sum().backward()
    assert w.grad.tolist() == [0.0, 0.0, 0.0]


def test_the_view_written_to_stands_on_the_new_base(x):
    base = x * 1
    part, other = base[0], base[1]
    old = other.grad_fn
    part.mul_(2)
    assert part.grad_fn.next_functions == ((base.grad_fn, 0),)
    assert other.grad_fn is not old
    assert other.grad_fn.next_functions == ((base.grad_fn, 0),)
    assert base.grad_fn.next_functions[0][0].name() == "MulBackward0"


def test_writing_without_recording_leaves_the_graph(x):
    base = x * 1
    part = base[0]
    node = base.grad_fn
    with numgrad.no_grad():
        part.mul_(10)
    assert base.grad_fn is node
    assert base[0].tolist() == part.tolist()
    (base * tensor(2.0)).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_after_any_change_a_view_has_a_node_of_its_base(x):
    base = x * 1
    part = base[0]
    part.register_hook(lambda gradient: pytest.fail("this belongs to the node that the view had"))
    part.retain_grad()
    with numgrad.no_grad():
        base.mul_(10)
    assert part.grad_fn.name() == "AsStridedBackward0"
    assert part.grad_fn.next_functions == ((base.grad_fn, 0),)
    (part * 2).sum().backward()
    assert part.grad.tolist() == [2.0] * 3
    assert x.grad.tolist() == [[2.0] * 3, [0.0] * 3]


def test_views_of_a_base_that_was_detached_follow_once_it_is_changed(x, w):
    base = x * 1
    part = base[0]
    base.detach_()
    (part * 2).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3, [0.0] * 3]
    base.mul_(3)
    assert part.requires_grad
    assert part.grad_fn.next_functions == ((None, 0),)
    (part * w).sum().backward()
    assert w.grad.tolist() == part.tolist()
    assert x.grad.tolist() == [[2.0] * 3, [0.0] * 3]


def test_filling_elements_that_share_memory(x):
    base = x[0] * 1
    base.unfold(0, 2, 1).zero_()
    base.sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


def test_a_detached_view_changes_values_only(x):
    base = x * 1
    base[0].detach().zero_()
    assert base.tolist()[0] == [0.0, 0.0, 0.0]
    assert base.grad_fn.name() == "MulBackward0"
    assert base._version == 1


@pytest.mark.parametrize("part", [
    lambda y: y.unbind()[0], lambda y: y.split(1)[0], lambda y: y.split([1, 1])[0], lambda y: y.chunk(2)[0],
    lambda y: next(iter(y)), lambda y: y.unbind()[0][1:], lambda y: y.t().unbind(1)[0].view(3),
], ids=["unbind", "split", "sizes", "chunk", "iteration", "part", "views"])
def test_one_of_several_views_can_be_neither_written_to_nor_used_after_a_change(x, part):
    base = x * 1
    view = part(base)
    words = "is a view and {} modified inplace. This view is the output of a function that returns multiple views"
    with refused(RuntimeError, [base, view], words.format("is being")):
        view.mul_(2)
    base.mul_(2)
    with pytest.raises(RuntimeError, match=words.format("its base or another view of its base has been")):
        view.sum()
    with numgrad.no_grad():
        view.mul_(2)
    assert base.tolist()[0][-1] == 4 * x.tolist()[0][-1]


def test_one_of_several_views_of_what_needs_no_gradient_can_be_written_to(w):
    base = ones(2, 3, dtype=numgrad.float64)
    rows = base.unbind()
    rows[0].mul_(2)
    assert base.tolist() == [[2.0] * 3, [1.0] * 3]
    with refused(RuntimeError, [base, *rows], "This view is the output of a function that returns multiple views"):
        rows[0].mul_(w)


def test_a_graph_with_written_views_is_freed(x):
    base = x * 1
    base[0].mul_(2)
    total = (base * 3).sum()
    total.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        total.backward()
    assert x.grad.tolist() == [[6.0] * 3, [3.0] * 3]


def test_a_view_whose_elements_share_memory_follows_its_base(w):
    base = w * 1
    rows = base.expand(2, 3)
    base.mul_(2)
    (rows * tensor([[1.0], [10.0]], dtype=numgrad.float64)).sum().backward()
    assert w.grad.tolist() == [22.0] * 3


def test_writing_to_a_part_leaves_the_gradient_that_others_hold():
    x, seen = numgrad.ones(3, 2, requires_grad=True), []
    y = x * 2
    y.register_hook(seen.append)
    y[1] = numgrad.zeros(2)
    z = y * 3
    z.retain_grad()
    z[0] = numgrad.zeros(2)
    given = numgrad.ones(3, 2)
    z.backward(given)
    assert given.tolist() == [[1, 1]] * 3
    assert [hooked.tolist() for hooked in seen] == [[[0, 0], [0, 0], [3, 3]]]
    assert x.grad.tolist() == [[0, 0], [0, 0], [6, 6]]


def test_gradient_of_a_write_costs_what_the_part_does():
    w = numgrad.ones(1000, requires_grad=True)

    def loss(writes):
        y = numgrad.zeros(1000, 1000)
        for i in range(writes):
            y[i] = w
        return y.sum()

    assert slowdown(loss, w) < 15
