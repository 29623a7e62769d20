"""Operations in place: values, results, and gradients through them."""

import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad
from numgrad import ones, tensor, zeros

#: Each operation in place, and the same without.  ``y`` is written to, ``b`` of the same shape is read.
OPERATIONS = {
    "add_": (lambda y, b: y.add_(b), lambda y, b: y + b),
    "add_ alpha": (lambda y, b: y.add_(b, alpha=3), lambda y, b: y + 3 * b),
    "add_ number": (lambda y, b: y.add_(2.5), lambda y, b: y + 2.5),
    "sub_": (lambda y, b: y.sub_(b), lambda y, b: y - b),
    "sub_ alpha": (lambda y, b: y.sub_(b, alpha=0.5), lambda y, b: y - 0.5 * b),
    "mul_": (lambda y, b: y.mul_(b), lambda y, b: y * b),
    "add_ itself": (lambda y, b: y.add_(y), lambda y, b: y * 2),
    "div_": (lambda y, b: y.div_(b), lambda y, b: y / b),
    "pow_ number": (lambda y, b: y.pow_(3), lambda y, b: y**3),
    "pow_ half": (lambda y, b: y.pow_(0.5), lambda y, b: y**0.5),
    "pow_": (lambda y, b: y.pow_(b), lambda y, b: y**b),
    "exp_": (lambda y, b: y.exp_(), lambda y, b: y.exp()),
    "log_": (lambda y, b: y.log_(), lambda y, b: y.log()),
    "sqrt_": (lambda y, b: y.sqrt_(), lambda y, b: y.sqrt()),
    "tanh_": (lambda y, b: y.tanh_(), lambda y, b: y.tanh()),
    "sigmoid_": (lambda y, b: y.sigmoid_(), lambda y, b: y.sigmoid()),
    "relu_": (lambda y, b: y.sub_(1).relu_(), lambda y, b: (y - 1).relu()),
    "abs_": (lambda y, b: y.sub_(1).abs_(), lambda y, b: (y - 1).abs()),
    "neg_": (lambda y, b: y.neg_(), lambda y, b: -y),
    "reciprocal_": (lambda y, b: y.reciprocal_(), lambda y, b: 1 / y),
    "copy_": (lambda y, b: y.copy_(b), lambda y, b: b * 1),
    "copy_ broadcast": (lambda y, b: y.copy_(b[0]), lambda y, b: b[0].expand(2, 3)),
    "fill_": (lambda y, b: y.fill_(2.0), lambda y, b: y * 0 + 2),
    "fill_ tensor": (lambda y, b: y.fill_(b[0, 1]), lambda y, b: b[0, 1].expand(2, 3)),
    "zero_": (lambda y, b: y.zero_(), lambda y, b: y * 0),
    "+=": (lambda y, b: y.__iadd__(b), lambda y, b: y + b),
    "-= number": (lambda y, b: y.__isub__(1.5), lambda y, b: y - 1.5),
    "*= row": (lambda y, b: y.__imul__(b[1]), lambda y, b: y * b[1]),
    "/= column": (lambda y, b: y.__itruediv__(b[:, :1]), lambda y, b: y / b[:, :1]),
    "**=": (lambda y, b: y.__ipow__(2), lambda y, b: y**2),
    "y[...] = number": (lambda y, b: assigned(y, (0, 1), 5.0), lambda y, b: y * MASK + 5 * (1 - MASK)),
    "y[...] = tensor": (lambda y, b: assigned(y, 1, b[0]), lambda y, b: numgrad.cat([y[:1], b[:1]])),
    "y[...] = itself": (lambda y, b: assigned(y, 1, y[0]), lambda y, b: numgrad.cat([y[:1], y[:1]])),
    "several": (lambda y, b: y.mul_(b).add_(1).pow_(3).mul_(b), lambda y, b: (y * b + 1) ** 3 * b),
}
MASK = tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]], dtype=numgrad.float64)


def assigned(y, index, value):
    y[index] = value
    return y


@pytest.fixture
def a():
    return numgrad.from_numpy(np.array([[0.7, 1.3, 2.1], [0.4, 1.8, 0.9]])).requires_grad_()


@pytest.fixture
def b():
    return numgrad.from_numpy(np.array([[1.1, 0.6, 1.7], [2.3, 0.8, 1.4]])).requires_grad_()


@pytest.mark.parametrize(("in_place", "apart"), OPERATIONS.values(), ids=OPERATIONS)
def test_the_result_is_the_tensor_itself(a, b, in_place, apart):
    y = a * 1
    before = a.tolist(), b.tolist()
    assert in_place(y, b) is y
    np.testing.assert_allclose(y.detach().numpy(), apart(a * 1, b).detach().numpy(), rtol=1e-14)
    assert y.requires_grad
    assert not y.is_leaf
    assert (a.tolist(), b.tolist()) == before


@pytest.mark.parametrize(("in_place", "apart"), OPERATIONS.values(), ids=OPERATIONS)
def test_gradients_are_those_of_the_operation_apart(a, b, in_place, apart):
    weights = numgrad.from_numpy(np.array([[0.3, 0.9, 1.2], [0.5, 0.2, 1.6]]))
    (in_place(a * 1, b) * weights).sum().backward()
    got = [t.grad.tolist() if t.grad is not None else np.zeros((2, 3)) for t in (a, b)]
    a.grad = b.grad = None
    (apart(a * 1, b) * weights).sum().backward()
    expected = [t.grad.tolist() if t.grad is not None else np.zeros((2, 3)) for t in (a, b)]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("in_place", "apart"), OPERATIONS.values(), ids=OPERATIONS)
def test_first_and_second_derivatives(a, b, in_place, apart):
    check_gradients(lambda a, b: in_place(a * 1, b), a, b)


def test_only_what_a_gradient_needs_is_copied_before_it_is_overwritten(a, b):
    kept = (a * 1).mul_(b).grad_fn
    assert kept._saved_self.tolist() == a.tolist()  # for the gradient of b
    assert (a * 1).mul_(b.detach()).grad_fn._saved_self is None
    assert not hasattr((a * 1).add_(b).grad_fn, "_saved_self")


@pytest.mark.parametrize("change", ["mul_", "div_", "pow_"])
def test_an_operand_that_is_the_target_is_gone_when_backward_needs_it(a, change):
    y = a * 1
    getattr(y, change)(y)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.sum().backward()
    assert a.grad is None


def test_values_used_before_keep_their_gradient(a):
    y = a * 2
    early = y + 1
    y.mul_(3)
    (early + y).sum().backward()
    assert a.grad.tolist() == [[8.0] * 3] * 2


def test_a_plain_tensor_becomes_part_of_the_graph(b):
    plain = ones(2, 3, dtype=numgrad.float64)
    plain.mul_(b)
    assert plain.requires_grad
    assert plain.grad_fn.next_functions[0] == (None, 0)
    plain.sum().backward()
    assert b.grad.tolist() == [[1.0] * 3] * 2


def test_overwriting_cuts_the_old_value_off(a):
    y = a * 2
    y.zero_()
    y.sum().backward()
    assert a.grad.tolist() == [[0.0] * 3] * 2
    z = a * 2
    with numgrad.no_grad():  # not recorded: for the graph z is still 2a
        z.zero_()
    z.sum().backward()
    assert a.grad.tolist() == [[2.0] * 3] * 2


def test_other_dtypes_are_converted():
    single = ones(2, requires_grad=True)
    double = tensor([3.0, 4.0], dtype=numgrad.float64, requires_grad=True)
    y = single * 1
    y.mul_(double)
    assert y.dtype is numgrad.float32
    y.sum().backward()
    assert (single.grad.tolist(), double.grad.tolist()) == ([3.0, 4.0], [1.0, 1.0])
    assert double.grad.dtype is numgrad.float64
    single.grad = double.grad = None
    (single * 1).copy_(double).sum().backward()
    assert (single.grad.tolist(), double.grad.tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_integers_take_values_but_no_gradients():
    x = tensor([1.7, 2.2], requires_grad=True)
    whole = zeros(2, dtype=numgrad.int64)
    whole.copy_(x)
    whole[0] = x[1]
    assert whole.tolist() == [2, 2]
    assert not whole.requires_grad
    whole += 3
    whole *= 2
    assert whole.tolist() == [10, 10]
    assert whole._version == 4


def test_changes_are_seen_through_all_tensors_on_the_memory():
    array = np.array([1.0, 2.0, 3.0])
    t = numgrad.from_numpy(array)
    view, alias = t[1:], t.detach()
    view.mul_(10)
    assert array.tolist() == t.tolist() == alias.tolist() == [1.0, 20.0, 30.0]


def test_a_repeated_operation_is_checked_again():
    """A second call of the same layouts uses a cached entry, but repeats checks that depend on more than layouts."""
    y = zeros(3)
    for number in range(3):
        assert y.add_(1.0 + number) is y
        assert y.sub_(ones(3), alpha=number) is y
        assert y._version == 2 + 2 * number
    assert y.tolist() == [3.0, 3.0, 3.0]
    leaf = zeros(3, requires_grad=True)
    for call in (lambda: leaf.add_(1.0), lambda: leaf.zero_(), lambda: leaf.copy_(y), lambda: leaf.uniform_()):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            call()
    x = ones(3, requires_grad=True)
    y.add_(x).copy_(x * 2)
    y.mul_(x)
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0, 4.0]
    memory = zeros(4)
    for call in (lambda: memory[1:].add_(memory[:3]), lambda: memory[1:].copy_(memory[:3])):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            call()


def test_the_sign_of_a_zero_that_configures_an_operation_counts():
    x = -ones(1)
    threshold = numgrad.nn.functional.threshold
    assert str(threshold(x, 0.0, 0.0).item()) == "0.0"
    assert str(threshold(x, 0.0, -0.0).item()) == "-0.0"


def test_numbers_are_checked_at_each_call():
    x = tensor([1, 2], dtype=numgrad.uint8)
    y = x.clone()
    assert numgrad.add(x, x, alpha=2).tolist() == [3, 6]
    assert y.add_(x, alpha=2).tolist() == [3, 6]
    for call in (lambda: numgrad.add(x, x, alpha=300), lambda: y.add_(x, alpha=300)):
        with pytest.raises(RuntimeError, match="cannot be converted to type uint8 without overflow"):
            call()
    z = ones(2)
    assert z.clamp(0.0, 0.5).tolist() == z.clamp_(0.0, 0.5).tolist() == [0.5, 0.5]
    for call in (lambda: z.clamp(0.0, 1e39), lambda: z.clamp_(0.0, 1e39)):
        with pytest.raises(RuntimeError, match="without overflow"):
            call()
