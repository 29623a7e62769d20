"""Quantiles and covariances beyond their samples: shares, NaNs, interpolation, weights, and errors."""

import re

import numpy as np
import pytest

import numgrad as torch

X = np.random.default_rng(0).normal(size=(3, 4, 5))
HOLES = X.copy()
HOLES[0, 1, 2] = HOLES[1, :, 3] = np.nan


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("q", [0.3, [0.1, 0.5, 1.0]])
@pytest.mark.parametrize(("name", "x"), [("quantile", X), ("quantile", HOLES), ("nanquantile", HOLES)])
@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_quantiles_are_numpys(name, x, q, dim, keepdim, interpolation):
    share = torch.tensor(q, dtype=torch.float64) if isinstance(q, list) else q
    found = getattr(torch, name)(torch.tensor(x), share, dim, keepdim, interpolation=interpolation)
    wanted = getattr(np, name)(x, q, dim, keepdims=keepdim, method=interpolation)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted)


def test_shares_have_gradients():
    x, q = torch.tensor(X[0]), torch.tensor([0.2, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q: x.quantile(q, 1), q)


def test_weights_of_covariances():
    x, often, much = torch.tensor(X[0]), torch.tensor([1, 2, 0, 1, 3]), torch.tensor([0.5, 1, 2, 1, 0.2]).double()
    for correction in (0, 1):
        wanted = np.cov(X[0], ddof=correction, fweights=often.numpy(), aweights=much.numpy())
        np.testing.assert_allclose(x.cov(correction=correction, fweights=often, aweights=much).numpy(), wanted)
    much.requires_grad_()
    assert torch.autograd.gradcheck(lambda much: x.cov(fweights=often, aweights=much), much)


def test_correlations_of_complex_numbers_and_of_one_variable():
    z = torch.complex(torch.tensor(X[0]), torch.tensor(X[1]))
    np.testing.assert_allclose(z.corrcoef().numpy(), np.corrcoef(X[0] + 1j * X[1]))
    assert torch.arange(3.0).corrcoef().tolist() == 1


ROW = torch.arange(4.0)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ROW.quantile(1.5), "quantile() q must be in the range [0, 1] but got 1.5"),
    (lambda: ROW.quantile(torch.tensor([0.5, 2.0])), "quantile() q values must be in the range [0, 1]"),
    (lambda: ROW.quantile(torch.ones(1, 1)), "quantile() q must be a scalar or 1D tensor"),
    (lambda: ROW.quantile(torch.ones(1).double()), "quantile() q tensor must be same dtype as the input tensor"),
    (lambda: ROW.long().quantile(0.5), "quantile() input tensor must be either float or double dtype"),
    (lambda: ROW[:0].nanquantile(0.5), "nanquantile() input tensor must be non-empty (shape [0])"),
    (lambda: torch.ones(0, 3).quantile(0.5, 1), "quantile() input tensor must be non-empty (shape [0, 3])"),
    (lambda: torch.ones(1).expand(2**24 + 1).quantile(0.5), "quantile() input tensor is too large: 16777217 elements"),
    (lambda: ROW.quantile(0.5, interpolation="none"), "interpolation must be one of linear, lower, higher"),
    (lambda: torch.ones(1, 1, 1).cov(), "cov(): expected input to have two or fewer dimensions"),
    (lambda: torch.ones(1, 1, 1).corrcoef(), "corrcoef(): expected input to have two or fewer dimensions"),
    (lambda: (ROW > 1).cov(), "cov(): bool dtype is not supported for input"),
    (lambda: ROW.cov(fweights=ROW), "expected fweights to have integral dtype but got fweights with Float"),
    (lambda: ROW.cov(aweights=ROW.long()), "expected aweights to have floating point dtype"),
    (lambda: ROW.cov(aweights=ROW[1:]), "the same numel as there are observations in the input but got 3 != 4"),
    (lambda: ROW.cov(aweights=-ROW), "cov(): aweights cannot be negative"),
    (lambda: ROW.cov(aweights=0 * ROW), "cov(): weights sum to zero, can't be normalized"),
    (lambda: ROW.cov(aweights=ROW.reshape(2, 2)), "expected aweights to have one or fewer dimensions"),
])
def test_refusals(call, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        call()


def test_the_dimension_of_one_element_is_checked():
    assert torch.tensor(2.0).quantile(0.5, -1) == 2
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.tensor(2.0).quantile(0.5, 1)


def test_too_few_observations_are_warned_of():
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert ROW.cov(correction=4).tolist() == float("inf")
