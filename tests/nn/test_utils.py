"""nn.utils: norms and clipping of gradients, parameters as one vector."""

import math

import pytest
from nn_models import refusal

import numgrad as torch
from numgrad import nn
from numgrad.nn import utils


@pytest.fixture
def parameters():
    """Two parameters with gradients of norm 5 together, and one without."""
    first, second = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1, 2))
    first.grad = torch.tensor([3.0, 0.0])
    second.grad = torch.tensor([[0.0, -4.0]])
    return [first, second, nn.Parameter(torch.ones(1))]


def gradients(parameters):
    return [value for p in parameters if p.grad is not None for value in p.grad.reshape(-1).tolist()]


@pytest.mark.parametrize(
    ("norm_type", "norm"), [(2.0, 5.0), (1, 7.0), ("inf", 4.0), (math.inf, 4.0), (3.0, 91 ** (1 / 3))]
)
def test_clip_grad_norm(parameters, norm_type, norm):
    total = utils.clip_grad_norm_(parameters, 2.0, norm_type)
    assert (total.shape, total.dtype) == ((), torch.float32)
    assert total.item() == pytest.approx(norm)
    assert gradients(parameters) == pytest.approx([6.0 / norm, 0.0, 0.0, -8.0 / norm])
    assert parameters[2].grad is None


def test_small_gradients_stay(parameters):
    assert utils.clip_grad_norm_((p for p in parameters), 5.1).item() == 5.0
    assert gradients(parameters) == [3.0, 0.0, 0.0, -4.0]
    assert utils.clip_grad_norm_(parameters[0], 0.5).item() == 3.0
    assert parameters[0].grad.tolist() == pytest.approx([0.5, 0.0])
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_warnings(parameters):
    with pytest.warns(UserWarning, match="`parameters` is an empty generator, no gradient clipping will occur"):
        utils.clip_grad_norm_((p for p in []), 1.0)
    with pytest.warns(FutureWarning, match="deprecated in favor of `torch.nn.utils.clip_grad_norm_`"):
        assert utils.clip_grad_norm(parameters, 1.0).item() == 5.0
    assert gradients(parameters) == pytest.approx([0.6, 0.0, 0.0, -0.8])


def test_in_two_steps(parameters):
    total = utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    assert total.item() == 5.0
    utils.clip_grads_with_norm_(parameters, 1.0, total * 2)
    assert gradients(parameters) == pytest.approx([0.3, 0.0, 0.0, -0.4])


def test_norms_that_are_not_finite(parameters):
    parameters[0].grad[1] = math.inf
    assert refusal(lambda: utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)) == (
        "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be "
        "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
        "`error_if_nonfinite=False`"
    )
    assert gradients(parameters) == [3.0, math.inf, 0.0, -4.0]
    assert utils.clip_grad_norm_(parameters, 1.0).item() == math.inf
    values = gradients(parameters)
    assert math.isnan(values[1])
    assert values[3] == 0.0


def test_clip_grad_value(parameters):
    utils.clip_grad_value_(parameters, 3.5)
    assert gradients(parameters) == [3.0, 0.0, 0.0, -3.5]


def test_parameters_as_a_vector(parameters):
    vector = utils.parameters_to_vector(parameters)
    assert vector.shape == (5,)
    (vector * torch.arange(5.0)).sum().backward()
    assert parameters[1].grad.tolist() == [[2.0, -1.0]]
    assert parameters[2].grad.tolist() == [4.0]
    given = torch.arange(5.0)
    utils.vector_to_parameters(given, parameters)
    assert [parameter.tolist() for parameter in parameters] == [[0.0, 1.0], [[2.0, 3.0]], [4.0]]
    assert all(type(parameter) is nn.Parameter and parameter.requires_grad for parameter in parameters)
    given.zero_()
    assert parameters[1].tolist() == [[0.0, 0.0]]
    assert refusal(lambda: utils.vector_to_parameters(3, parameters)) == (
        "TypeError: expected torch.Tensor, but got: int"
    )
    before = [parameter.tolist() for parameter in parameters]
    assert refusal(lambda: utils.vector_to_parameters(torch.ones(4), parameters)).startswith("RuntimeError")
    assert [parameter.tolist() for parameter in parameters] == before


def test_a_module_without_initialization_draws_no_numbers():
    torch.manual_seed(0)
    wanted = torch.rand(2)
    torch.manual_seed(0)
    layer = utils.skip_init(nn.Linear, 2, 3, bias=False)
    assert layer.weight.shape == (3, 2)
    assert torch.equal(torch.rand(2), wanted)
    with pytest.raises(RuntimeError, match="device"):
        utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module"):
        utils.skip_init(dict)
