"""The adaptive softmax against PyTorch's."""

import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

TARGETS = [0, 6, 12, 19, 3, 4]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("targets", [TARGETS, TARGETS[4:], []])
def test_values_and_gradients(targets, bias):
    def program(m, x):
        m.manual_seed(2)
        layer = m.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10, 15], 2.0, bias, dtype=m.float64)
        target = m.tensor(targets, dtype=m.int64)
        out = layer(x[: len(targets)], target)
        one = layer(x[0], m.tensor(7))
        (out.output.sum() + one.loss).backward(retain_graph=True)
        grads = [p.grad for p in layer.parameters() if p.grad is not None]
        return *out, *one, layer.log_prob(x), layer.predict(x), *grads

    assert_same(program, *randoms((6, 16)), graph=False)


def test_attributes():
    def program(m, x):
        layer = m.nn.AdaptiveLogSoftmaxWithLoss(16, 20, (5, 10))
        names = "in_features n_classes cutoffs div_value head_bias shortlist_size n_clusters head_size"
        return repr(layer), [getattr(layer, name) for name in names.split()], list(layer.state_dict())

    import torch

    import numgrad

    assert program(numgrad, None) == program(torch, None)


def _layer(m, cutoffs=(5, 10)):
    return m.nn.AdaptiveLogSoftmaxWithLoss(4, 20, cutoffs)


@pytest.mark.parametrize("program", [
    lambda m: _layer(m)(m.ones(3, 4), m.tensor([1, 2])), lambda m: _layer(m)(m.ones(3, 4), m.tensor([[1, 2]])),
    lambda m: _layer(m)(m.ones(2, 4), m.tensor([1, 20])), lambda m: _layer(m)(m.ones(2, 4), m.tensor([-1, 2])),
    lambda m: _layer(m)(m.ones(2, 4), m.tensor(1)), lambda m: _layer(m, []), lambda m: _layer(m, [5, 3]),
    lambda m: _layer(m, [0, 3]), lambda m: _layer(m, [5, 20]), lambda m: _layer(m, [5, 5]),
    lambda m: _layer(m).log_prob(m.ones(4)),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected)[:60])
