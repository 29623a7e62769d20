"""Losses of several classes with margins against PyTorch's."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

import numgrad

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


LABELS = np.array([[3, 0, -1, 1], [2, 2, 1, -1], [-1, 0, 0, 0], [1, 0, 2, 3]])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_multilabel_margin_loss(reduction):
    def program(m, x):
        target, f = m.tensor(LABELS), m.nn.functional.multilabel_margin_loss
        module = m.nn.MultiLabelMarginLoss(reduction=reduction)
        each = [f(x[number], target[number], reduction=reduction) for number in range(3)]
        return module(x, target), *each, f(x[0, :1], target[2, 0], reduction=reduction)

    assert_same(program, *randoms((4, 4)), graph=False)
    assert_same(program, *randoms((4, 4), dtype="float32", layout="transposed"), graph=False)


def test_no_examples():
    def program(m, x):
        loss, target = m.nn.functional.multilabel_margin_loss, m.tensor(LABELS[:0])
        return [loss(x, target, reduction=reduction) for reduction in ("none", "sum")]

    assert_same(program, np.zeros((0, 4)), graph=False)


def test_multilabel_margin_loss_of_batches():
    x, target = (numgrad.from_numpy(each) for each in (*randoms((4, 4)), LABELS))
    loss = numgrad.nn.functional.multilabel_margin_loss
    expected = loss(x, target, reduction="none")
    np.testing.assert_allclose(numgrad.vmap(loss)(x, target), expected, 1e-14)
    np.testing.assert_allclose(numgrad.vmap(loss, (0, None))(x, target[0])[0], expected[0], 1e-14)
    assert numgrad.autograd.gradgradcheck(lambda x: loss(x, target), x.requires_grad_())


def test_numbers_that_are_none():
    def program(m, x):
        target, f = m.tensor([0, 1]), m.nn.functional
        labels = m.tensor([[1, 2, -1], [0, -1, 0]])
        return f.multi_margin_loss(x, target, reduction="none"), f.multilabel_margin_loss(x, labels, reduction="none")

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
    lambda m: m.nn.functional.multilabel_margin_loss(m.ones(2, 4), m.tensor(LABELS)),
    lambda m: m.nn.functional.multilabel_margin_loss(m.ones(2, 3, 4), m.tensor(LABELS)),
    lambda m: m.nn.functional.multilabel_margin_loss(m.ones(4, 0), m.tensor(LABELS)),
    lambda m: m.nn.functional.multilabel_margin_loss(m.ones(4), m.tensor([1, -1, 4, 0])),
    lambda m: m.nn.functional.multilabel_margin_loss(m.ones(4), m.tensor([1, -2, 0, 0])),
    lambda m: m.nn.functional.multilabel_margin_loss(m.ones(4, 4), m.tensor(LABELS).int()),
    lambda m: m.nn.functional.multilabel_margin_loss(m.ones(4, 4).long(), m.tensor(LABELS)),
    lambda m: m.nn.MultiMarginLoss(3), lambda m: m.nn.MultiMarginLoss(weight=m.ones(2, 2)),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found)[:19] == str(expected)[:19]
