"""Parameter and Buffer: classes, devices, copies."""

import copy
import pickle

import pytest

import numgrad as torch
from numgrad import nn


def test_a_parameter_lies_in_the_memory_of_its_data_and_requires_a_gradient():
    data = torch.ones(2)
    parameter = nn.Parameter(data)
    assert parameter.requires_grad
    assert parameter.is_leaf
    parameter.data.add_(1)
    assert data.tolist() == [2.0, 2.0]
    assert not data.requires_grad
    with torch.no_grad():
        parameter.mul_(3)
    assert data._version == parameter._version == 1


def test_a_parameter_of_a_computed_tensor_is_a_leaf():
    computed = torch.ones(2, requires_grad=True) * 2
    parameter = nn.Parameter(computed)
    (parameter * 3).sum().backward()
    assert parameter.grad.tolist() == [3.0, 3.0]
    assert computed.grad_fn is not None


def test_results_from_a_parameter_are_plain_tensors():
    parameter = nn.Parameter(torch.ones(2))
    for result in (parameter + 1, parameter.detach(), parameter.data, parameter.view(2, 1), parameter.clone()):
        assert type(result) is torch.Tensor
        assert not isinstance(result, nn.Parameter)
    assert parameter.requires_grad_(False) is parameter


def test_repr():
    assert repr(nn.Parameter(torch.tensor([1.0, 2.5]))) == (
        "Parameter containing:\ntensor([1.0000, 2.5000], requires_grad=True)"
    )
    assert repr(nn.Parameter(torch.arange(2), requires_grad=False)) == "Parameter containing:\ntensor([0, 1])"
    assert nn.Parameter().shape == (0,)


@pytest.mark.parametrize("data", [3, [1.0], "a"])
def test_only_a_tensor_becomes_a_parameter(data):
    with pytest.raises(TypeError, match="argument 'data' must be Tensor"):
        nn.Parameter(data)


def test_integers_cannot_be_learnt():
    with pytest.raises(RuntimeError, match=r"(?i)only Tensors of floating point"):
        nn.Parameter(torch.arange(3))


def test_a_deep_copy_is_a_parameter_with_memory_of_its_own_and_no_gradient():
    parameter = nn.Parameter(torch.ones(2))
    parameter.sum().backward()
    twice = copy.deepcopy([parameter, parameter])
    assert twice[0] is twice[1]
    assert type(twice[0]) is nn.Parameter
    assert twice[0].grad is None
    twice[0].data.zero_()
    assert parameter.tolist() == [1.0, 1.0]
    assert not copy.deepcopy(nn.Parameter(torch.ones(2), requires_grad=False)).requires_grad


def test_pickle():
    parameter = nn.Parameter(torch.tensor([1.0, 2.0]), requires_grad=False)
    parameter.note = "kept"
    again = pickle.loads(pickle.dumps(parameter))
    assert type(again) is nn.Parameter
    assert (again.tolist(), again.requires_grad, again.note) == ([1.0, 2.0], False, "kept")
    assert pickle.loads(pickle.dumps(nn.Parameter(torch.ones(1)))).requires_grad


def test_isinstance_follows_the_marks():
    marked = torch.ones(2)
    assert not isinstance(marked, nn.Parameter)
    marked._is_param = True
    assert isinstance(marked, nn.Parameter)
    assert not isinstance(marked, nn.Buffer)
    assert not isinstance(3, nn.Parameter)


def test_a_buffer_is_a_plain_tensor_with_a_mark():
    data = torch.ones(2)
    buffer = nn.Buffer(data, persistent=False)
    assert type(buffer) is torch.Tensor
    assert isinstance(buffer, nn.Buffer)
    assert isinstance(copy.deepcopy(buffer), nn.Buffer)
    assert not isinstance(data, nn.Buffer)
    assert not isinstance(nn.Parameter(data), nn.Buffer)
    assert (buffer.persistent, buffer.requires_grad) == (False, False)
    buffer.zero_()
    assert data.tolist() == [0.0, 0.0]
    assert nn.Buffer(torch.ones(1, requires_grad=True)).requires_grad
