"""nn.utils.parametrize: identity of parameters, cached values, copies and states."""

import copy
import warnings

import pytest

import numgrad as torch
from numgrad import nn
from numgrad.nn.utils import parametrize
from numgrad.nn.utils.parametrizations import spectral_norm, weight_norm


class Doubled(nn.Module):
    """Double the original."""

    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def doubled(name="weight"):
    return parametrize.register_parametrization(nn.Linear(2, 3), name, Doubled())


def test_the_parameter_stays_the_same_object():
    layer = nn.Linear(2, 3)
    weight, value = layer.weight, layer.weight.detach().clone()
    assert parametrize.register_parametrization(layer, "weight", Doubled()) is layer
    assert layer.parametrizations.weight.original is weight
    assert torch.equal(weight, value / 2)
    assert torch.equal(layer.weight, value)
    assert parametrize.remove_parametrizations(layer, "weight").weight is weight
    assert torch.equal(weight, value)
    assert (type(layer), weight.requires_grad) == (nn.Linear, True)


def test_inside_of_cached_it_is_computed_once():
    layer, other = doubled(), doubled()
    with parametrize.cached():
        with parametrize.cached():
            weight = layer.weight
        assert layer.weight is weight
        assert other.weight is not weight
        layer.weight = torch.ones(3, 2)
        assert layer.weight.tolist() == [[1.0, 1.0]] * 3
    assert layer.weight is not layer.weight
    with pytest.raises(ZeroDivisionError), parametrize.cached():
        layer.weight.fill_(1 / 0)
    assert layer.weight is not layer.weight


def test_a_copy_is_apart():
    layer = doubled()
    copied = copy.deepcopy(layer)
    copied.weight = torch.zeros(3, 2)
    assert torch.equal(layer.weight, torch.zeros(3, 2)) is False
    parametrize.remove_parametrizations(copied, "weight")
    assert (type(copied), parametrize.is_parametrized(layer)) == (nn.Linear, True)
    assert layer.weight.grad_fn is not None


def test_names_in_the_state():
    layer, other = nn.Sequential(weight_norm(nn.Linear(2, 3))), nn.Sequential(weight_norm(nn.Linear(2, 3)))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other[0].weight, layer[0].weight)
    with warnings.catch_warnings(action="ignore"):
        old = nn.Sequential(nn.utils.weight_norm(nn.Linear(2, 3)))
    layer.load_state_dict(old.state_dict())
    assert torch.equal(old[0].weight, layer[0].weight)
    versions = nn.utils.spectral_norm(nn.Linear(2, 3)).state_dict()._metadata
    assert versions[""] == {"version": 1, "spectral_norm": {"weight.version": 1}}


def test_power_iteration_finds_the_largest_singular_value():
    torch.manual_seed(0)
    layer = spectral_norm(nn.Linear(3, 4))
    for _ in range(50):
        layer(torch.ones(1, 3))
    layer.eval()
    matrix = layer.weight.detach()
    values = torch.ones(3)
    for _ in range(100):
        values = matrix.t() @ (matrix @ values)
        values = values / values.norm()
    assert (matrix @ values).norm().item() == pytest.approx(1, 1e-4)
    before = layer.parametrizations.weight[0]._u.clone()
    assert layer.weight is not None
    assert torch.equal(layer.parametrizations.weight[0]._u, before)  # evaluation changes nothing


def test_the_weight_of_a_hook_is_computed_at_each_call():
    with pytest.warns(FutureWarning, match="deprecated"):
        layer = nn.utils.weight_norm(nn.Linear(2, 3))
    with torch.no_grad():
        layer.weight_g.fill_(0)
    assert torch.equal(layer(torch.ones(1, 2))[0], layer.bias)
    assert list(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert list(nn.utils.remove_weight_norm(layer).state_dict()) == ["bias", "weight"]
    assert not layer._forward_pre_hooks
    layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(layer))
    assert not layer._forward_pre_hooks
    assert not layer._state_dict_hooks
