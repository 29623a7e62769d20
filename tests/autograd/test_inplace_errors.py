"""In-place operations that are refused, and change nothing: neither values, nor versions, nor graphs."""

import pytest
from snapshots import refused

import numgrad
from numgrad import arange, ones, tensor, zeros

#: All ways of writing to a tensor.
WRITES = {
    "pointwise": lambda t: t.mul_(2),
    "from a tensor": lambda t: t.add_(ones(t.shape)),
    "power": lambda t: t.pow_(2),
    "copy_": lambda t: t.copy_(ones(t.shape)),
    "fill_": lambda t: t.fill_(1.0),
    "zero_": lambda t: t.zero_(),
    "assignment": lambda t: t.__setitem__(..., 5.0),
    "assignment of a tensor": lambda t: t.__setitem__(..., ones(t.shape)),
    "+=": lambda t: t.__iadd__(1),
}


@pytest.fixture
def x():
    return tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


@pytest.fixture(params=WRITES.values(), ids=WRITES.keys())
def write(request):
    return request.param


# --- leaves -----------------------------------------------------------------------------


def test_leaves_that_require_a_gradient(x, write):
    words = "leaf Variable that requires grad is being used in an in-place operation"
    with refused(RuntimeError, [x], words):
        write(x)
    with numgrad.no_grad():
        write(x)
    write(x.detach())
    assert x.is_leaf


@pytest.mark.parametrize("part", [lambda x: x[0], lambda x: x.t(), lambda x: x.view(4)[1:]], ids=["row", "t", "parts"])
def test_views_of_such_leaves(x, write, part):
    view = part(x)
    with refused(RuntimeError, [x, view], "a view of a leaf Variable that requires grad is being used in an in-place"):
        write(view)
    with numgrad.no_grad():
        write(view)
    assert x.is_leaf


def test_a_view_that_is_itself_such_a_leaf(write):
    base = zeros(4)
    leaf = base[:2].requires_grad_()
    for target in (leaf, leaf[:1]):
        with refused(RuntimeError, [base, leaf, target], "a view of a leaf Variable that requires grad"):
            write(target)
    write(base)  # does not require one


def test_a_view_made_before_its_base_became_such_a_leaf(write):
    base = zeros(4)
    view = base[:2]
    base.requires_grad_()
    with refused(RuntimeError, [base, view], "a view of a leaf Variable that requires grad"):
        write(view)


# --- views made without recording -------------------------------------------------------

NO_GRAD = "A view was created in no_grad mode and is being modified inplace with grad mode enabled."


@pytest.mark.parametrize("leaf", [True, False], ids=["leaf", "result"])
def test_views_made_under_no_grad(x, write, leaf):
    base = x if leaf else x * 1
    with numgrad.no_grad():
        view = base[0]
    part = view[1:]
    of_a_view = NO_GRAD.replace("A view was", "Output 0 of Slice is a view of a view which was")
    for target, words in ((view, NO_GRAD), (part, of_a_view)):
        with refused(RuntimeError, [base, view, part], words):
            write(target)
    with numgrad.no_grad():
        write(view)


@pytest.mark.parametrize("write", [
    lambda t, x: t.mul_(x[0]), lambda t, x: t.copy_(x[0]), lambda t, x: t.__setitem__(0, x[0, 0]),
    lambda t, x: t.fill_(x[0, 0]),
], ids=["pointwise", "copy_", "assignment", "fill_"])
def test_views_made_under_no_grad_of_what_would_come_to_require_a_gradient(x, write):
    buffer = zeros(4)
    with numgrad.no_grad():
        view = buffer[:2]
    with refused(RuntimeError, [x, buffer, view], NO_GRAD):
        write(view, x)
    write(view, x.detach())
    assert not buffer.requires_grad


def test_a_leaf_that_has_become_a_result_accumulates_no_more(x):
    other = ones(2, 2, requires_grad=True)
    before = (x * 2).sum()
    x.requires_grad_(False)
    x.mul_(other)
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        before.backward()
    assert x.grad_fn.name() == "MulBackward0"


# --- memory -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda t: t[:, :1].expand(2, 3), lambda t: t[0].expand(4, 2), lambda t: t[0, 0].expand(2),
    lambda t: t[0].expand(3, 2).t(), lambda t: t[0].expand(3, 2)[1:],
], ids=["columns", "rows", "number", "transposed", "part"])
@pytest.mark.parametrize("write", [WRITES["pointwise"], WRITES["from a tensor"], WRITES["copy_"], WRITES["+="]])
@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
def test_expanded_memory(make, write, recorded):
    base = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=recorded) * 1
    target = make(base)
    words = "more than one element of the written-to tensor refers to a single memory location"
    with refused(RuntimeError, [base, target], words, str(list(target.shape)), "clone()"):
        write(target)
    write(target.clone())


@pytest.mark.parametrize(("target", "source"), [
    (lambda t: t[1:], lambda t: t[:-1]), (lambda t: t[:-1], lambda t: t[1:]), (lambda t: t, lambda t: t[0]),
    (lambda t: t.view(3, 3), lambda t: t.view(3, 3).t()), (lambda t: t[:3], lambda t: t[2:5]),
    (lambda t: t, lambda t: t[4:5]),
], ids=["later", "earlier", "element", "transposed", "shifted", "one element"])
@pytest.mark.parametrize("write", [lambda t, s: t.add_(s), lambda t, s: t.mul_(s), lambda t, s: t.copy_(s)])
@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
def test_partly_overlapping_memory(target, source, write, recorded):
    base = arange(9.0, requires_grad=recorded) * 1
    written, read = target(base), source(base)
    words = "some elements of the input tensor and the written-to tensor refer to a single memory location"
    with refused(RuntimeError, [base, written, read], words, str(list(written.shape)), "clone()"):
        write(written, read)
    expected = write(written.clone(), read).tolist()
    assert write(written, read.clone()).tolist() == expected


@pytest.mark.parametrize(("target", "source"), [
    (lambda t: t, lambda t: t), (lambda t: t, lambda t: t[:]), (lambda t: t[1:4], lambda t: t[1:4]),
    (lambda t: t[::2], lambda t: t[1::2].expand(5) if t[1::2].numel() == 1 else t[1:10:2]),
    (lambda t: t[:5], lambda t: t[5:]), (lambda t: t.view(2, 5)[:, 0], lambda t: t.view(2, 5)[:, 3]),
], ids=["itself", "all of it", "same part", "interleaved", "adjacent", "columns"])
def test_memory_that_is_the_same_or_apart(target, source):
    base = arange(10.0)
    expected = (target(base).clone() + source(base).clone()).tolist()
    target(base).add_(source(base))
    assert target(base).tolist() == expected


# --- shapes and dtypes ------------------------------------------------------------------


@pytest.mark.parametrize("other", [ones(3), ones(3, 2), ones(4, 2, 2)], ids=["3", "3x2", "4x2x2"])
@pytest.mark.parametrize("write", [lambda t, o: t.add_(o), lambda t, o: t.copy_(o), lambda t, o: t.__setitem__(..., o)])
@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
def test_shapes_that_do_not_broadcast_to_the_target(x, other, write, recorded):
    target = x * 1 if recorded else x.detach()
    with refused(RuntimeError, [target, other], "2"):
        write(target, other)


def test_the_target_is_not_broadcast(x):
    row = x[0] * 1
    with refused(RuntimeError, [row, x], "output with shape [2] doesn't match the broadcast shape [2, 2]"):
        row.add_(x)


@pytest.mark.parametrize("write", [
    lambda t: t.add_(1.5), lambda t: t.mul_(ones(3)), lambda t: t.div_(2), lambda t: t.exp_(), lambda t: t.pow_(0.5),
], ids=["number", "tensor", "div_", "exp_", "pow_"])
def test_integers_do_not_become_floats(write):
    whole = arange(3)
    with refused(RuntimeError, [whole], "result type", "can't be cast to the desired output type Long"):
        write(whole)


def test_detaching_a_view_in_place(x):
    base = x * 1
    view = base[0]
    with refused(RuntimeError, [base, view], "Can't detach views in-place. Use detach() instead"):
        view.detach_()
