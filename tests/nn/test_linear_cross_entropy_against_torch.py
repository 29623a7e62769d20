"""The cross-entropy of a linear layer against PyTorch's."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

import numgrad

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("options", [
    {}, {"reduction": "none"}, {"reduction": "sum", "ignore_index": 2}, {"label_smoothing": 0.1},
])
def test_values_and_gradients(options):
    def program(m, x, weight, bias, wide, wide_bias):
        f, classes, several = m.nn.functional.linear_cross_entropy, m.tensor([1, 2, 4]), np.arange(6).reshape(3, 2) % 5
        chances = m.arange(15.0, dtype=m.float64).reshape(3, 5).softmax(1)
        counted = {name: value for name, value in options.items() if name != "ignore_index"}
        return (
            f(x, weight, classes, linear_bias=bias, **options), f(x[0], weight, classes[0], **options),
            f(x, wide, m.tensor(several), linear_bias=wide_bias, weight=bias.detach().abs(), **options),
            f(x, weight, chances, **counted),
        )  # fmt: skip

    assert_same(program, *randoms((3, 4), (5, 4), (5,), (5, 2, 4), (5, 2)), graph=False)


def test_module():
    def program(m, x):
        m.manual_seed(3)
        loss = m.nn.LinearCrossEntropyLoss(4, 5, bias=True, dtype=m.float64)
        wide = m.nn.LinearCrossEntropyLoss(4, 5, out_features=(2,), weight=m.ones(5).double(), dtype=m.float64)
        assert [*loss.state_dict(), *wide.state_dict()] == ["linear.weight", "linear.bias", "weight", "linear.weight"]
        return loss(x, m.tensor([1, 0, 4])), wide(x, m.tensor([[1, 0], [4, 2], [3, 3]]))

    assert_same(program, *randoms((3, 4)), graph=False)


def _of(x=(3, 4), weight=(5, 4), target=(0, 1, 2), **options):
    return lambda m: m.nn.functional.linear_cross_entropy(
        m.ones(*x), m.ones(*weight), m.tensor(target), **{k: m.ones(*v) if k == "linear_bias" else v
                                                         for k, v in options.items()}
    )


@pytest.mark.parametrize("program", [
    _of((1, 3, 4)), _of(weight=(4,)), _of(weight=(5, 3)), _of((4,), (5, 2, 4)), _of(linear_bias=(4,)),
    _of(target=np.full((3, 5), 0.2), ignore_index=1), _of(target=(0, 1)), _of(reduction="xx"),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found)[:40] == str(expected)[:40]


def test_options_are_refused():
    with pytest.raises(NotImplementedError, match="with options=None"):
        _of(options=1)(numgrad)
