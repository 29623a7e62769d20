"""``backward`` and ``autograd.grad``: the gradients, and their destinations."""

import time

import pytest
from snapshots import refused, unchanged

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import backward, grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


@pytest.fixture
def y():
    return tensor([3.0, 5.0], requires_grad=True)


# --- where gradients go -----------------------------------------------------------------


def test_backward_fills_the_grad_of_the_leaves_that_require_one(x):
    constant = tensor([3.0, 5.0])
    product = x * constant
    (product * product).sum().backward()  # sum of x² c²: 2 x c²
    assert x.grad.tolist() == [18.0, 100.0]
    assert constant.grad is None
    assert not x.grad.requires_grad
    with pytest.warns(UserWarning, match=r"The \.grad attribute of a Tensor that is not a leaf"):
        assert product.grad is None


def test_a_leaf_is_its_own_gradient(x):
    x.backward(tensor([3.0, 4.0]))
    assert x.grad.tolist() == [3.0, 4.0]
    scalar = tensor(7.0, requires_grad=True)
    scalar.backward()
    assert scalar.grad.item() == 1.0


def test_backward_adds_to_grad_in_place(x):
    (x * 3).sum().backward()
    held = x.grad
    assert held.tolist() == [3.0, 3.0]
    (x * x).sum().backward()
    assert x.grad is held
    assert held.tolist() == [5.0, 7.0]
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert held.tolist() == [5.0, 7.0]


def test_grad_leaves_the_leaves_alone(x, y):
    with unchanged(x, y):
        gradients = grad((x * y).sum(), [x, y])
    assert isinstance(gradients, tuple)
    assert [g.tolist() for g in gradients] == [[3.0, 5.0], [1.0, 2.0]]
    assert grad((x * y).sum(), x)[0].tolist() == [3.0, 5.0]


def test_gradients_of_several_outputs_are_summed(x):
    outputs = x * 3, (x * x).sum(), x
    weights = tensor([1.0, 2.0]), None, tensor([10.0, 20.0])
    expected = [3.0 + 2.0 + 10.0, 6.0 + 4.0 + 20.0]
    assert grad(outputs, x, weights, retain_graph=True)[0].tolist() == expected
    backward(outputs, weights)
    assert x.grad.tolist() == expected


def test_an_output_may_be_given_twice(x):
    total = (x * 3).sum()
    assert grad([total, total], x)[0].tolist() == [6.0, 6.0]


# --- one tensor used several times -------------------------------------------------------


def test_a_tensor_used_many_times(x):
    (x * x + x * 3 + x.exp() * 0 + x).sum().backward()
    assert x.grad.tolist() == [6.0, 8.0]


def test_an_operand_that_is_twice_the_same(x):
    assert grad((x + x).sum(), x)[0].tolist() == [2.0, 2.0]
    assert grad((x - x).sum(), x)[0].tolist() == [0.0, 0.0]
    assert grad((x / x).sum(), x)[0].tolist() == [0.0, 0.0]
    assert grad(numgrad.cat([x, x, x]).sum(), x)[0].tolist() == [3.0, 3.0]


def test_doubling_ten_times():
    x = tensor(1.0, requires_grad=True)
    y = x
    for _ in range(10):
        y = y + y  # 1,024 paths, ten nodes
    y.backward()
    assert x.grad.item() == 1024.0


def test_paths_of_different_length_meet(x):
    short = x * 2
    long = short
    for _ in range(5):
        long = long * 2
    (short * long).sum().backward()  # 2x · 64x = 128 x²
    assert x.grad.tolist() == [256.0, 512.0]


def test_a_shared_part_is_gone_through_once(x):
    shared = x * x
    calls = []
    shared.register_hook(lambda g: calls.append(g.tolist()))
    ((shared * 2).sum() + (shared * 3).sum() + shared.sum()).backward()
    assert calls == [[6.0, 6.0]]
    assert x.grad.tolist() == [12.0, 24.0]


def test_broadcast_operands_get_their_own_shape():
    row = tensor([1.0, 2.0, 3.0], requires_grad=True)
    column = tensor([[10.0], [20.0]], requires_grad=True)
    number = tensor(2.0, requires_grad=True)
    (row * column * number).sum().backward()
    assert row.grad.tolist() == [60.0, 60.0, 60.0]
    assert column.grad.tolist() == [[12.0], [12.0]]
    assert number.grad.shape == ()
    assert number.grad.item() == 180.0


def test_gradients_have_the_dtype_of_their_tensor():
    single = tensor([1.0, 2.0], requires_grad=True)
    double = tensor([3.0, 4.0], dtype=numgrad.float64, requires_grad=True)
    (single * double).sum().backward()
    assert (single.grad.dtype, double.grad.dtype) == (numgrad.float32, numgrad.float64)
    assert (single.grad.tolist(), double.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    (single * 1).backward(tensor([0.5, 0.25], dtype=numgrad.float64))
    assert single.grad.tolist() == [3.5, 4.25]


# --- the graph afterwards ---------------------------------------------------------------

FREED = "Trying to backward through the graph a second time"


def test_a_graph_is_freed_by_backward(x):
    total = (x * x).sum()
    total.backward()
    with refused(RuntimeError, [x], FREED, "retain_graph=True"):
        total.backward()
    with pytest.raises(RuntimeError, match=FREED):
        grad(total, x)


@pytest.mark.parametrize("make", [
    lambda x: x.exp(), lambda x: x.t() @ x, lambda x: x.softmax(0), lambda x: x * x.t(), lambda x: x.max(0)[0],
    lambda x: (x * 1).relu_(), lambda x: x.max(),
], ids=["exp", "matmul", "softmax", "strided", "max", "in place", "max of all"])
def test_every_kind_of_node_is_freed(make):
    x = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = make(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match=FREED):
        y.backward()


def test_nodes_without_saved_tensors_run_backward_twice(x):
    total = (-x + x.view(1, 2)).sum() + x.add(x, alpha=3).sum()
    total.backward()
    total.backward()
    assert x.grad.tolist() == [8.0, 8.0]


def test_where_a_part_lies_is_nothing_that_backward_frees():
    x = ones(4, 4, requires_grad=True)
    total = (x[1:3].sum() + x[2].sum() + x[1, 2] + x.narrow(0, 1, 2).sum()) + x.select(1, 3).sum()
    total.backward()
    total.backward()
    assert x.grad[1].tolist() == [4.0, 4.0, 6.0, 6.0]


def test_retain_graph_keeps_it(x):
    total = (x * x).sum()
    total.backward(retain_graph=True)
    total.backward(retain_graph=True)
    assert x.grad.tolist() == [4.0, 8.0]
    assert grad(total, x)[0].tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match=FREED):
        total.backward()


def test_only_what_was_gone_through_is_freed(x):
    shared = x * x
    first, second = shared.sum(), (shared * shared).sum()
    first.backward()
    with pytest.raises(RuntimeError, match=FREED):
        second.backward()
    third = (x * x).sum() + (x.exp() * 0).sum()
    other = (x * 2).exp().sum()
    third.backward()
    other.backward()


def test_a_failed_pass_leaves_recording_as_it_was(x):
    total = (x * x).sum()
    total.backward()
    with pytest.raises(RuntimeError, match=FREED):
        total.backward()
    assert numgrad.is_grad_enabled()
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


# --- create_graph -----------------------------------------------------------------------


def test_without_create_graph_gradients_are_not_recorded(x):
    (gradient,) = grad((x * x * x).sum(), x)
    assert not gradient.requires_grad
    assert gradient.is_leaf


def test_with_create_graph_gradients_can_be_differentiated(x):
    (first,) = grad((x**4).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x, create_graph=True)
    (third,) = grad(second.sum(), x)
    assert first.tolist() == [4.0, 32.0]
    assert second.tolist() == [12.0, 48.0]
    assert third.tolist() == [24.0, 48.0]


def test_create_graph_keeps_the_graph_too(x):
    total = (x * x).sum()
    grad(total, x, create_graph=True)
    total.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_create_graph_under_no_grad(x):
    total = (x * x * x).sum()
    with numgrad.no_grad():
        (gradient,) = grad(total, x, create_graph=True)
        assert not numgrad.is_grad_enabled()
    assert gradient.requires_grad
    assert grad(gradient.sum(), x)[0].tolist() == [6.0, 12.0]


def test_backward_with_create_graph_gives_a_recorded_grad(x):
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    x.grad = None
    first.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_create_graph_accumulates_without_changing_what_was_there(x):
    x.grad = before = tensor([10.0, 20.0])
    (x**3).sum().backward(create_graph=True)
    assert before.tolist() == [10.0, 20.0]
    assert x.grad.tolist() == [13.0, 32.0]
    assert x.grad.requires_grad
    x.grad = None


def test_gradient_of_a_gradient_with_respect_to_the_weights(x):
    weights = tensor([1.0, 10.0], requires_grad=True)
    (gradient,) = grad(x * x, x, weights, create_graph=True)  # 2 x w
    assert gradient.tolist() == [2.0, 40.0]
    assert grad(gradient.sum(), weights)[0].tolist() == [2.0, 4.0]


# --- inputs= and the arguments of grad --------------------------------------------------


def test_backward_into_some_inputs_only(x, y):
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [3.0, 5.0]
    assert y.grad is None
    (x * y).sum().backward(inputs=y)
    assert y.grad.tolist() == [1.0, 2.0]
    assert x.grad.tolist() == [3.0, 5.0]


def test_backward_into_inputs_adds_in_place(x):
    (x * 2).sum().backward(inputs=[x])
    held = x.grad
    (x * 3).sum().backward(inputs=[x])
    assert x.grad is held
    assert held.tolist() == [5.0, 5.0]


def test_backward_into_a_result(x):
    product = x * 2
    (product * product).sum().backward(inputs=[product])
    assert product.grad.tolist() == [4.0, 8.0]
    assert x.grad is None


def test_inputs_that_the_output_does_not_depend_on(x, y):
    (x * 2).sum().backward(inputs=[x, y])
    assert x.grad.tolist() == [2.0, 2.0]
    assert y.grad is None


def test_unused_inputs(x, y):
    total = (x * 2).sum()
    with refused(RuntimeError, [x, y], "appears to not have been used in the graph", "allow_unused=True", "[2]"):
        grad(total, [x, y], retain_graph=True)
    gradient, missing = grad(total, [x, y], allow_unused=True, retain_graph=True)
    assert gradient.tolist() == [2.0, 2.0]
    assert missing is None
    gradient, missing = grad(total, [x, y], materialize_grads=True)
    assert gradient.tolist() == [2.0, 2.0]
    assert missing.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True"):
        grad(total, [x, y], allow_unused=False, materialize_grads=True)


def test_gradients_of_results(x):
    product = x * 3
    square = product * product
    at_x, at_product, at_square = grad(square.sum(), [x, product, square])
    assert at_square.tolist() == [1.0, 1.0]
    assert at_product.tolist() == [6.0, 12.0]
    assert at_x.tolist() == [18.0, 36.0]


def test_an_output_may_be_an_input(x):
    product = x * 3
    given = tensor([1.0, 2.0])
    assert [g.tolist() for g in grad(product, [product, x], given, retain_graph=True)] == [[1.0, 2.0], [3.0, 6.0]]
    assert grad(x, x, given)[0].tolist() == [1.0, 2.0]
    assert [g.tolist() for g in grad(product, [x, x], given)] == [[3.0, 6.0]] * 2


def test_the_gradient_of_one_of_several_outputs(x):
    first, second = (x * 2).unbind()
    total = first * 5 + second * 7
    assert [g.item() for g in grad(total, [second, first], retain_graph=True)] == [7.0, 5.0]
    assert grad(total, x)[0].tolist() == [10.0, 14.0]


def test_only_the_way_to_the_inputs_is_gone_through(x, y):
    left, right = x.exp(), y.exp()
    total = (left * right).sum()
    grad(total, left, retain_graph=True)
    grad(total, x)  # frees the nodes that it reaches, but not the path to y
    right.sum().backward()
    assert y.grad is not None


def test_grad_takes_its_arguments_in_pytorchs_order():
    x, unused = numgrad.ones(2, requires_grad=True), numgrad.ones(1, requires_grad=True)
    found = numgrad.autograd.grad((x * x).sum(), (x, unused), None, True, False, True, True)
    assert found[0].tolist() == [2.0, 2.0]
    assert found[1] is None


def test_a_dictionary_of_inputs(x, y):
    unused = numgrad.ones(1, requires_grad=True)
    found = grad((x * y).sum(), {"x": x, "none": unused, "y": y}, allow_unused=True)
    assert list(found) == ["x", "none", "y"]
    assert (found["x"].tolist(), found["none"], found["y"].tolist()) == ([3.0, 5.0], None, [1.0, 2.0])
    (x * y).sum().backward(inputs={"only": y})
    assert (x.grad, y.grad.tolist()) == (None, [1.0, 2.0])


def test_zeros_for_unused_inputs_may_be_differentiated(x):
    matrix = numgrad.ones(3, 2).t().requires_grad_()
    for create_graph in (False, True):
        (zeros,) = grad((x * x).sum(), matrix, create_graph=create_graph, materialize_grads=True)
        assert zeros.tolist() == [[0.0] * 3] * 2
        assert zeros.stride() == matrix.stride()
        assert zeros.requires_grad is create_graph


# --- width ------------------------------------------------------------------------------

WIDTH = 10_000


def test_ten_thousand_inputs():
    leaves = [numgrad.ones(2, requires_grad=True) for _ in range(WIDTH)]
    total = (numgrad.stack(leaves) * 3).sum()
    start = time.perf_counter()
    gradients = grad(total, leaves, retain_graph=True)
    total.backward(inputs=leaves)
    assert time.perf_counter() - start < 5.0  # not a matter of WIDTH squared
    assert {tuple(g.tolist()) for g in gradients} == {(3.0, 3.0)}
    assert {tuple(leaf.grad.tolist()) for leaf in leaves} == {(3.0, 3.0)}


def test_ten_thousand_outputs():
    parts = numgrad.ones(WIDTH, requires_grad=True).unbind()
    gradients = grad([part * 2 for part in parts], parts)
    assert {g.item() for g in gradients} == {2.0}
