"""A tensor's place in the graph: leaves, ``requires_grad``, ``grad``, ``detach`` and ``data``, and their errors."""

import pytest
from snapshots import refused

import numgrad
from numgrad import ones, tensor, zeros


@pytest.fixture
def leaf():
    return tensor([1.0, 2.0], requires_grad=True)


# --- requires_grad ----------------------------------------------------------------------


def test_leaves_and_results(leaf):
    plain, result = tensor([1.0, 2.0]), leaf * 2
    assert [x.is_leaf for x in (plain, leaf, plain * 2, result)] == [True, True, True, False]
    assert [x.requires_grad for x in (plain, leaf, plain * 2, result)] == [False, True, False, True]
    assert plain.grad_fn is leaf.grad_fn is None
    assert result.grad_fn.name() == "MulBackward0"
    assert (plain + leaf).requires_grad
    assert leaf.output_nr == result.output_nr == 0
    assert leaf.unbind()[1].output_nr == 1
    assert leaf.name is None


def test_requires_grad_can_be_switched_on_a_leaf():
    x = zeros(2)
    assert x.requires_grad_() is x
    assert (x * 2).requires_grad
    x.requires_grad = False
    assert not (x * 2).requires_grad
    x.requires_grad = True
    assert x.requires_grad
    assert not x.requires_grad_(False).requires_grad


def test_requires_grad_of_a_result_cannot_be_changed(leaf):
    result = leaf * 2
    message = "you can only change requires_grad flags of leaf variables"
    with refused(RuntimeError, [leaf, result], message, "detach()"):
        result.requires_grad = False
    with refused(RuntimeError, [leaf, result], message):
        result.requires_grad = True
    with refused(RuntimeError, [leaf, result], message):
        result.requires_grad_(False)
    assert result.requires_grad_() is result  # nothing to change


@pytest.mark.parametrize("dtype", [numgrad.int64, numgrad.bool])
def test_only_floating_point_tensors_can_require_gradients(dtype):
    x = zeros(2, 3, dtype=dtype)
    words = repr(dtype), "[2, 3]"
    with refused(RuntimeError, [x], "only Tensors of floating point and complex dtype can require gradients", *words):
        x.requires_grad = True
    with refused(RuntimeError, [x], "only Tensors of floating point dtype can require gradients", *words):
        x.requires_grad_()
    x.requires_grad_(False)
    assert not x.requires_grad


@pytest.mark.parametrize("value", [1, "yes", None])
def test_the_flag_is_a_bool(value):
    x = zeros(2)
    with refused(RuntimeError, [x], "requires_grad must be a bool"):
        x.requires_grad = value
    with refused(TypeError, [x], "must be bool", type(value).__name__):
        x.requires_grad_(value)


# --- grad -------------------------------------------------------------------------------


def test_grad_starts_as_none_and_accumulates(leaf):
    assert leaf.grad is None
    (leaf * 2).sum().backward()
    first = leaf.grad
    assert first.tolist() == [2, 2]
    assert not first.requires_grad
    (leaf * 3).sum().backward()
    assert leaf.grad is first
    assert first.tolist() == [5, 5]


def test_grad_can_be_assigned_and_removed():
    x, value = zeros(2), ones(2)
    x.grad = value
    assert x.grad is value
    x.grad = None
    assert x.grad is None
    x.grad = value
    del x.grad
    assert x.grad is None


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (3, TypeError, ["assigned grad expected to be a Tensor or None", "int"]),
        ([0.0, 0.0], TypeError, ["assigned grad expected to be a Tensor or None", "list"]),
        (zeros(3), RuntimeError, ["attempting to assign a gradient of size", "[3]", "[2]"]),
        (zeros(1, 2), RuntimeError, ["attempting to assign a gradient of size", "[1, 2]", "[2]"]),
        (zeros(2, dtype=numgrad.float64), RuntimeError, ["a gradient with dtype", "'double'", "grad_dtype 'Float'"]),
        (zeros(2, dtype=numgrad.int64), RuntimeError, ["a gradient with dtype", "'long'", "grad_dtype 'Float'"]),
    ],
)
def test_a_grad_that_does_not_fit_is_refused(leaf, value, error, words):
    leaf.sum().backward()
    with refused(error, [leaf], *words):
        leaf.grad = value


def test_a_tensor_is_not_its_own_grad(leaf):
    with refused(RuntimeError, [leaf], "can't assign Variable as its own grad"):
        leaf.grad = leaf


def test_reading_grad_of_a_result_warns(leaf):
    result = leaf * 2
    with pytest.warns(UserWarning, match=r"not a leaf Tensor is being accessed.*retain_grad\(\)"):
        assert result.grad is None
    result.retain_grad()
    assert result.retains_grad
    assert result.grad is None  # no warning now
    result.sum().backward()
    assert result.grad.tolist() == [1, 1]
    assert leaf.grad.tolist() == [2, 2]


def test_reading_grad_of_a_plain_result_or_view_does_not_warn():
    assert (zeros(2) * 2).grad is None
    assert zeros(2)[0].grad is None
    assert zeros(2).view(1, 2).grad is None


def test_retain_grad_of_leaves(leaf):
    leaf.retain_grad()  # a leaf keeps its gradient anyway
    assert not leaf.retains_grad
    x = zeros(2)
    with refused(RuntimeError, [x], "can't retain_grad on Tensor that has requires_grad=False"):
        x.retain_grad()


def test_hooks_need_a_gradient_to_come():
    x = zeros(2)
    with refused(RuntimeError, [x], "cannot register a hook on a tensor that doesn't require gradient"):
        x.register_hook(print)


# --- detach and data --------------------------------------------------------------------


def test_detach_shares_memory_and_version(leaf):
    result = leaf * 2
    detached = result.detach()
    assert not detached.requires_grad
    assert detached.is_leaf
    assert detached.data_ptr() == result.data_ptr()
    detached[0] = 10
    assert result.tolist() == [10, 4]
    assert result._version == detached._version == 1
    assert not leaf.detach().requires_grad
    assert leaf.requires_grad


def test_detach_keeps_the_layout():
    x = zeros(2, 3).t()
    assert x.detach().stride() == (1, 3)
    assert x[1:].detach().storage_offset() == 1


def test_a_change_through_detach_is_noticed_and_one_through_data_is_not(leaf):
    square = leaf * leaf
    leaf.detach()[0] = 5
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()
    square = leaf * leaf
    leaf.data[0] = 7
    square.sum().backward()
    assert leaf.grad.tolist() == [14, 4]


def test_data_is_outside_the_graph(leaf):
    result = leaf * 2
    assert not result.data.requires_grad
    assert result.data.is_leaf
    assert leaf.data is not leaf
    leaf.data.add_(1)  # allowed on a leaf, unlike leaf.add_(1)
    assert leaf.tolist() == [2, 3]
    assert leaf._version == 0


def test_data_can_be_replaced(leaf):
    leaf.data = tensor([[5.0, 6.0, 7.0]])
    assert leaf.shape == (1, 3)
    assert leaf.requires_grad
    (leaf * leaf).sum().backward()
    assert leaf.grad.tolist() == [[10, 12, 14]]


def test_other_data_of_the_same_shape_keep_the_place_in_the_graph(leaf):
    result = (leaf * 3).sum()
    leaf.data = zeros(2)
    (gradient,) = numgrad.autograd.grad(result, leaf)
    assert gradient.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (3.0, TypeError, ["Variable data has to be a tensor", "float"]),
        (zeros(2, dtype=numgrad.int64), RuntimeError, ["must be floating point", "torch.int64", "[2]"]),
    ],
)
def test_data_that_does_not_fit_is_refused(leaf, value, error, words):
    with refused(error, [leaf], *words):
        leaf.data = value


def test_detach_in_place(leaf):
    result = leaf * 2
    assert result.detach_() is result
    assert not result.requires_grad
    assert result.is_leaf
    view = (leaf * 2)[0]
    with refused(RuntimeError, [view], "Can't detach views in-place"):
        view.detach_()


# --- versions and views -----------------------------------------------------------------


def test_version_counts_changes_in_place():
    x = zeros(3)
    assert x._version == 0
    x.add_(1).mul_(2)
    assert x._version == 2
    x[0] = 5
    x.fill_(1)
    x.copy_(zeros(3))
    x.zero_()
    assert x._version == 6
    assert (x + 1)._version == x.clone()._version == 0


def test_views_share_the_version_and_know_their_base():
    x = zeros(2, 3)
    row, column = x[0], x[0].view(3)
    column.add_(1)
    assert x._version == row._version == column._version == 1
    assert row._is_view()
    assert not x._is_view()
    assert x._base is None
    assert row._base is x
    assert column._base is x
    assert not x.clone()._is_view()
