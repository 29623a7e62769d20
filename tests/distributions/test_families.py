"""Distributions whose samples come from gamma, Poisson or binomial numbers, and some others, against SciPy's."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

import numgrad as torch
from numgrad import distributions as dist
from numgrad.ops.creation.implicit import Dirichlet, StandardGamma

f64 = partial(torch.tensor, dtype=torch.float64)

#: How each is made of a module and numbers, and SciPy's distribution.
FAMILIES = {
    "gamma": (dist.Gamma(f64(0.7), f64(2.0)), stats.gamma(0.7, scale=0.5)),
    "chi2": (dist.Chi2(f64(3.0)), stats.chi2(3)),
    "inverse gamma": (dist.InverseGamma(f64(4.5), f64(2.0)), stats.invgamma(4.5, scale=2)),
    "beta": (dist.Beta(f64(0.6), f64(2.5)), stats.beta(0.6, 2.5)),
    "student": (dist.StudentT(f64(5.0), 1.0, 2.0), stats.t(5, 1, 2)),
    "fisher": (dist.FisherSnedecor(f64(3.0), f64(9.0)), stats.f(3, 9)),
    "generalized pareto": (dist.GeneralizedPareto(f64(0.5), 2.0, 0.2), stats.genpareto(0.2, 0.5, 2)),
    "bounded pareto": (dist.GeneralizedPareto(f64(0.5), 2.0, -0.4), stats.genpareto(-0.4, 0.5, 2)),
    "exponential pareto": (dist.GeneralizedPareto(f64(0.5), 2.0, 0.0), stats.expon(0.5, 2)),
    "poisson": (dist.Poisson(f64(3.5)), stats.poisson(3.5)),
    "many poisson": (dist.Poisson(f64(40.0)), stats.poisson(40)),
    "binomial": (dist.Binomial(8, f64(0.7)), stats.binom(8, 0.7)),
    "many binomial": (dist.Binomial(70, logits=f64(-0.5)), stats.binom(70, 1 / (1 + math.exp(0.5)))),
    "negative binomial": (dist.NegativeBinomial(f64(2.5), f64(0.6)), stats.nbinom(2.5, 0.4)),
}


def close(found, expected, tolerance=1e-11):
    np.testing.assert_allclose(found.detach().numpy(), expected, tolerance, tolerance)


@pytest.mark.parametrize("name", FAMILIES)
def test_densities_moments_and_samples(name):
    found, known = FAMILIES[name]
    torch.manual_seed(1)
    samples = found.sample((4000,))
    numbers, discrete = samples.numpy(), hasattr(known.dist, "pmf")
    close(found.log_prob(samples[:50]), (known.logpmf if discrete else known.logpdf)(numbers[:50]))
    close(found.mean, known.mean())
    close(found.variance, known.var())
    if name not in ("fisher", "poisson", "many poisson", "negative binomial"):
        close(found.entropy(), known.entropy(), 1e-9)
    if name in ("gamma", "chi2") or "pareto" in name:
        close(found.cdf(samples[:50]), known.cdf(numbers[:50]))
    if "pareto" in name:
        close(found.icdf(found.cdf(samples[:50])), numbers[:50])
    if discrete:  # compare the counts of the numbers by their squares
        values = np.arange(int(numbers.max()) + 1)
        counts, expected = np.bincount(numbers.astype(int)), 4000 * known.pmf(values)
        often = expected > 5
        expected *= counts[often].sum() / expected[often].sum()
        assert stats.chisquare(counts[often], expected[often]).pvalue > 1e-3
    else:
        assert stats.kstest(numbers, known.cdf).pvalue > 1e-3


def test_wishart_matrices_and_vectors():
    random = np.random.default_rng(0)
    root = random.normal(size=(3, 3))
    matrix, values = root @ root.T + np.eye(3), random.normal(size=(5, 3))
    normal = dist.MultivariateNormal(torch.zeros(3).double(), torch.from_numpy(matrix))
    close(normal.log_prob(torch.from_numpy(values)), stats.multivariate_normal(np.zeros(3), matrix).logpdf(values))
    wishart, known = dist.Wishart(f64(4.5), torch.from_numpy(matrix)), stats.wishart(4.5, matrix)
    torch.manual_seed(0)
    samples = wishart.sample((4000,))
    close(wishart.log_prob(samples[:5]), known.logpdf(samples[:5].numpy().transpose(1, 2, 0)))
    close(wishart.entropy(), known.entropy())
    close(samples.mean(0) / wishart.mean, np.ones((3, 3)), 0.1)
    close(samples.var(0) / wishart.variance, np.ones((3, 3)), 0.2)
    dirichlet, known = dist.Dirichlet(f64([0.5, 2.0, 3.0])), stats.dirichlet([0.5, 2, 3])
    samples = dirichlet.sample((4000,))
    close(dirichlet.log_prob(samples[:5]), known.logpdf(samples[:5].numpy().T))
    close(dirichlet.entropy(), known.entropy())
    close(samples.mean(0), known.mean(), 0.02)
    close(samples.var(0), known.var(), 0.01)
    counts, known = dist.Multinomial(6, f64([0.5, 0.2, 0.3])), stats.multinomial(6, [0.5, 0.2, 0.3])
    close(counts.log_prob(f64([3.0, 1.0, 2.0])), known.logpmf([3, 1, 2]))
    close(counts.entropy(), known.entropy())
    close(counts.sample((4000,)).mean(0), counts.mean, 0.1)


def test_angles():
    found, known = dist.VonMises(f64(0.5), f64(2.0)), stats.vonmises(2, 0.5)
    torch.manual_seed(0)
    samples = found.sample((4000,))
    close(found.log_prob(samples[:50]), known.logpdf(samples[:50].numpy()))
    assert stats.kstest(samples.numpy(), known.cdf).pvalue > 1e-3
    close(found.variance, 1 - (samples - 0.5).cos().mean(), 0.02)
    assert found.log_prob(f64(0.5 + 2e4 * math.pi)).item() == pytest.approx(known.logpdf(0.5))


def test_correlation_matrices_are_uniform_for_a_concentration_of_1():
    """An element of a matrix of size 3 has the density 2 / pi sqrt(1 - x**2), that of a beta variable."""
    torch.manual_seed(0)
    factors = dist.LKJCholesky(3, f64(1.0)).sample((4000,))
    correlations = (factors @ factors.mT).numpy()
    for row, column in ((1, 0), (2, 0), (2, 1)):
        assert stats.kstest((correlations[:, row, column] + 1) / 2, stats.beta(1.5, 1.5).cdf).pvalue > 1e-3


# -- derivatives of samples ---------------------------------------------------------------------------------------


def quantile_slopes(family, shares, *parameters):
    """Derivatives of the quantiles by each parameter, as central differences."""
    step = 1e-5
    return [
        (family.ppf(shares, *[p + step * (p is q) for p in parameters])
         - family.ppf(shares, *[p - step * (p is q) for p in parameters])) / (2 * step)
        for q in parameters
    ]


def test_derivatives_of_gamma_numbers_are_those_of_quantiles():
    shapes = np.repeat([0.2, 1.0, 3.0, 40.0, 1000.0], 4)
    leaf = torch.from_numpy(shapes).requires_grad_()
    torch.manual_seed(0)
    numbers = dist.Gamma(leaf, 2.0).rsample()
    numbers.sum().backward()
    (slopes,) = quantile_slopes(stats.gamma, stats.gamma.cdf(2 * numbers.detach().numpy(), shapes), shapes)
    close(leaf.grad, slopes / 2, 1e-6)


def test_derivatives_of_beta_numbers_are_those_of_quantiles():
    a, b = [x.ravel().astype(float) for x in np.meshgrid([0.3, 1, 2.5, 60], [0.4, 1.5, 30])]
    leaves = [torch.from_numpy(x).requires_grad_() for x in (a, b)]
    torch.manual_seed(0)
    numbers = dist.Beta(*leaves).rsample()
    numbers.sum().backward()
    expected = quantile_slopes(stats.beta, stats.beta.cdf(numbers.detach(), a, b), a, b)
    for leaf, slopes in zip(leaves, expected, strict=True):
        close(leaf.grad, slopes, 1e-6)


def test_derivatives_of_dirichlet_numbers_have_the_right_mean():
    """The mean of ``x[i] * x[j]`` is ``a[i] * (a[j] + (i == j)) / (A * (A + 1))``, with the sum A."""
    leaf = f64([0.7, 2.0, 1.3]).requires_grad_()
    torch.manual_seed(0)
    numbers = dist.Dirichlet(leaf).rsample((20000,))
    weights = f64([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0], [0.0, 0.0, -1.0]])
    (found,) = torch.autograd.grad(((numbers @ weights) * numbers).sum(-1).mean(), leaf)
    total = leaf.sum()
    means = (leaf.outer(leaf) + leaf.diag()) / (total * (total + 1))
    (expected,) = torch.autograd.grad((weights * means).sum(), leaf)
    close(found, expected.numpy(), 0.02)


@pytest.mark.parametrize("implicit", [StandardGamma, Dirichlet])
def test_derivatives_of_samples_in_other_modes(implicit):
    shapes, tangent, numbers = f64([[0.5, 2.0, 3.0]]), f64([[1.0, -1.0, 0.5]]), f64([[0.2, 0.5, 0.3]])
    _, forwards = torch.func.jvp(lambda a: implicit.apply(a, numbers), (shapes,), (tangent,))
    _, pull = torch.func.vjp(lambda a: implicit.apply(a, numbers), shapes)
    for cotangent in torch.eye(3).double():
        close((pull(cotangent[None])[0] * tangent).sum(), (forwards * cotangent).sum().numpy())
    each = torch.vmap(torch.func.jacrev(lambda a: implicit.apply(a, numbers[0])))(shapes)
    close(each[0] @ tangent[0], forwards[0].numpy())
    leaf = shapes.requires_grad_()
    (first,) = torch.autograd.grad(implicit.apply(leaf, numbers)[..., 0].sum(), leaf, create_graph=True)
    with pytest.raises(NotImplementedError, match=r"derivative for '(gamma|beta)_slope: input' is not implemented"):
        first.sum().backward()


# -- samplers -----------------------------------------------------------------------------------------------------


def test_tensors_filled_with_random_numbers():
    torch.manual_seed(2)
    for numbers, known in (
        (torch.empty(4000).cauchy_(1.0, 2.0), stats.cauchy(1, 2)),
        (torch.empty(4000).log_normal_(0.5, 0.3), stats.lognorm(0.3, scale=math.exp(0.5))),
    ):
        assert stats.kstest(numbers.numpy(), known.cdf).pvalue > 1e-3
    trials = torch.empty(4000, dtype=torch.int64).geometric_(0.3)
    shares = np.bincount(trials)[1:8] / 4000
    np.testing.assert_allclose(shares, stats.geom(0.3).pmf(np.arange(1, 8)), atol=0.02)


def test_samplers_at_the_edges():
    inf, nan = math.inf, math.nan
    assert torch.poisson(f64([0.0, inf])).tolist() == [0, inf]
    counts, chances = f64([5.0, 5.0, -1.0, 5.0, 0.0]), f64([1.5, -1.0, 0.5, 1.0, 0.5])
    assert torch.binomial(counts, chances).tolist() == [5, 0, 0, 5, 0]
    assert torch.binomial(f64([nan, 5.0]), f64([0.5, nan])).isnan().all()
    found = torch._standard_gamma(torch.tensor([0.0, inf, nan, -1.0]))
    assert found[:2].tolist() == [torch.finfo(torch.float32).tiny, inf]
    assert found[2:].isnan().all()
    assert torch._sample_dirichlet(torch.full((100, 2), 1e-4)).sum(-1).isfinite().all()
    half = torch._standard_gamma(torch.tensor([2.0, 3.0], dtype=torch.float16), torch.Generator().manual_seed(1))
    assert half.equal(torch._standard_gamma(torch.tensor([2.0, 3.0]), torch.Generator().manual_seed(1)).half())
    with pytest.raises(RuntimeError, match="invalid Poisson rate, expected rate to be non-negative"):
        torch.poisson(f64([-1.0]))
    with pytest.raises(RuntimeError, match=r"geometric_ expects p to be in \(0, 1\), but got p=1"):
        torch.empty(2).geometric_(1)
