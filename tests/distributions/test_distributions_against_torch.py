"""Distributions against PyTorch's: samples for the same seed, probabilities, moments, gradients, texts, errors."""

import functools
import inspect
import warnings

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

import numgrad

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:`sample_n:FutureWarning")]

#: PyTorch sums in another order, and some formulas are written otherwise.
assert_alike = functools.partial(assert_same, graph=False, tolerance=1e-12)

#: Distributions for which PyTorch computes something less accurately: trigamma, the entropy of multinomial numbers, a
#: series, Bessel functions.
ROUGH = {"gamma", "chi2", "student", "beta", "dirichlet", "inverse gamma", "multinomial", "wishart", "nearly even",
         "von mises"}

#: Distributions whose samples have derivatives by quantiles, which PyTorch approximates.
OF_GAMMAS = {
    "gamma", "chi2", "student", "fisher", "beta", "beta of numbers", "dirichlet", "inverse gamma",
}  # fmt: skip


def compare(program, *arrays, tolerance=1e-12):
    """Compare to the accuracy of float64; distributions without array parameters are float32."""
    assert_same(program, *arrays, graph=False, tolerance=tolerance if arrays else None)


def factor(m, x):
    """A lower triangular matrix with a positive diagonal."""
    return x.tril(-1) + m.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())


def positive(m, x):
    """A positive definite matrix."""
    return x @ x.mT + m.eye(x.shape[-1]).double()


#: How each is made of tensors of numbers between -2 and 2, the shapes of those, and numbers that may be samples.
MADE = {
    "normal": (lambda m, d, a, b: d.Normal(a, b.exp()), [(3,), (2, 3)], "real"),
    "normal of numbers": (lambda m, d: d.Normal(1, 0.5), [], "real"),
    "normal of a number": (lambda m, d, a: d.Normal(0.5, a.exp()), [(3,)], "real"),
    "laplace": (lambda m, d, a, b: d.Laplace(a, b.exp()), [(2, 3), (3,)], "real"),
    "exponential": (lambda m, d, a: d.Exponential(a.exp()), [(3,)], "positive"),
    "uniform": (lambda m, d, a, b: d.Uniform(-a.exp(), b.exp() + 1), [(2, 3), (3,)], "unit"),
    "log_normal": (lambda m, d, a, b: d.LogNormal(a, b.exp()), [(2, 3), (3,)], "positive"),
    "cauchy": (lambda m, d, a, b: d.Cauchy(a, b.exp()), [(2, 3), (3,)], "real"),
    "half normal": (lambda m, d, a: d.HalfNormal(a.exp()), [(3,)], "positive"),
    "half cauchy": (lambda m, d, a: d.HalfCauchy(a.exp()), [(3,)], "positive"),
    "gumbel": (lambda m, d, a, b: d.Gumbel(a, b.exp()), [(2, 3), (3,)], "real"),
    "pareto": (lambda m, d, a, b: d.Pareto(a.exp() / 100, b.exp()), [(2, 3), (3,)], "positive"),
    "weibull": (lambda m, d, a, b: d.Weibull(a.exp(), b.exp()), [(2, 3), (3,)], "positive"),
    "geometric": (lambda m, d, a: d.Geometric(a.sigmoid()), [(2, 3)], "bits"),
    "geometric of logits": (lambda m, d, a: d.Geometric(logits=a), [(3,)], "bits"),
    "bernoulli": (lambda m, d, a: d.Bernoulli(a.sigmoid()), [(2, 3)], "bits"),
    "bernoulli of logits": (lambda m, d, a: d.Bernoulli(logits=a), [(2, 3)], "bits"),
    "bernoulli of a number": (lambda m, d: d.Bernoulli(0.3), [], "bits"),
    "categorical": (lambda m, d, a: d.Categorical(a.exp()), [(2, 3)], "classes"),
    "categorical of logits": (lambda m, d, a: d.Categorical(logits=a), [(3,)], "classes"),
    "one hot": (lambda m, d, a: d.OneHotCategorical(a.exp()), [(2, 3)], "vectors"),
    "one hot of logits": (lambda m, d, a: d.OneHotCategoricalStraightThrough(logits=a), [(2, 3)], "vectors"),
    "independent": (lambda m, d, a, b: d.Independent(d.Normal(a, b.exp()), 1), [(2, 3), (3,)], "real"),
    "independent bits": (lambda m, d, a: d.Independent(d.Bernoulli(logits=a), 0), [(2, 3)], "bits"),
    "transformed": (lambda m, d, a, b: d.TransformedDistribution(
        d.Normal(a, b.exp()), [d.AffineTransform(0.3, -0.8), d.SigmoidTransform(), d.PowerTransform(2.0)]
    ), [(2, 3), (3,)], "unit"),
    "transformed by vectors": (lambda m, d, a, b: d.TransformedDistribution(
        d.Laplace(a, 1.0), [d.AffineTransform(b, b.exp(), event_dim=1), d.TanhTransform(cache_size=1)]
    ), [(3,), (2, 3)], "unit"),
    "multivariate normal": (
        lambda m, d, a, b: d.MultivariateNormal(a, scale_tril=factor(m, b)), [(2, 3), (3, 3)], "real"
    ),
    "of a covariance": (lambda m, d, a, b: d.MultivariateNormal(a, positive(m, b)), [(3,), (2, 3, 3)], "real"),
    "of a precision": (lambda m, d, a, b: d.MultivariateNormal(a, None, positive(m, b)), [(2, 3), (3, 3)], "real"),
    "of low rank": (lambda m, d, a, b, c: d.LowRankMultivariateNormal(a, b, c.exp()), [(2, 3), (3, 2), (3,)], "real"),
    "gamma": (lambda m, d, a, b: d.Gamma(a.exp(), b.exp()), [(2, 3), (3,)], "gammas"),
    "chi2": (lambda m, d, a: d.Chi2(a.exp()), [(3,)], "gammas"),
    "student": (lambda m, d, a, b: d.StudentT(a.exp(), b, 2.0), [(2, 3), (3,)], "real"),
    "fisher": (lambda m, d, a, b: d.FisherSnedecor(3 * a.exp(), 3 * b.exp()), [(2, 3), (3,)], "positive"),
    "beta": (lambda m, d, a, b: d.Beta(a.exp(), b.exp()), [(2, 3), (3,)], "unit"),
    "beta of numbers": (lambda m, d: d.Beta(0.5, 2.0), [], "unit"),
    "dirichlet": (lambda m, d, a: d.Dirichlet(a.exp()), [(2, 3)], "shares"),
    "inverse gamma": (lambda m, d, a, b: d.InverseGamma(a.exp(), b.exp()), [(2, 3), (3,)], "gammas"),
    "poisson": (lambda m, d, a: d.Poisson(a.exp()), [(2, 3)], "counts"),
    "binomial": (lambda m, d, a: d.Binomial(5, a.sigmoid()), [(2, 3)], "counts"),
    "binomial of logits": (lambda m, d, a: d.Binomial(m.tensor([2, 4, 6]), logits=a), [(3,)], "counts"),
    "negative binomial": (lambda m, d, a, b: d.NegativeBinomial(b.exp(), a.sigmoid()), [(2, 3), (3,)], "counts"),
    "multinomial": (lambda m, d, a: d.Multinomial(6, a.exp()), [(2, 3)], "counts"),
    "logistic normal": (lambda m, d, a, b: d.LogisticNormal(a, b.exp()), [(2, 2), (2,)], "shares"),
    "mixture": (lambda m, d, a, b: d.MixtureSameFamily(d.Categorical(a.exp()), d.Normal(b, 1.0)), [(3,), (3,)], "real"),
    "mixture of vectors": (lambda m, d, a, b: d.MixtureSameFamily(
        d.Categorical(logits=a), d.Independent(d.Normal(b, 0.5), 1)
    ), [(2, 2), (2, 2, 3)], "real"),
    "wishart": (lambda m, d, a, b: d.Wishart(a.exp() + 3, positive(m, b)), [(2,), (3, 3)], "positive matrices"),
    "lkj": (lambda m, d, a: d.LKJCholesky(3, a.exp()), [(2,)], "factors"),
    "von mises": (lambda m, d, a, b: d.VonMises(a, b.exp()), [(2, 3), (3,)], "real"),
    "relaxed": (lambda m, d, a: d.RelaxedBernoulli(m.tensor(0.7).double(), logits=a), [(3,)], "unit"),
    "relaxed categories": (
        lambda m, d, a: d.RelaxedOneHotCategorical(m.tensor(0.7).double(), a.exp()), [(2, 3)], "shares"
    ),
    "continuous bernoulli": (lambda m, d, a: d.ContinuousBernoulli(a.sigmoid()), [(2, 3)], "unit"),
    "nearly even": (lambda m, d, a: d.ContinuousBernoulli(0.5 + a / 2000), [(2, 3)], "unit"),
    "inverse": (lambda m, d: d.TransformedDistribution(
        d.Uniform(0.0, 1.0), [d.SigmoidTransform().inv, d.AffineTransform(1.0, 2.0)]
    ), [], "real"),
}


def values(m, kind):
    """Possible samples: two of each."""
    random = np.random.default_rng(3)
    numbers = random.uniform(0.05, 0.95, (2, 2, 3))
    if kind == "classes":
        return m.from_numpy(random.integers(0, 3, (2, 1)))
    if kind == "vectors":
        return m.from_numpy(np.eye(3)[random.integers(0, 3, (2, 2))])
    if kind == "shares":
        return m.from_numpy(numbers / numbers.sum(-1, keepdims=True))
    if kind == "counts":
        return m.from_numpy(np.floor(3 * numbers))
    if kind == "positive matrices":
        return positive(m, m.from_numpy(random.normal(size=(2, 2, 3, 3))))
    if kind == "factors":
        return m.distributions.CorrCholeskyTransform()(m.from_numpy(numbers))
    made = {"unit": numbers, "bits": (numbers > 0.5) * 1.0, "real": 4 * numbers - 2}
    return m.from_numpy(made.get(kind, 3 * numbers))


def results(*functions):
    """Return the results of the functions, with None for those that are not implemented."""
    result = []
    for function in functions:
        try:
            result.append(function())
        except NotImplementedError:
            result.append(None)
    return result


def facts(m, x, kind):
    """Return the moments, probabilities and samples of a distribution; None for those that it lacks."""
    value = values(m, kind)

    def cdf():
        with m.set_grad_enabled(kind != "gammas"):  # whose derivatives by the shape PyTorch lacks
            return x.cdf(value)

    return results(
        lambda: x.mean, lambda: x.mode, lambda: x.variance, lambda: x.stddev, x.entropy, x.perplexity,
        lambda: x.log_prob(value), cdf, lambda: x.icdf(m.linspace(0.1, 0.9, 3).double()),
        x.enumerate_support, lambda: x.enumerate_support(expand=False),
    )


def same_presence(program, *arrays, tolerance=1e-12):
    """Run ``assert_alike`` on the results that both have, which must be the same ones."""
    import torch

    def present(m):
        return [x is not None for x in program(m, *[m.from_numpy(array) for array in arrays])]

    assert present(numgrad) == present(torch)
    compare(lambda m, *tensors: [x for x in program(m, *tensors) if x is not None], *arrays, tolerance=tolerance)


@pytest.mark.parametrize("name", MADE)
def test_moments_and_probabilities(name):
    make, shapes, kind = MADE[name]
    tolerance = 1e-6 if name in ROUGH else 1e-12
    same_presence(lambda m, *t: facts(m, make(m, m.distributions, *t), kind), *randoms(*shapes), tolerance=tolerance)


# PyTorch draws good Wishart matrices again, and its LKJ matrices of size 3 have another distribution.
@pytest.mark.parametrize("name", [name for name in MADE if name not in ("wishart", "lkj")])
def test_samples(name):
    make, shapes, _ = MADE[name]

    def program(m, *tensors):
        found = make(m, m.distributions, *[x.detach() if name in OF_GAMMAS else x for x in tensors])
        m.manual_seed(4)
        samples = [found.sample(), found.sample_n(2), *[found.sample(shape) for shape in ((2,), m.Size([4, 5]), [3])]]
        if found.has_rsample:
            samples += [found.rsample(), found.rsample((2, 3))]
        return [*samples, m.rand(1).double()]

    compare(program, *randoms(*shapes), tolerance=1e-11)
    assert_same(program, *randoms(*shapes, dtype="float32"), graph=False)


@pytest.mark.filterwarnings("ignore:Singular sample:UserWarning")  # which PyTorch finds in good samples
@pytest.mark.parametrize("name", MADE)
def test_shapes_texts_and_larger_batches(name):
    import torch

    make, shapes, kind = MADE[name]
    seen = []
    for m in (torch, numgrad):
        found = make(m, m.distributions, *[m.from_numpy(x) for x in randoms(*shapes)])
        larger = found.expand((4, *found.batch_shape))
        texts = str(found), str(larger)
        assert found.support.check(found.sample((2,))).all()
        seen.append([[
            text, str(x.batch_shape), str(x.event_shape), x.has_rsample, x.has_enumerate_support, x.support.is_discrete,
            x.support.event_dim, str(x.support).split("(")[0],
        ] for x, text in zip((found, larger), texts, strict=True)])
        assert larger.sample().shape == (4, *found.sample().shape)
    if "mixture" not in name:  # PyTorch's texts show what it has computed
        assert seen[0] == seen[1]
    if name == "multinomial":  # PyTorch's has no entropy after expand
        return

    def program(m, *tensors):
        found = make(m, m.distributions, *tensors)
        return facts(m, found.expand((2, *found.batch_shape) if found.batch_shape else (2, 2, 3)), kind)

    same_presence(program, *randoms(*shapes), tolerance=1e-6 if name in ROUGH else 1e-12)


@pytest.mark.parametrize("name", [
    "Normal", "Laplace", "Exponential", "Uniform", "LogNormal", "Bernoulli", "Categorical", "OneHotCategorical",
    "Cauchy", "HalfNormal", "HalfCauchy", "Gumbel", "Pareto", "Weibull", "Kumaraswamy", "Geometric",
    "MultivariateNormal", "LowRankMultivariateNormal", "Gamma", "Chi2", "Beta", "Dirichlet", "StudentT", "Poisson",
    "FisherSnedecor", "InverseGamma", "GeneralizedPareto", "Binomial", "NegativeBinomial", "Multinomial", "Wishart",
    "LogisticNormal", "MixtureSameFamily", "LKJCholesky", "RelaxedBernoulli", "RelaxedOneHotCategorical",
    "ContinuousBernoulli", "VonMises", "CatTransform", "ReshapeTransform", "StackTransform", "CorrCholeskyTransform",
    "Independent", "TransformedDistribution", "Distribution", "Transform", "AffineTransform", "PowerTransform",
    "ComposeTransform", "IndependentTransform",
])  # fmt: skip
def test_signatures(name):
    import torch

    ours, theirs = [inspect.signature(getattr(m.distributions, name)) for m in (numgrad, torch)]
    assert [(p.name, str(p.default)) for p in ours.parameters.values()] == [
        (p.name, str(p.default)) for p in theirs.parameters.values()
    ]


def test_gradients_through_samples():
    def program(m, a, b):
        d = m.distributions
        m.manual_seed(1)
        prior, found = d.Normal(m.zeros_like(a), 1.0), d.Normal(a, b.exp())
        sample = found.rsample((5,))
        policy = d.Categorical(logits=a)
        action = policy.sample()
        return [d.kl_divergence(found, prior).sum() - found.log_prob(sample).mean(), -policy.log_prob(action).sum(),
                d.Independent(d.Laplace(a, b.exp()), 1).rsample().sum(), d.Uniform(a, a + b.exp()).rsample().sum()]

    assert_alike(program, *randoms((2, 3), (2, 3)))


def test_derivatives_of_gamma_and_dirichlet_numbers():
    """PyTorch's are approximations."""
    def program(m):
        shapes, numbers = m.tensor([0.5, 2.0, 30.0]).double(), m.tensor([0.3, 1.5, 25.0]).double()
        shares = numbers / numbers.sum()
        return [m._standard_gamma_grad(shapes, numbers), m._dirichlet_grad(shares, shapes, m.full((3,), 32.5).double())]

    assert_same(program, graph=False, tolerance=1e-3)


# -- divergences --------------------------------------------------------------------------------------------------


FAMILIES = {
    "beta": lambda d, a, b: d.Beta(a.exp(), b.exp()), "gamma": lambda d, a, b: d.Gamma(a.exp(), b.exp()),
    "gumbel": lambda d, a, b: d.Gumbel(a, b.exp()), "poisson": lambda d, a, b: d.Poisson(a.exp()),
    "binomial": lambda d, a, b: d.Binomial(3, logits=a), "pareto": lambda d, a, b: d.Pareto(a.exp(), 2.5 + b),
    "continuous": lambda d, a, b: d.ContinuousBernoulli(logits=a), "dirichlet": lambda d, a, b: d.Dirichlet(a.exp()),
    "within": lambda d, a, b: d.Uniform(0.3 + 0.1 * a, 0.6 + 0.1 * b.exp()),
    "normal": lambda d, a, b: d.Normal(a, b.exp()), "laplace": lambda d, a, b: d.Laplace(a, b.exp()),
    "exponential": lambda d, a, b: d.Exponential(a.exp()), "uniform": lambda d, a, b: d.Uniform(a, a + b.exp()),
    "bernoulli": lambda d, a, b: d.Bernoulli(logits=a), "categorical": lambda d, a, b: d.Categorical(logits=a),
    "one hot": lambda d, a, b: d.OneHotCategorical(a.exp()), "log_normal": lambda d, a, b: d.LogNormal(a, b.exp()),
    "independent": lambda d, a, b: d.Independent(d.Normal(a, b.exp()), 1),
    "of two dimensions": lambda d, a, b: d.Independent(d.Normal(a, b.exp()), 2),
    "transformed": lambda d, a, b: d.TransformedDistribution(d.Normal(a, b.exp()), d.TanhTransform()),
    "transformed otherwise": lambda d, a, b: d.TransformedDistribution(d.Normal(a, b.exp()), d.SigmoidTransform()),
}


@pytest.mark.parametrize("p", FAMILIES)
def test_divergences(p):
    for make in FAMILIES.values():

        def program(m, a, b, c, e, make=make):
            d = m.distributions
            return d.kl_divergence(FAMILIES[p](d, a, b), make(d, c, e))

        assert_same(program, *randoms((2, 3), (2, 3), (2, 3), (2, 3)), graph=False, tolerance=1e-8)


def test_divergences_of_multivariate_normals():
    def program(m, a, b, c):
        d = m.distributions
        found = [
            d.MultivariateNormal(a, scale_tril=factor(m, b)), d.LowRankMultivariateNormal(a + 1, c, b[0].exp()),
            d.MultivariateNormal(a[0], positive(m, b)), d.LowRankMultivariateNormal(a[1], c[:, :1], b[1].exp()),
        ]
        return [d.kl_divergence(p, q) for p in found for q in found if p is not q]

    assert_alike(program, *randoms((2, 3), (3, 3), (3, 2)))


@pytest.mark.parametrize("make", [
    lambda d, a, b: d.Cauchy(a, b.exp()), lambda d, a, b: d.Geometric(a.sigmoid()),
    lambda d, a, b: d.Gumbel(a, b.exp()), lambda d, a, b: d.HalfNormal(a.exp()),
    lambda d, a, b: d.Pareto(a.exp(), b.exp()),
])
def test_divergences_of_one_class(make):
    assert_alike(lambda m, a, b, c, e: m.distributions.kl_divergence(make(m.distributions, a, b),
                                                                     make(m.distributions, c, e)),
                 *randoms((2, 3), (2, 3), (2, 3), (2, 3)))


def test_divergences_at_the_edges():
    def program(m):
        d = m.distributions
        sure, other = m.tensor([0.0, 1.0, 0.5, 0.0]).double(), m.tensor([0.5, 0.0, 1.0, 0.0]).double()
        low, high = m.tensor([0.0, 1.0, -1.0]).double(), m.tensor([2.0, 3.0, 2.5]).double()
        rows = m.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]).double()
        return [
            d.kl_divergence(d.Bernoulli(sure), d.Bernoulli(other)),
            d.kl_divergence(d.Uniform(low, high), d.Uniform(0.0, 2.5)),
            d.kl_divergence(d.Uniform(low, high), d.Exponential(low.exp())),
            d.kl_divergence(d.Categorical(rows), d.Categorical(rows.flip(0))),
            d.Categorical(rows).entropy(), d.Categorical(logits=rows.log()).entropy(),
        ]

    assert_alike(program)


def test_exponential_families():
    """Values derived from the normalizer agree with the formulas, in PyTorch, too."""
    def program(m, a, b):
        d, family = m.distributions, m.distributions.ExponentialFamily
        made = [d.Normal(a, b.exp()), d.Bernoulli(logits=a), d.Exponential(a.exp())]
        return [x for one in made for x in (family.entropy(one), one.entropy())]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(lambda m, *t: [x.detach() for x in program(m, *t)], *randoms((2, 3), (2, 3)), tolerance=1e-12)


def test_the_nearest_formula_is_found():
    import torch

    for m in (torch, numgrad):
        d = m.distributions

        class Left(d.Normal):
            pass

        class Right(d.Normal):
            pass

        normal = d.Normal(0.0, 1.0)
        assert d.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == 0
        d.register_kl(Left, d.Normal)(lambda p, q: "left")
        assert d.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == "left"
        assert d.kl_divergence(normal, Right(0.0, 1.0)) == 0
        d.register_kl(d.Normal, Right)(lambda p, q: "right")
        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Left, Right\). Please register_kl\(Left, "):
            assert d.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == "left"


# -- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [
    lambda m, d: d.Normal(0.0, -1.0), lambda m, d: d.Normal(m.tensor([0.0, m.nan]), 1.0), lambda m, d: d.Normal("a", 1),
    lambda m, d: d.Normal(m.zeros(2), m.ones(3)), lambda m, d: d.Uniform(1.0, 0.0), lambda m, d: d.Bernoulli(),
    lambda m, d: d.Bernoulli(m.ones(2), m.ones(2)), lambda m, d: d.Bernoulli(m.tensor([0.5, 1.5])),
    lambda m, d: d.Categorical(), lambda m, d: d.Categorical(m.tensor(1.0)), lambda m, d: d.Exponential(0.0),
    lambda m, d: d.Categorical(m.tensor([0.5, -0.5, 1.0])), lambda m, d: d.Categorical(logits=m.tensor([m.nan, 0.0])),
    lambda m, d: d.Categorical(m.ones(3)).sample((0,)), lambda m, d: d.Categorical(m.ones(3)).log_prob(m.tensor(3)),
    lambda m, d: d.Normal(m.zeros(3), 1.0).log_prob(m.ones(2)), lambda m, d: d.Normal(0.0, 1.0).log_prob(1.0),
    lambda m, d: d.Normal(0.0, 1.0).log_prob(m.tensor(m.nan)), lambda m, d: d.Bernoulli(0.5).log_prob(m.tensor(0.5)),
    lambda m, d: d.OneHotCategorical(m.ones(3)).log_prob(m.ones(2)),
    lambda m, d: d.Uniform(0.0, 1.0).cdf(m.tensor(2.0)), lambda m, d: d.Normal(0.0, 1.0).log_prob(m.ones(2) * m.nan),
    lambda m, d: d.OneHotCategorical(m.ones(3)).log_prob(m.ones(3)), lambda m, d: d.Categorical(m.ones(3)).rsample(),
    lambda m, d: d.Independent(d.Normal(0.0, 1.0), 1), lambda m, d: d.Normal(0.0, 1.0).enumerate_support(),
    lambda m, d: d.Independent(d.Bernoulli(m.ones(2)), 1).enumerate_support(),
    lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3), lambda m, d: d.ExpTransform(cache_size=2),
    lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]), lambda m, d: d.Bernoulli(0.5).cdf(m.tensor(0.0)),
    lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.SoftmaxTransform()),
    lambda m, d: d.kl_divergence(d.Categorical(m.ones(3)), d.Normal(0.0, 1.0)),
    lambda m, d: d.kl_divergence(d.Bernoulli(0.5), d.Normal(0.0, 1.0)), lambda m, d: d.biject_to(d.constraints.boolean),
    lambda m, d: d.constraints.independent(3, 1), lambda m, d: d.constraints.dependent.check(m.ones(2)),
    lambda m, d: d.constraints.dependent.event_dim, lambda m, d: d.Independent.support.is_discrete,
    lambda m, d: type("Own", (d.Normal,), {"__init__": lambda self: d.Normal.__init__(self, 0, 1)})().expand((2,)),
    lambda m, d: d.MultivariateNormal(m.zeros(2)), lambda m, d: d.MultivariateNormal(m.tensor(0.0), m.eye(1)),
    lambda m, d: d.MultivariateNormal(m.zeros(2), m.eye(2), m.eye(2)),
    lambda m, d: d.MultivariateNormal(m.zeros(2), -m.eye(2)),
    lambda m, d: d.MultivariateNormal(m.zeros(2), scale_tril=m.ones(2, 2)), lambda m, d: d.Gamma(0.0, 1.0),
    lambda m, d: d.MultivariateNormal(m.zeros(2), m.ones(2)), lambda m, d: d.Wishart(0.5, m.eye(2)),
    lambda m, d: d.Wishart(3.0), lambda m, d: d.LKJCholesky(1), lambda m, d: d.Dirichlet(m.tensor(1.0)),
    lambda m, d: d.Dirichlet(m.ones(2)).log_prob(m.ones(2)), lambda m, d: d.Beta(1.0, -1.0), lambda m, d: d.Binomial(3),
    lambda m, d: d.Multinomial(m.ones(2), m.ones(2)), lambda m, d: d.Poisson(-1.0), lambda m, d: d.Poisson(m.nan),
    lambda m, d: d.Poisson(1.0).log_prob(m.tensor(0.5)), lambda m, d: d.NegativeBinomial(2, 1.0),
    lambda m, d: d.Binomial(m.tensor([1.0, 2.0]), m.tensor([0.5, 0.5])).enumerate_support(),
    lambda m, d: d.Multinomial(2, m.ones(2)).log_prob(m.tensor([2.0, 1.0])), lambda m, d: d.StudentT(0.0),
    lambda m, d: d.MixtureSameFamily(d.Normal(m.zeros(2), 1.0), d.Normal(m.zeros(2), 1.0)),
    lambda m, d: d.MixtureSameFamily(d.Categorical(m.ones(3)), d.Normal(m.zeros(2), 1.0)),
    lambda m, d: d.MixtureSameFamily(d.Categorical(m.ones(2, 3)), d.Normal(m.zeros(3, 3), 1.0)),
    lambda m, d: d.LowRankMultivariateNormal(m.zeros(2), m.ones(3, 1), m.ones(2)),
    lambda m, d: d.Poisson(1.0).entropy(), lambda m, d: d.ReshapeTransform((2,), (3,)),
    lambda m, d: d.CorrCholeskyTransform().forward_shape((4,)),
    lambda m, d: d.StackTransform([d.ExpTransform()], 1)(m.ones(2)),
    lambda m, d: d.CatTransform([d.ExpTransform()])(m.ones(2)),
    lambda m, d: d.kl_divergence(d.Binomial(2, 0.5), d.Binomial(3, 0.5)), lambda m, d: m.poisson(m.tensor([-1.0])),
    lambda m, d: m.poisson(m.tensor([1])), lambda m, d: m.binomial(m.tensor([1]), m.tensor([0.5])),
    lambda m, d: m.empty(2).cauchy_(0.0, -1.0), lambda m, d: m.empty(2).log_normal_(0.0, 0.0),
    lambda m, d: m.empty(2).geometric_(1.5), lambda m, d: m.empty(2).bool().geometric_(0.5),
    lambda m, d: m.ones(2).int().log_normal_(), lambda m, d: d.utils.vec_to_tril_matrix(m.ones(5)),
    lambda m, d: d.utils.tril_matrix_to_vec(m.ones(2, 2), 3), lambda m, d: d.biject_to(d.constraints.lower_cholesky),
    lambda m, d: d.Normal(0, 1).sample("a"), lambda m, d: d.transform_to.register(3, 4),
])  # fmt: skip
def test_refusals(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = messages(lambda m: program(m, m.distributions))
    assert type(ours) is type(theirs)
    assert str(ours)[:25] == str(theirs)[:25]


def test_messages_word_for_word():
    for program in (
        lambda m, d: d.Normal(m.tensor([0.0, 1.0]), m.tensor([1.0, -1.0])), lambda m, d: d.Uniform(1.0, 0.5),
        lambda m, d: d.Categorical(m.ones(2, 3)).log_prob(m.tensor([1, 5])),
        lambda m, d: d.Normal(m.zeros(3), 1.0).log_prob(m.ones(2)),
    ):
        theirs, ours = messages(lambda m, program=program: program(m, m.distributions))
        assert str(ours) == str(theirs)


def test_arguments_are_checked_if_that_is_said():
    import torch

    for m in (torch, numgrad):
        d = m.distributions
        assert d.Normal(0.0, -1.0, validate_args=False).scale == -1
        assert d.Bernoulli(2.0, validate_args=False).expand((3,)).log_prob(m.tensor(0.5)).shape == (3,)
        try:
            d.Distribution.set_default_validate_args(False)
            d.Exponential(-1.0)
            with pytest.raises(ValueError, match="Expected parameter rate"):
                d.Exponential(-1.0, validate_args=True)
        finally:
            d.Distribution.set_default_validate_args(True)
        with pytest.raises(ValueError):  # noqa: PT011 - PyTorch's has no message
            d.Distribution.set_default_validate_args("no")


def test_a_distribution_of_ones_own():
    def program(m, a):
        d = m.distributions

        class Own(d.Distribution):
            def rsample(self, sample_shape=()):
                return m.ones(self._extended_shape(sample_shape)).double() * a.sum()

            def log_prob(self, value):
                self._validate_sample(value)
                return value * a.sum()

        with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
            own = Own((2,), (3,))
        with pytest.warns(UserWarning, match="does not define `support`"):
            return [own.sample((4,)), own.rsample(), own.log_prob(m.ones(2, 3).double())]

    assert_alike(program, *randoms((2,)))


def test_helpers():
    def program(m, a):
        u = m.distributions.utils
        p = m.tensor([0.0, 0.3, 1.0]).double()
        return [*u.broadcast_all(a, 1.0, m.ones(2, 1).double()), *u.broadcast_all(1, 2.5), u.clamp_probs(p),
                u.probs_to_logits(p), u.probs_to_logits(p, True), u.logits_to_probs(a), u.logits_to_probs(a, True)]

    assert_alike(program, *randoms((3,)))

    def triangles(m, a, b):
        u = m.distributions.utils
        found = [u.vec_to_tril_matrix(a, diag) for diag in (-1, 0)] + [u.vec_to_tril_matrix(a[..., :3], -2)[..., 3:, :]]
        return [*found, u.tril_matrix_to_vec(b), u.tril_matrix_to_vec(b, -1), u.tril_matrix_to_vec(b, 1)]

    assert_alike(triangles, *randoms((2, 6), (2, 3, 3)))
