"""Version counters: shared by all tensors on the same memory, and checked when a saved tensor is used."""

import pytest

import numgrad
from numgrad import ones, tensor, zeros
from numgrad.autograd import grad


@pytest.fixture
def x():
    return tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


# --- counting ---------------------------------------------------------------------------


@pytest.mark.parametrize("change", [
    lambda t: t.add_(1), lambda t: t.mul_(t.clone()), lambda t: t.zero_(), lambda t: t.fill_(2), lambda t: t.exp_(),
    lambda t: t.copy_(ones(2, 2)), lambda t: t.pow_(2), lambda t: t.__setitem__(0, 5.0),
    lambda t: t.__setitem__(0, tensor([1.0, 2.0])), lambda t: t.__iadd__(1), lambda t: t[0].sub_(1),
    lambda t: t.t().neg_(), lambda t: t.detach().add_(1), lambda t: t.view(4)[1:].unsqueeze(0).relu_(),
])
def test_every_change_counts_once_for_all_tensors_on_the_memory(change):
    t = tensor([[1.0, 2.0], [3.0, 4.0]])
    others = t[0], t.view(4), t.t(), t.detach(), t[0].detach()[1:], t.unsqueeze(0).expand(3, 2, 2)
    for expected in (1, 2):
        change(t)
        assert t._version == expected
        assert {other._version for other in others} == {expected}


def test_changes_without_recording_count(x):
    with numgrad.no_grad():
        x.mul_(2)
        x[0] = 0.0
    assert x._version == 2


def test_reading_counts_nothing(x):
    y = x * 2
    y.sum().backward()
    assert (y.detach().numpy().sum(), y.tolist(), y[0].clone().sum().item()) == (20.0, [[2.0, 4.0], [6.0, 8.0]], 6.0)
    assert (x._version, y._version) == (0, 0)


def test_tensors_with_their_own_memory_have_their_own_version(x):
    y = (x * 1).add_(1)
    assert y._version == 1
    for copy in (y.clone(), y * 1, y.double(), y.t().contiguous(), numgrad.cat([y])):
        assert copy._version == 0


def test_data_has_a_version_of_its_own():
    t = ones(2)
    t.data.add_(1)
    assert t.tolist() == [2.0, 2.0]
    assert t._version == 0


def test_a_failed_change_counts_nothing(x):
    y = x * 1
    for change in (lambda: y.add_(ones(3)), lambda: y.copy_(ones(3, 3)), lambda: y.__setitem__(5, 1.0)):
        with pytest.raises((RuntimeError, IndexError)):
            change()
    assert y._version == 0


# --- checking ---------------------------------------------------------------------------

#: Operations that save a tensor, the tensor (``y`` or the result), and the node that the error names.
SAVING = {
    "operand": (lambda y: y * tensor([[2.0, 2.0], [2.0, 2.0]]).requires_grad_(), "y"),
    "other operand": (lambda y: tensor([[2.0, 2.0], [2.0, 2.0]]).requires_grad_() * y, "y"),
    "input": (lambda y: y.log(), "y"),
    "result": (lambda y: y.exp(), "result"),
    "strided result": (lambda y: y.t().exp(), "result"),
    "general": (lambda y: y @ y, "y"),
    "general result": (lambda y: y.softmax(0), "result"),
    "broadcast": (lambda y: y * tensor([2.0, 2.0]).requires_grad_(), "y"),
    "all": (lambda y: y.max(), "y"),
}
CHANGES = {
    "in place": lambda t: t.add_(1),
    "part": lambda t: t[0].zero_(),
    "assignment": lambda t: t.__setitem__((0, 0), 9.0),
    "detached": lambda t: t.detach().mul_(2),
    "transposed": lambda t: t.t().neg_(),
}


@pytest.mark.parametrize(("make", "which"), SAVING.values(), ids=SAVING)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_saved_tensor_must_not_be_modified(x, make, which, change, create_graph):
    y = x * 1
    result = make(y)
    total = result.sum()
    change(y if which == "y" else result)
    message = (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        r"\[torch.FloatTensor \[2, 2\]\], which is output 0 of \S+, is at version 1; expected version 0 instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        r"torch.autograd.set_detect_anomaly\(True"
    )
    with pytest.raises(RuntimeError, match=message):
        total.backward(create_graph=create_graph)
    assert x.grad is None


def test_the_error_names_the_maker_if_there_is_one(x):
    y = x * 1
    total = (y.exp() * y).sum()
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2, 2\]\], which is output 0 of Mul"):
        total.backward()
    plain = tensor([1.0, 2.0], dtype=numgrad.float64)
    total = (x * plain).sum()
    plain.zero_()
    plain.zero_()
    with pytest.raises(RuntimeError, match=r"\[torch.DoubleTensor \[2\]\] is at version 2; expected version 0 instead"):
        total.backward()


def test_changing_a_tensor_before_it_is_saved_is_allowed(x):
    y = x * 1
    y.mul_(2)
    total = (y * y).sum()
    total.backward(retain_graph=True)
    y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 2; expected version 1 instead"):
        total.backward()


def test_changing_a_tensor_that_is_not_saved_is_allowed(x):
    other = tensor([[5.0, 6.0], [7.0, 8.0]])
    y = x * 1
    total = (y * other + y + other * 3).sum()  # y is saved nowhere: other needs no gradient
    y.zero_()
    total.backward()
    assert x.grad.tolist() == [[6.0, 7.0], [8.0, 9.0]]


def test_a_change_through_data_is_not_noticed(x):
    y = x * 1
    total = (y * y).sum()
    y.data.fill_(10.0)
    total.backward()
    assert x.grad.tolist() == [[20.0, 20.0], [20.0, 20.0]]


def test_changing_a_tensor_after_backward_is_allowed(x):
    y = x.exp()
    y.sum().backward()
    y.mul_(0)
    assert x.grad[0, 0].item() == pytest.approx(2.718282)


def test_only_the_pass_that_needs_the_value_fails(x):
    y = x * 1
    square, plain = (y * y).sum(), (y + 1).sum()
    y.zero_()
    plain.backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(square, x)


def test_a_change_of_a_leaf_is_noticed(x):
    total = (x * x).sum()
    with numgrad.no_grad():
        x -= 0.1
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2, 2\]\] is at version 1; expected version 0"):
        total.backward()


def test_views_are_saved_with_the_version_of_their_base():
    base = zeros(4)
    row = base[:2]
    x = ones(2, requires_grad=True)
    total = (x * row).sum()
    base[3] = 1.0  # another part, but one counter
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        total.backward()


def test_changes_may_be_kept_from_counting():
    x, w, v = ones(2, requires_grad=True), ones(2), ones(2)
    y = (x * w * v).sum()
    with numgrad.autograd._unsafe_preserve_version_counter(w):
        w.mul_(3)
    with numgrad.autograd._unsafe_preserve_version_counter((w, v)):
        v.mul_(2)
    assert (w._version, v._version) == (0, 0)
    y.backward()
    assert x.grad.tolist() == [6.0, 6.0]
    w.mul_(2)
    assert w._version == 1
    with pytest.raises(TypeError, match="a tensor or a tuple of tensors, but got int"):
        numgrad.autograd._unsafe_preserve_version_counter(3)


def test_resizing_to_the_same_shape_counts_nothing(x):
    constant = ones(2, 2)
    y = x * constant
    constant.resize_(2, 2)
    assert constant._version == 0
    y.sum().backward()
    constant.resize_(3)
    assert constant._version == 1
