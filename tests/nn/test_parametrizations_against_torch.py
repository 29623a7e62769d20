"""Parametrized modules against PyTorch's: texts, states, results, gradients and errors; normalized weights."""

import copy
import importlib
import pickle
import warnings

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch


def _parametrize(m):
    return importlib.import_module(f"{m.__name__}.nn.utils.parametrize")


def _made(m, forward, right_inverse=None):
    """A module that calls these functions."""

    class Made(m.nn.Module):
        def forward(self, *args):
            return forward(*args)

    result = Made()
    if right_inverse is not None:
        result.right_inverse = right_inverse
    return result


def _register(m, forward, right_inverse=None, before=0, **options):
    """A linear layer whose weight is computed, by as many identities before."""
    layer = m.nn.Linear(2, 3)
    for _ in range(before):
        _parametrize(m).register_parametrization(layer, "weight", _made(m, lambda x: x, lambda x: x))
    return _parametrize(m).register_parametrization(layer, "weight", _made(m, forward, right_inverse), **options)


def _double(m):
    return _register(m, lambda x: 2 * x, lambda x: x / 2)


def _sum(m):
    return _register(m, lambda x, y: x + y, lambda x: (x / 2, x / 2))


def _twice(m):
    layer = _double(m)
    _parametrize(m).register_parametrization(layer, "bias", m.nn.Tanh())
    return _parametrize(m).register_parametrization(layer, "weight", _made(m, lambda x: x.exp(), lambda x: x.log()))


def _of_a_buffer(m):
    return _parametrize(m).register_parametrization(m.nn.BatchNorm1d(3), "running_mean", m.nn.Sigmoid())


def _changed(m, *tensors):
    layer = _double(m)
    layer.weight = m.ones(3, 2)
    return layer


def _removed(m, *tensors):
    layer = _parametrize(m).remove_parametrizations(_twice(m), "weight")
    return _parametrize(m).remove_parametrizations(layer, "bias", leave_parametrized=False)


def _transferred(m):
    return _parametrize(m).transfer_parametrizations_and_params(_sum(m), m.nn.Linear(2, 3))


def _refusing(error):
    def raising(x):
        raise error

    return raising


LAYERS = [
    _double, _sum, _twice, _of_a_buffer, _changed, _removed, _transferred,
    lambda m: _parametrize(m).remove_parametrizations(_sum(m), "weight"),
    lambda m: _parametrize(m).register_parametrization(
        m.nn.Linear(2, 3), "bias", _made(m, lambda x: x[:1]), unsafe=True),
    lambda m: _register(m, lambda x: 2 * x, _refusing(NotImplementedError())),
    lambda m: _parametrize(m).transfer_parametrizations_and_params(_twice(m), m.nn.Module(), "weight"),
    *[lambda m, dim=dim: m.nn.utils.parametrizations.weight_norm(m.nn.Linear(2, 3), dim=dim)
      for dim in (0, 1, -1, None)],
    lambda m: m.nn.utils.parametrizations.weight_norm(m.nn.Linear(2, 3), "bias"),
    lambda m: m.nn.utils.parametrizations.weight_norm(m.nn.Linear(2, 3).double().eval()),
    lambda m: m.nn.utils.weight_norm(m.nn.Linear(2, 3)), lambda m: m.nn.utils.weight_norm(m.nn.Linear(2, 3), dim=None),
    lambda m: m.nn.utils.remove_weight_norm(m.nn.utils.weight_norm(m.nn.Linear(2, 3))),
    lambda m: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 3)),
    lambda m: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 3), n_power_iterations=3, eps=0.1, dim=-1),
    lambda m: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 3), "bias"),
    lambda m: m.nn.utils.spectral_norm(m.nn.Linear(2, 3)),
    lambda m: m.nn.utils.spectral_norm(m.nn.Linear(2, 3), n_power_iterations=2, eps=0.1, dim=1),
    lambda m: m.nn.utils.remove_spectral_norm(m.nn.utils.spectral_norm(m.nn.Linear(2, 3))),
]  # fmt: skip


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")
def test_state_results_and_gradients_of_layers(make):
    import torch

    import numgrad

    found = [_facts(m, make) for m in (torch, numgrad)]
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], 1e-5, 1e-6)


def _facts(m, make):
    """Return the properties of a layer, and all its numbers after a step."""
    m.manual_seed(1)
    layer, parametrize = make(m), _parametrize(m)
    said = [repr(layer), type(layer).__name__, [name for name, _ in layer.named_modules()]]
    said += [parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "weight")]
    said += [parametrize.type_before_parametrizations(layer).__name__]
    said += [(name, parameter.requires_grad) for name, parameter in layer.named_parameters()]
    tensors = []
    if type(layer).__name__.endswith("Linear"):
        for _ in range(2):
            tensors.append(layer(m.ones(1, 2, dtype=layer.weight.dtype)))
        sum(tensors).square().sum().backward()
    state = layer.state_dict(keep_vars=True)
    tensors += [*state.values(), *[one.grad for one in state.values() if one.grad is not None]]
    said += [list(state), [(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")) for tensor in tensors]]
    return said, np.concatenate([one.detach().reshape(-1).double().numpy() for one in tensors])


@pytest.mark.parametrize("program", [
    *[lambda m, f=f, before=before: _register(m, f, before=before)
      for f in (lambda x: 3, lambda x: x[:1], lambda x: x.double()) for before in (0, 1)],
    *[lambda m, f=f, before=before: _register(m, lambda x: x, f, before=before)
      for f in (lambda x: 3, lambda x: x[:1], lambda x: x.double()) for before in (0, 1)],
    lambda m: _register(m, lambda x: x, lambda x: x.double(), unsafe=True),
    lambda m: _register(m, lambda x, y: x, lambda x: (x, 3)), lambda m: _register(m, lambda x: x, lambda x: "x"),
    lambda m: _register(m, lambda x, y: x[:1], lambda x: (x, x)),
    lambda m: _parametrize(m).register_parametrization(m.nn.Linear(2, 3), "no", m.nn.Tanh()),
    lambda m: _parametrize(m).remove_parametrizations(m.nn.Linear(2, 3), "weight"),
    lambda m: _parametrize(m).remove_parametrizations(_sum(m), "weight", leave_parametrized=False),
    lambda m: _parametrize(m).ParametrizationList([], m.ones(2)),
    lambda m: _parametrize(m).transfer_parametrizations_and_params(_double(m), m.nn.Linear(2, 3), "bias"),
    lambda m: setattr(_register(m, lambda x: x), "weight", m.ones(3, 2)),
    lambda m: setattr(_double(m), "weight", m.nn.Parameter(m.ones(3, 2))),
    lambda m: setattr(_double(m), "weight", m.ones(3, 2).double()), lambda m: setattr(_double(m), "weight", 3),
    lambda m: copy.copy(_double(m)), lambda m: pickle.dumps(_double(m)),
    lambda m: m.nn.utils.parametrizations.weight_norm(m.nn.Linear(2, 3), "no"),
    lambda m: m.nn.utils.remove_weight_norm(m.nn.Linear(2, 3)),
    lambda m: m.nn.utils.remove_spectral_norm(m.nn.Linear(2, 3)),
    lambda m: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 3), "no"),
    lambda m: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 3), n_power_iterations=0),
    lambda m: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 3), dim=2),
    lambda m: m.nn.utils.spectral_norm(m.nn.Linear(2, 3), "no"), lambda m: m.nn.utils.spectral_norm(m.nn.LazyLinear(3)),
    lambda m: m.nn.utils.spectral_norm(m.nn.utils.spectral_norm(m.nn.Linear(2, 3))),
    lambda m: m.norm_except_dim(m.ones(2, 3, dtype=m.int64)), lambda m: m.norm_except_dim(m.ones(2, 3), 2, 2),
    lambda m: m._weight_norm(m.ones(2, 3).double(), m.ones(2, 1)),
    lambda m: m._weight_norm(m.ones(2, 3, 2), m.ones(2, 2, 1), 1),
    lambda m: m._weight_norm(m.ones(2, 3, dtype=m.int64), m.ones(2, 1, dtype=m.int64)),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected))


@pytest.mark.parametrize("program", [
    lambda m: m.nn.utils.weight_norm(m.nn.utils.weight_norm(m.nn.Linear(2, 3))),
    lambda m: m.nn.utils.weight_norm(m.nn.Linear(2, 3), "no"), lambda m: m.nn.utils.weight_norm(m.nn.LazyLinear(3)),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")
def test_refusals_of_the_old_function(program):
    expected, found = messages(program)
    assert (type(found), str(found)) == (type(expected), str(expected))


def test_the_old_function_warns():
    import torch

    import numgrad

    found = []
    for m in (torch, numgrad):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            m.nn.utils.weight_norm(m.nn.Linear(2, 3))
        found.append([(one.category, str(one.message)) for one in caught])
    assert found[0] == found[1]


def test_convolutions():
    """Their weights have more dimensions, and those of transposed ones another order."""
    def program(m, weight):
        outs = []
        for make, shape in ((m.nn.Conv2d, (3, 2, 2, 2)), (m.nn.ConvTranspose2d, (3, 2, 2, 2))):
            for normalize in (m.nn.utils.parametrizations.spectral_norm, m.nn.utils.parametrizations.weight_norm):
                layer = (make(2, 3, 2) if make is m.nn.Conv2d else make(3, 2, 2)).double()
                with m.no_grad():
                    layer.weight.copy_(weight.detach().reshape(shape))
                m.manual_seed(3)
                outs.append(normalize(layer).weight)
        return outs

    assert_same(program, *randoms((3, 8)))


@pytest.mark.parametrize(("shape", "length", "dim"), [
    ((3, 4), (3, 1), 0), ((3, 4), (1, 4), 1), ((2, 3, 4), (1, 1, 4), 2), ((2, 3, 4), (1, 3, 1), 1), ((3, 4), (), -1),
    ((3,), (3,), 0),
])  # fmt: skip
def test_weights_made_of_direction_and_length(shape, length, dim):
    assert_same(lambda m, v, g: m._weight_norm(v, g, dim), *randoms(shape, length), graph=dim in (0, len(shape) - 1))


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2])
def test_lengths_of_weights(dim):
    assert_same(lambda m, v: m.norm_except_dim(v, 2, dim).flatten(), *randoms((2, 3, 4)), graph=False)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 3, 5)])
@pytest.mark.parametrize("orthogonal_map", [None, "matrix_exp", "cayley", "householder"])
def test_orthogonal_weights(shape, orthogonal_map):
    def program(m, x, step):
        found = []
        for base in (True, False):
            m.manual_seed(0)
            layer = m.nn.Module()
            layer.weight = m.nn.Parameter(x.detach().clone())
            m.nn.utils.parametrizations.orthogonal(layer, "weight", orthogonal_map, use_trivialization=base)
            original = layer.parametrizations.weight.original
            with m.no_grad():
                original.add_(step.tril(-1) + step.triu(1))  # the diagonal says which reflections there are
            weight = layer.weight
            (weight * x).sum().backward()
            found += [weight.detach().contiguous(), original.grad.contiguous()]
            if base or orthogonal_map == "householder":
                layer.weight = weight.detach()
                found.append(layer.weight.detach().contiguous())
        return found

    assert_same(program, *randoms(shape, shape, dtype="float64"), requires_grad=False, tolerance=1e-12)
