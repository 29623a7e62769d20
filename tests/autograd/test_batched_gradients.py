"""``grad(is_grads_batched=True)``: one vector-Jacobian product for each of a batch of vectors."""

import pytest
from snapshots import refused

import numgrad
from numgrad import arange, eye, ones, tensor, zeros
from numgrad.autograd import Function, grad
from numgrad.autograd.graph import get_gradient_edge


@pytest.fixture
def x():
    return tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_the_unit_vectors_give_the_jacobian(x):
    (jacobian,) = grad(x * x, x, eye(3), is_grads_batched=True)
    assert jacobian.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert x.grad is None


def test_a_scalar_has_a_batch_of_numbers(x):
    (rows,) = grad((x * x).sum(), x, arange(4.0), is_grads_batched=True)
    assert rows.tolist() == [[0, 0, 0], [2, 4, 6], [4, 8, 12], [6, 12, 18]]


def test_several_outputs_and_inputs(x):
    w = tensor([[1.0], [2.0]], requires_grad=True)
    product, total = w * x, x.sum()  # [2, 3] and []
    batches = numgrad.rand(5, 2, 3), numgrad.rand(5)
    at_x, at_w = grad([product, total], [x, w], batches, is_grads_batched=True, retain_graph=True)
    assert (at_x.shape, at_w.shape) == ((5, 3), (5, 2, 1))
    for number in range(5):
        given = [batch[number] for batch in batches]
        expected = grad([product, total], [x, w], given, retain_graph=True)
        assert [at_x[number].tolist(), at_w[number].tolist()] == [g.tolist() for g in expected]


def test_inputs_that_are_results_or_outputs(x):
    y = x * 2
    z = y * y
    at_z, at_y = grad(z, [z, y], eye(3), is_grads_batched=True)
    assert at_z.tolist() == eye(3).tolist()
    assert at_y.tolist() == [[4, 0, 0], [0, 8, 0], [0, 0, 12]]


def test_the_graph_is_freed_unless_kept(x):
    y = x * x
    for _ in range(2):
        grad(y, x, eye(3), retain_graph=True, is_grads_batched=True)
    grad(y, x, eye(3), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="a second time"):
        grad(y, x, eye(3), is_grads_batched=True)


@pytest.mark.parametrize("enabled", [True, False])
def test_create_graph_records_the_whole_batch(x, enabled):
    y = x * x * x
    vectors = eye(3).requires_grad_()
    with numgrad.set_grad_enabled(enabled):
        (jacobian,) = grad(y, x, vectors, is_grads_batched=True, create_graph=True)
    assert jacobian.requires_grad
    at_x, at_vectors = grad(jacobian.sum(), [x, vectors])
    assert at_x.tolist() == [6, 12, 18]
    assert at_vectors.tolist() == [[3, 12, 27]] * 3


def test_without_create_graph_nothing_is_recorded(x):
    (jacobian,) = grad(x * x, x, eye(3).requires_grad_(), is_grads_batched=True)
    assert not jacobian.requires_grad


def test_unused_inputs(x):
    unused = ones(2, requires_grad=True)
    y = x * 2
    with refused(RuntimeError, [x], "The differentiated Tensor at index 1 appears to not have been used", "[2]"):
        grad(y, [x, unused], eye(3), retain_graph=True, is_grads_batched=True)
    rows, nothing = grad(y, [x, unused], eye(3), is_grads_batched=True, allow_unused=True)
    assert rows.shape == (3, 3)
    assert nothing is None
    assert grad(y, [unused], eye(3), is_grads_batched=True, materialize_grads=True)[0].tolist() == [0, 0]


def test_a_gradient_that_only_some_vectors_have(x):
    class OnlyPositive(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g if g.sum() > 0 else None

    vectors = tensor([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]])
    (rows,) = grad(OnlyPositive.apply(x), x, vectors, is_grads_batched=True)
    assert rows.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_dictionaries_and_edges(x):
    y = x * 2
    assert grad(y, {"x": x}, eye(3), is_grads_batched=True)["x"].tolist() == (eye(3) * 2).tolist()
    edge = get_gradient_edge(y)
    assert grad(edge, edge, eye(3), is_grads_batched=True)[0].tolist() == eye(3).tolist()


def test_hooks_see_one_vector_after_the_other(x):
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    grad(x * 2, x, eye(3), is_grads_batched=True)
    assert seen == (eye(3) * 2).tolist()


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 1), (), (3, 2)])
def test_a_batch_has_one_dimension_more_than_its_output(x, shape):
    words = "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension"
    with refused(RuntimeError, [x], words, f"torch.Size({list(shape)})", "torch.Size([3])"):
        grad(x * 2, x, ones(shape), is_grads_batched=True)


def test_batches_are_there_and_of_one_size(x):
    with refused(ValueError, [x], "got sizes [3, 4] for the mapped dimension"):
        grad([x * 2, x.sum()], x, [eye(3), ones(4)], is_grads_batched=True)
    with refused(ValueError, [x], "is_grads_batched=True needs a batch", "[1] is None"):
        grad([x * 2, x.sum()], x, [eye(3), None], is_grads_batched=True)
    with refused(IndexError, [x], "index 0 is out of bounds for dimension 0 with size 0"):
        grad(x * 2, x, zeros(0, 3), is_grads_batched=True)
    with refused(TypeError, [x], "gradients can be either Tensors or None"):
        grad(x * 2, x, [3.0], is_grads_batched=True)
