"""Attributes of nodes that show saved values: ``_saved_*`` and ``_raw_saved_*``."""

import numpy as np
import pytest

import numgrad
from numgrad import tensor
from numgrad.autograd.saved import SavedTensor


@pytest.fixture
def x():
    return tensor([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]], requires_grad=True)


@pytest.fixture
def y():
    return tensor([[2.0, 3.0, 4.0], [0.5, 1.0, 1.5]], requires_grad=True)


def test_operands_are_the_tensors_themselves(x, y):
    node = (x * y).grad_fn
    assert node._saved_self is x
    assert node._saved_other is y


def test_a_result_is_another_tensor_in_its_place_in_the_graph(x):
    for result in (x.exp(), x.t().exp(), x.softmax(0), x.amax(0)):
        kept = result.grad_fn._saved_result
        assert kept is not result
        assert kept.tolist() == result.tolist()
        assert kept.grad_fn is result.grad_fn
        assert kept.requires_grad


def test_only_what_the_needed_gradients_ask_for(x, y):
    node = (x * y.detach()).grad_fn
    assert node._saved_self is None
    assert node._saved_other.tolist() == y.tolist()
    assert (x * 3).grad_fn._saved_self is None
    assert not hasattr((x + y).grad_fn, "_saved_self")


def test_numbers_shapes_and_flags(x):
    node = x.sum(1, keepdim=True).grad_fn
    assert (node._saved_dim, node._saved_keepdim, node._saved_self_sym_sizes) == ((1,), True, (2, 3))
    assert (x**3).grad_fn._saved_exponent == 3
    node = x[:, 1:3].grad_fn
    assert (node._saved_dim, node._saved_start, node._saved_end, node._saved_step) == (1, 1, 3, 1)
    assert x.transpose(0, 1).grad_fn._saved_dim0 == 0
    assert x.softmax(-1).grad_fn._saved_dim == 1


def test_they_are_listed(x):
    assert {"_saved_self", "_raw_saved_self", "_saved_exponent"} <= {*dir((x**3).grad_fn)}
    assert isinstance((x**3).grad_fn._raw_saved_self, SavedTensor)


@pytest.mark.parametrize("name", ["_saved_nothing", "_raw_saved_nothing", "saved_self", "_raw_self", "_saved_"])
def test_there_are_no_others(x, name):
    with pytest.raises(AttributeError, match=f"'ExpBackward0' object has no attribute '{name}'"):
        getattr(x.exp().grad_fn, name)


@pytest.mark.parametrize("function", [numgrad.exp, lambda x: x.t() ** 2, lambda x: x.prod(), lambda x: x.softmax(0)])
def test_after_backward_they_are_gone(x, function):
    y = function(x)
    name = next(n for n in ("_saved_result", "_saved_self") if isinstance(getattr(y.grad_fn, n, None), numgrad.Tensor))
    y.sum().backward(retain_graph=True)
    getattr(y.grad_fn, name)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        getattr(y.grad_fn, name)


def test_after_a_change_in_place_they_raise(x, y):
    z = x * 1
    node = (z.t() * y.t()).grad_fn
    z.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        _ = node._saved_self


#: Expressions whose nodes PyTorch gives the same attributes.
SAME = """
t.exp(x) | x * y | x / y | x ** 2 | x ** y | 2 ** x | x.log() | x.sin() | x.relu() | x.sqrt() | x.abs()
x.clamp(0.2, 0.5) | x.sum() | x.sum(0) | x.prod() | x.prod(0) | x.max() | x.amax(0) | x.logsumexp(0) | x.softmax(0)
x.log_softmax(1) | x.cumsum(0).exp() | x.t() | x.transpose(0, 1) | x.permute(1, 0) | x.view(6) | x[0] | x[:, 1:2]
x.unsqueeze(0) | x.repeat(2, 2) | x.flip(0) | x.split(1)[0] | x.index_select(0, t.tensor([0, 1])) | x.neg()
x.masked_fill(x > 0.5, 1.0) | t.where(x > 0.5, x, y) | x.scatter(0, t.tensor([[0, 1, 0]]), y) | x.diagonal()
x.tril() | x.triu(1) | t.maximum(x, y) | t.atan2(x, y) | t.hypot(x, y) | x.clone().mul_(y) | x.clone().exp_()
t.bmm(x[None], y.t()[None]) | x.addcmul(x, y) | t.lerp(x, y, 0.3) | t.nn.functional.leaky_relu(x)
"""


@pytest.mark.torch
@pytest.mark.parametrize("expression", [part.strip() for part in SAME.replace("\n", "|").split("|") if part.strip()])
def test_the_same_names_and_kinds_of_values_as_pytorch(expression):
    import torch

    def node(library):
        x = library.tensor([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]], requires_grad=True)
        y = library.tensor([[2.0, 3.0, 4.0], [0.5, 1.0, 1.5]], requires_grad=True)
        return eval(expression, {"t": library, "x": x, "y": y}).grad_fn

    ours, theirs = node(numgrad), node(torch)
    for name in [name for name in dir(theirs) if name.startswith("_saved_")]:
        value, wanted = getattr(ours, name), getattr(theirs, name)
        if isinstance(wanted, torch.Tensor):
            np.testing.assert_allclose(value.detach().numpy(), wanted.detach().numpy(), 1e-5)
            assert value.requires_grad == wanted.requires_grad
        elif isinstance(wanted, int) and wanted > 2**63:
            assert value == 1  # PyTorch shows the -1 that stands for the last dimension as an unsigned number
        else:
            assert value == wanted, name



def test_indices_are_shown_by_dimension(x):
    i, j = tensor([0, 1]), tensor([2, 0])
    assert [index.tolist() for index in x[i].grad_fn._saved_indices] == [[0, 1]]
    first, second = x[:, j].grad_fn._saved_indices
    assert first is None
    assert second.tolist() == [2, 0]
    assert [index.tolist() for index in x[i, j].grad_fn._saved_indices] == [[0, 1], [2, 0]]
    assert [index.tolist() for index in x[x > 2].grad_fn._saved_indices] == [[0, 1], [2, 2]]
    out = x[i]
    out.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        _ = out.grad_fn._saved_indices
