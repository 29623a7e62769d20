"""Distributions: densities integrate to 1, samples have the right moments, and gradients are right."""

import copy
import math
import pickle

import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad as torch
from numgrad import distributions as dist

A, B = torch.tensor([[0.3, -1.1, 0.7], [0.2, 0.9, -0.4]]).double(), torch.tensor([0.1, -0.3, 0.5]).double()

CONTINUOUS = {
    "normal": lambda a, b: dist.Normal(a, b.exp()), "laplace": lambda a, b: dist.Laplace(a, b.exp()),
    "exponential": lambda a, b: dist.Exponential(a.exp()), "uniform": lambda a, b: dist.Uniform(a, a + b.exp()),
    "log_normal": lambda a, b: dist.LogNormal(a, (b - 1).exp()),
    "half normal": lambda a, b: dist.HalfNormal(b.exp() + a.square()),
    "gumbel": lambda a, b: dist.Gumbel(a, b.exp()), "weibull": lambda a, b: dist.Weibull(a.exp(), 2 + b.exp()),
    "kumaraswamy": lambda a, b: dist.Kumaraswamy(1 + a.exp(), 1 + b.exp()),
    "logistic": lambda a, b: dist.TransformedDistribution(
        dist.Uniform(0.0 * a, 1.0), [dist.SigmoidTransform().inv, dist.AffineTransform(a, -b.exp())]
    ),
}
DISCRETE = {
    "bernoulli": lambda a: dist.Bernoulli(a.sigmoid()), "bernoulli of logits": lambda a: dist.Bernoulli(logits=a),
    "categorical": lambda a: dist.Categorical(a.exp()), "categorical of logits": lambda a: dist.Categorical(logits=a),
    "one hot": lambda a: dist.OneHotCategorical(logits=a),
}


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(expected), tolerance, tolerance)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities(name):
    found = CONTINUOUS[name](A, B)
    shares = torch.linspace(0.001, 0.999, 4001).double().view(-1, 1, 1)
    numbers = found.icdf(shares)
    close(found.cdf(numbers), shares.expand(4001, 2, 3), 1e-9)
    density = found.log_prob(numbers).exp()
    close(torch.trapezoid(density, numbers, dim=0), np.full((2, 3), 0.998), 2e-3)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_moments_of_samples(name):
    torch.manual_seed(0)
    found = CONTINUOUS[name](A, B)
    samples = found.rsample((40000,))
    if name != "logistic":  # which PyTorch gives no formulas for
        close(samples.mean(0), found.mean, 0.05)
        close(samples.std(0), found.stddev, 0.1)
        close(-found.log_prob(samples).mean(0), found.entropy(), 0.05)
    close((samples <= found.icdf(torch.tensor(0.3).double())).double().mean(0), np.full((2, 3), 0.3), 0.05)


@pytest.mark.parametrize("name", ["gumbel", "weibull", "kumaraswamy"])
def test_the_mode_has_the_largest_density(name):
    found = CONTINUOUS[name](A, B)
    numbers = found.icdf(torch.linspace(0.001, 0.999, 4001).double().view(-1, 1, 1))
    best = numbers.gather(0, found.log_prob(numbers).argmax(0, keepdim=True)).squeeze(0)
    close(found.mode, best.detach(), 2e-3)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name):
    torch.manual_seed(0)
    found = DISCRETE[name](A)
    support = found.enumerate_support()
    chances = found.log_prob(support).exp()
    close(chances.sum(0), np.ones(found.batch_shape))
    close(-(chances * chances.log()).sum(0), found.entropy())
    samples = found.sample((20000,))
    assert not samples.requires_grad
    for value, chance in zip(support, chances, strict=True):
        same = (samples == value).all(-1) if found.event_shape else samples == value
        close(same.double().mean(0), chance, 0.02)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_gradients_of_continuous_distributions(name):
    points = CONTINUOUS[name](A, B).icdf(torch.tensor([0.2, 0.6]).double().view(2, 1, 1))
    inputs = A.clone().requires_grad_(), B.clone().requires_grad_()
    check_gradients(lambda a, b: CONTINUOUS[name](a, b).log_prob(points), *inputs)

    def samples(a, b):
        torch.manual_seed(2)
        return CONTINUOUS[name](a, b).rsample((2,))

    check_gradients(samples, *inputs)


@pytest.mark.parametrize("name", DISCRETE)
def test_gradients_of_discrete_distributions(name):
    values = DISCRETE[name](A).sample((2,))
    check_gradients(lambda a: DISCRETE[name](a).log_prob(values), A.clone().requires_grad_())
    check_gradients(lambda a: DISCRETE[name](a).entropy(), A.clone().requires_grad_())


def test_a_certain_success_has_a_gradient():
    probs = torch.tensor([1.0, 0.5], requires_grad=True)
    dist.Geometric(probs).log_prob(torch.zeros(2)).sum().backward()
    assert probs.grad.tolist() == [1, 2]


PAIRS = [(name, name) for name in ("normal", "laplace", "exponential", "log_normal", "half normal", "gumbel")] + [
    ("exponential", "normal"), ("laplace", "normal"), ("normal", "laplace"), ("uniform", "normal"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=str)
def test_divergences_are_means_over_samples(one, other):
    torch.manual_seed(0)
    p, q = CONTINUOUS[one](A, B), CONTINUOUS[other](A + 0.2, B - 0.1)
    samples = p.sample((40000,))
    close((p.log_prob(samples) - q.log_prob(samples)).mean(0), dist.kl_divergence(p, q), 0.05)

    def divergence(a, b):
        return dist.kl_divergence(CONTINUOUS[one](a, b), CONTINUOUS[other](A + 0.2, b - 0.1))

    check_gradients(divergence, A.clone().requires_grad_(), B.clone().requires_grad_())


def test_exponential_families_give_entropies_and_divergences():
    for name in ("normal", "exponential"):
        p, q, family = CONTINUOUS[name](A, B), CONTINUOUS[name](A + 0.2, B - 0.1), dist.ExponentialFamily
        close(family.entropy(p), p.entropy())
        close(p._divergence_from(q), dist.kl_divergence(p, q))
        with torch.no_grad():
            assert not family.entropy(p).requires_grad
    check_gradients(lambda a: dist.ExponentialFamily.entropy(dist.Bernoulli(logits=a)), A.clone().requires_grad_())

    class Own(dist.ExponentialFamily):
        """The normal distribution of variance 1 by its natural parameter alone."""

        arg_constraints = {"theta": dist.constraints.real}  # noqa: RUF012
        _mean_carrier_measure = -0.5 * math.log(2 * math.pi)  # and minus half the second moment

        def __init__(self, theta):
            self.theta = theta
            super().__init__(theta.shape)

        _natural_params = property(lambda self: (self.theta,))

        def _log_normalizer(self, x):
            return x.square() / 2

    close(dist.kl_divergence(Own(A), Own(A + 0.5)), np.full((2, 3), 0.125))


def test_independent_numbers_are_one_event():
    each = dist.Normal(A, B.exp())
    whole = dist.Independent(each, 1)
    assert (whole.batch_shape, whole.event_shape) == ((2,), (3,))
    close(whole.log_prob(A), each.log_prob(A).sum(-1))
    close(whole.entropy(), each.entropy().sum(-1))
    close(dist.kl_divergence(whole, whole), np.zeros(2))
    assert repr(dist.Independent(dist.Normal(0.0, 1.0).expand((2,)), 1)).startswith("Independent(Normal(loc: torch.Siz")


def test_a_cache_keeps_arguments():
    large = torch.full((3,), 30.0).requires_grad_()
    squashed = dist.TanhTransform()(large)
    assert dist.TanhTransform().inv(squashed).isinf().all()
    cached = dist.TanhTransform(cache_size=1)
    assert cached.inv(cached(large)) is large
    policy = dist.TransformedDistribution(dist.Normal(large, 1.0), [cached])
    assert policy.log_prob(policy.rsample()).isfinite().all()


def test_cached_properties_have_gradients():
    a = A.clone().requires_grad_()
    found = dist.Categorical(logits=a)
    with torch.no_grad():
        first = found.probs
    assert found.probs is first
    first[:, 0].sum().backward()
    assert a.grad.abs().sum() > 0


def test_copies_and_pickles():
    found = dist.Independent(dist.Normal(A, B.exp()), 1)
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        close(other.log_prob(A), found.log_prob(A))


def test_random_numbers_of_transformed_functions():
    """Distributions work under ``vmap`` and ``grad`` if arguments are not checked."""
    def loss(a):
        return dist.Normal(a, 1.0, validate_args=False).log_prob(torch.zeros(3).double()).sum()

    close(torch.vmap(torch.func.grad(loss))(A), -A)


@pytest.mark.parametrize(("program", "error", "message"), [
    (lambda: dist.Normal(0.0, torch.tensor([1.0, -1.0])), ValueError, r"parameter scale \(Tensor of shape \(2,\)\) of"),
    (lambda: dist.register_kl(dist.Normal, 3), TypeError, "Expected type_q to be a Distribution subclass but got 3"),
    (lambda: dist.Distribution().mode, NotImplementedError, "Distribution'> does not implement mode"),
    (lambda: dist.Normal(0.0, 1.0).log_prob(3.0), ValueError, "must be a Tensor, not float"),
    (lambda: dist.Distribution.set_default_validate_args(3), ValueError, "expects True or False, got 3"),
    (lambda: dist.IndependentTransform(dist.ExpTransform(), 2)(B), ValueError, r"Too few dimensions .*\[3\]"),
    (lambda: dist.kl_divergence(dist.Independent(dist.Normal(A, 1.0), 1), dist.Independent(dist.Normal(A, 1.0), 2)),
     NotImplementedError, "must be equal, but are 1 and 2"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*does not define `arg_constraints`")
def test_errors(program, error, message):
    with pytest.raises(error, match=message):
        program()


@pytest.mark.parametrize("family", [dist.Normal, dist.Laplace])
def test_the_lower_tail_keeps_its_digits(family):
    distribution = family(0.0, 1.0)
    chances = torch.tensor([1e-30, 1e-8, 0.3, 0.8])
    places = distribution.icdf(chances)
    assert distribution.cdf(places).tolist() == pytest.approx(chances.tolist(), rel=3e-5)


def test_distributions_and_transforms_call_the_constructor_of_the_class_that_follows():
    class LearntTransform(dist.Transform, torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

    class LearntDistribution(dist.Distribution, torch.nn.Module):
        arg_constraints = {}  # noqa: RUF012

        def __init__(self):
            super().__init__()
            self.transform = LearntTransform()

    assert [name for name, _ in LearntDistribution().named_parameters()] == ["transform.weight"]
