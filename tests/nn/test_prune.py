"""Pruning of parameters; masks and errors are those of PyTorch."""

import pytest

import numgrad
from numgrad import nn
from numgrad.nn.utils import prune


def halves():
    layer = nn.Linear(2, 2)
    layer.load_state_dict({"weight": numgrad.tensor([[1.0, -4.0], [3.0, -2.0]]), "bias": numgrad.ones(2)})
    return layer


def test_a_pruned_parameter_is_the_product_with_its_mask():
    layer = prune.l1_unstructured(halves(), "weight", amount=0.5)
    assert layer.weight.tolist() == [[0, -4], [3, 0]]
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    assert prune.is_pruned(nn.Sequential(layer))
    layer(numgrad.ones(1, 2)).sum().backward()
    assert layer.weight_orig.grad.tolist() == [[0, 1], [1, 0]]


def test_what_is_pruned_again_loses_entries_that_are_left():
    layer = prune.l1_unstructured(halves(), "weight", amount=1)
    prune.ln_structured(layer, "weight", amount=1, n=1, dim=0)  # the sums of the rows are 4 and 5
    assert layer.weight_mask.tolist() == [[0, 0], [1, 1]]
    (container,) = layer._forward_pre_hooks.values()
    assert [type(method).__name__ for method in container] == ["L1Unstructured", "LnStructured"]


def test_removal_makes_the_values_permanent():
    layer = prune.remove(prune.custom_from_mask(halves(), "weight", numgrad.eye(2)), "weight")
    assert layer.weight.tolist() == [[1, 0], [0, -2]]
    assert list(dict(layer.named_parameters())) == ["bias", "weight"]
    with pytest.raises(ValueError, match=r"Parameter 'weight' of module Linear.* has to be pruned before"):
        prune.remove(layer, "weight")


def test_pruning_across_modules_compares_all_entries():
    first, second = halves(), halves()
    with numgrad.no_grad():
        second.weight.mul_(10)
    prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=5)
    assert first.weight_mask.sum() == 0
    assert second.weight_mask.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(("prunes", "error", "message"), [
    (lambda layer: prune.l1_unstructured(layer, "weight", 1.5), ValueError, "amount=1.5 should either be a float"),
    (lambda layer: prune.l1_unstructured(layer, "weight", 5), ValueError, "amount=5 should be smaller"),
    (lambda layer: prune.l1_unstructured(layer, "weight", "1"), TypeError, "Invalid type for amount"),
    (lambda layer: prune.random_structured(layer, "bias", 1, dim=0), ValueError, "multidimensional tensors"),
    (lambda layer: prune.ln_structured(layer, "weight", 1, n=1, dim=7), IndexError, "Invalid index 7"),
    (lambda layer: prune.l1_unstructured(layer, "weight", 1, numgrad.ones(3)), ValueError, "importance_scores have"),
])
def test_errors_change_nothing(prunes, error, message):
    layer = halves()
    with pytest.raises(error, match=message):
        prunes(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert not prune.is_pruned(layer)


def test_random_choices_are_those_of_pytorch():
    numgrad.manual_seed(0)
    layer = nn.Linear(3, 4)
    prune.random_unstructured(layer, "weight", amount=5)
    prune.random_structured(layer, "weight", amount=1, dim=0)
    assert layer.weight_mask.tolist() == [[0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]  # PyTorch 2.13's
