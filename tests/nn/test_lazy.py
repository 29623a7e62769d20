"""Lazy modules, and parameters and buffers without a shape."""

import copy
import pickle

import pytest
from nn_models import refusal

import numgrad as torch
from numgrad import nn
from numgrad.nn.parameter import is_lazy

UNUSABLE = "ValueError: Attempted to use an uninitialized parameter."
SHAPELESS = "RuntimeError: Can't access the shape of an uninitialized parameter or buffer."


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda p: p + 1, UNUSABLE), (lambda p: 2 * p, UNUSABLE), (lambda p: p.clone(), UNUSABLE),
        (lambda p: torch.add(torch.ones(2), p), UNUSABLE), (lambda p: p.numel(), UNUSABLE), (len, UNUSABLE),
        (lambda p: p.detach(), UNUSABLE), (lambda p: p.tolist(), UNUSABLE), (lambda p: p[0], UNUSABLE),
        (lambda p: p.zero_(), UNUSABLE), (lambda p: p.shape, SHAPELESS),
    ],
)
def test_parameters_without_a_shape_cannot_be_used(use, message):
    assert refusal(lambda: use(nn.UninitializedParameter())).startswith(message)
    assert refusal(lambda: use(nn.UninitializedBuffer())).startswith(message)


def test_parameters_and_buffers_are_given_a_shape():
    parameter, buffer = nn.UninitializedParameter(False, dtype=torch.float64), nn.UninitializedBuffer()
    assert (is_lazy(parameter), is_lazy(buffer)) == (True, True)
    assert (isinstance(parameter, nn.Parameter), isinstance(buffer, nn.Buffer)) == (True, True)
    assert (repr(parameter), parameter.dtype, parameter.requires_grad) == (
        "<UninitializedParameter>", torch.float64, False
    )
    parameter.materialize((2, 3))
    buffer.materialize((4,), dtype=torch.int64)
    assert (type(parameter), parameter.shape, parameter.dtype) == (nn.Parameter, (2, 3), torch.float64)
    assert (type(buffer), buffer.shape, buffer.dtype) == (torch.Tensor, (4,), torch.int64)
    assert isinstance(buffer, nn.Buffer)
    assert not parameter.requires_grad


def test_a_module_has_them_converted_copied_and_pickled():
    layer = nn.LazyLinear(2).double()
    for other in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        weight = other.weight
        assert (is_lazy(weight), weight.dtype, weight.requires_grad) == (True, torch.float64, True)
        assert other(torch.ones(1, 3, dtype=torch.float64)).dtype is torch.float64
        assert (type(other), weight.shape) == (nn.Linear, (2, 3))
        assert other.weight is weight


def test_a_state_gives_shapes():
    trained, fresh = nn.LazyConv2d(3, 2), nn.LazyConv2d(3, 2)
    assert str(fresh.load_state_dict(trained.state_dict())) == "<All keys matched successfully>"
    trained(torch.ones(1, 2, 4, 4))
    assert SHAPELESS in refusal(lambda: trained.load_state_dict(nn.LazyConv2d(3, 2).state_dict()))
    fresh.load_state_dict(trained.state_dict())
    assert torch.equal(fresh.weight, trained.weight)
    assert isinstance(fresh, nn.LazyConv2d)
    assert torch.equal(fresh(torch.ones(1, 2, 4, 4)), trained(torch.ones(1, 2, 4, 4)))
    assert (type(fresh), fresh.in_channels) == (nn.Conv2d, 2)


def test_an_optimizer_has_the_parameters_from_the_start():
    model = nn.Sequential(nn.LazyConv1d(2, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(4, 2, 5)).sum().backward()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.step()
    assert any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def test_an_input_that_does_not_fit_changes_nothing():
    layer = nn.LazyConv2d(4, 3, groups=2)
    assert refusal(lambda: layer(torch.ones(5, 5))) == (
        "RuntimeError: Expected 3D (unbatched) or 4D (batched) input to LazyConv2d, but got input of size: "
        "torch.Size([5, 5])"
    )
    assert refusal(lambda: layer(torch.ones(1, 3, 5, 5))) == "ValueError: in_channels must be divisible by groups"
    assert (layer.has_uninitialized_params(), layer.in_channels) == (True, 0)
    assert layer(torch.ones(1, 2, 5, 5)).shape == (1, 4, 3, 3)


def test_a_lazy_module_says_what_it_makes():
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            if made:
                self.factor.materialize(x.shape[-1:])
                nn.init.ones_(self.factor)

        def forward(self, x):
            return x * self.factor

    made, scale = [], Scale()
    assert refusal(lambda: scale(torch.ones(3))) == "RuntimeError: module Scale has not been fully initialized"
    made.append(True)
    assert torch.equal(scale(torch.ones(3)), torch.ones(3))
    assert type(scale) is Scale
    assert not scale._forward_pre_hooks


def test_one_that_does_not_say_so_is_refused():
    class Nothing(nn.modules.lazy.LazyModuleMixin, nn.Module):
        pass

    assert refusal(lambda: Nothing()(1)) == (
        "NotImplementedError: initialize_parameters is not implemented for Nothing"
    )


@pytest.mark.parametrize("training", [0, 1])
def test_normalizations_are_fused_in_evaluation_only(training):
    norm = nn.Module().eval()
    norm.num_features = 5
    layers = [nn.Linear(3, 4).eval(), norm]
    layers[training].train()
    assert refusal(lambda: nn.utils.fuse_linear_bn_eval(*layers)) == "AssertionError: Fusion only for eval!"
    layers[training].eval()
    assert "got linear.out_features=4 and bn.num_features=5" in refusal(lambda: nn.utils.fuse_linear_bn_eval(*layers))
    norm.running_mean = norm.running_var = None
    assert "running" in refusal(lambda: nn.utils.fuse_conv_bn_eval(nn.Conv1d(3, 4, 1).eval(), norm))
