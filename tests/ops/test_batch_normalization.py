"""Batch normalization: cases that samples of a few elements do not cover."""

import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad

F = numgrad.nn.functional


def _randoms(*shape, seed=0):
    return numgrad.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)


@pytest.mark.parametrize("training", [True, False])
def test_the_third_derivative(training):
    """PyTorch treats mean and scale as constants there."""
    mean, variance = numgrad.zeros(2, dtype=numgrad.float64), numgrad.ones(2, dtype=numgrad.float64)

    def normalized(x, weight):
        return F.batch_norm(x, mean.clone(), variance.clone(), weight, training=training, eps=0.1)

    check_gradients(normalized, _randoms(3, 2), _randoms(2, seed=1), order=3, relative=1e-5, absolute=1e-6)


def test_small_differences_from_a_large_mean():
    x = numgrad.tensor([[10000.0], [10001.0], [10002.0], [10003.0]])
    out = F.batch_norm(x, None, None, training=True)
    np.testing.assert_allclose(out.squeeze().numpy(), [-1.341635, -0.447212, 0.447212, 1.341635], 1e-5)


def test_a_later_change_of_the_running_statistics():
    """A call in training mode does not overwrite the values that one in evaluation mode has saved."""
    x, mean, variance = _randoms(3, 2), *numgrad.ones(2, 2, dtype=numgrad.float64)
    out = F.batch_norm(x, mean, variance)
    F.batch_norm(x.detach(), mean, variance, training=True)
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full((3, 2), 1 / np.sqrt(1 + 1e-5)))


def test_examples_with_running_statistics_of_their_own():
    x, mean, variance = _randoms(2, 3, 4).detach(), numgrad.zeros(2, 4).double(), numgrad.ones(2, 4).double()
    wanted_mean, wanted_variance = mean.clone(), variance.clone()
    wanted = [F.batch_norm(*one, training=True) for one in zip(x, wanted_mean, wanted_variance, strict=True)]
    found = numgrad.vmap(lambda *one: F.batch_norm(*one, training=True))(x, mean, variance)
    for one, other in ((found, numgrad.stack(wanted)), (mean, wanted_mean), (variance, wanted_variance)):
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-12)
    with pytest.raises(RuntimeError):
        numgrad.vmap(lambda one: F.batch_norm(one, mean[0], variance[0], training=True))(x)
