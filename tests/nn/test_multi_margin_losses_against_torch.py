"""Losses of several classes with margins beside PyTorch's."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

CLASSES = np.array([0, 3, 1])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin_loss(p, reduction):
    def program(m, x, weight):
        f, target, options = m.nn.functional.multi_margin_loss, m.tensor(CLASSES), {"reduction": reduction}
        rest = m.nn.MultiMarginLoss(p, 0.7, weight.detach(), reduction=reduction)(x, target)
        one = f(x[0], target[1], p, **options), f(x[0], target[1:2], p, **options)
        return f(x, target, p, **options), rest, *one

    assert_same(program, *randoms((3, 4), (4,)), graph=False)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_multilabel_soft_margin_loss(reduction):
    def program(m, x, weight):
        target = m.tensor(np.arange(12).reshape(3, 4) % 2)
        f = m.nn.functional.multilabel_soft_margin_loss
        rest = m.nn.MultiLabelSoftMarginLoss(weight.detach(), reduction=reduction)(x, target)
        return f(x, target, reduction=reduction), rest, f(x[0], target[0], reduction=reduction)

    assert_same(program, *randoms((3, 4), (4,)), graph=False)


def test_numbers_that_are_none():
    def program(m, x):
        target = m.tensor([0, 1])
        return m.nn.functional.multi_margin_loss(x, target, reduction="none")

    assert_same(program, np.array([[np.nan, 1.0, 2.0], [np.inf, 0.0, -np.inf]]), requires_grad=False, graph=False)


@pytest.mark.parametrize("program", [
    lambda m: m.nn.functional.multi_margin_loss(m.ones(3, 4), m.tensor([0, 1])),
    lambda m: m.nn.functional.multi_margin_loss(m.ones(3, 4), m.tensor([0, 1, 4])),
    lambda m: m.nn.functional.multi_margin_loss(m.ones(3, 4), m.tensor([0, 1, 3]), p=3),
    lambda m: m.nn.functional.multi_margin_loss(m.ones(3, 4), m.tensor([0, 1, 3]), weight=m.ones(3)),
    lambda m: m.nn.functional.multi_margin_loss(m.ones(3, 4, dtype=m.int64), m.tensor([0, 1, 3])),
    lambda m: m.nn.functional.multi_margin_loss(m.ones(3, 4), m.tensor([0, 1, 3], dtype=m.int32)),
    lambda m: m.nn.functional.multi_margin_loss(m.ones(1, 3, 4), m.tensor([0, 1, 3])),
    lambda m: m.nn.functional.multi_margin_loss(m.ones(3, 0), m.tensor([0, 1, 3])),
    lambda m: m.nn.functional.multilabel_soft_margin_loss(m.ones(3, 4), m.ones(3, 3)),
    lambda m: m.nn.MultiMarginLoss(3), lambda m: m.nn.MultiMarginLoss(weight=m.ones(2, 2)),
])  # fmt: skip
def test_what_is_refused(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found)[:19] == str(expected)[:19]
