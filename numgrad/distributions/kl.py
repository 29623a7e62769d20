"""The Kullback-Leibler divergence, which measures how much two distributions differ."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..ops.pointwise.gamma import digamma, lgamma
from ..ops.pointwise.smooth_activation import softplus
from ..ops.pointwise.special import xlogy
from ..tensors.tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant, sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_Formula = Callable[[Any, Any], Tensor]

_formulas: dict[tuple[type, type], _Formula] = {}

#: The resolved formulas for the classes of two distributions.
_formula_of: dict[tuple[type, type], _Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_Formula], _Formula]:
    """Return a decorator that registers a formula for distributions of two classes, or of their subclasses.

    Raises:
        TypeError: an argument is not a class.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # libraries register abstract bases of their own
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(formula: _Formula) -> _Formula:
        _formulas[type_p, type_q] = formula
        _formula_of.clear()
        return formula

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the mean of ``log p(x) - log q(x)`` over samples ``x`` of ``p``, in nats, of the shape of the batch.

    The formula is the one registered for the nearest base classes of ``p`` and ``q``.  If different formulas are
    nearest for ``p`` and for ``q``, the one nearest for ``p`` is used, with a RuntimeWarning.

    Raises:
        NotImplementedError: there is no formula for these classes.

    Example:
        >>> import numgrad
        >>> from numgrad.distributions import Normal
        >>> numgrad.distributions.kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    kinds = type(p), type(q)
    if kinds not in _formula_of:
        _formula_of[kinds] = _nearest(*kinds)
    return _formula_of[kinds](p, q)


def _nearest(type_p: type, type_q: type) -> _Formula:
    near_p, near_q = type_p.__mro__.index, type_q.__mro__.index
    fitting = [pair for pair in _formulas if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not fitting:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type_p.__name__} and q type {type_q.__name__}"
        )
    by_p = min(fitting, key=lambda pair: (near_p(pair[0]), near_q(pair[1])))
    by_q = min(fitting, key=lambda pair: (near_q(pair[1]), near_p(pair[0])))
    if _formulas[by_p] is not _formulas[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, "
            f"{by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _formulas[by_p]


# -- equal classes; ``kl_of_pairs`` has the others -----------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    ones = ones.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    return ones + zeros.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    p, q = (getattr(each, "_dirichlet", each) for each in (p, q))
    mean_logarithms = digamma(p.concentration) - digamma(p.concentration.sum(-1, keepdim=True))
    normalizers = q._log_normalizer(q.concentration) - p._log_normalizer(p.concentration)
    return normalizers + ((p.concentration - q.concentration) * mean_logarithms).sum(-1)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


register_kl(OneHotCategorical, OneHotCategorical)(_categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale).square() + (p.loc - q.loc).square()).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    normalizers = softplus(q.logits) - softplus(p.logits) + p._log_norm() - q._log_norm()
    return normalizers + p.mean * (p.logits - q.logits)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    rates = q.concentration * (p.rate / q.rate).log() + (q.rate - p.rate) * p.mean
    shapes = (p.concentration - q.concentration) * digamma(p.concentration)
    return rates + shapes + lgamma(q.concentration) - lgamma(p.concentration)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, distance = p.scale / q.scale, (q.loc - p.loc) / q.scale
    mean = (distance + lgamma(1 + ratio)).exp() - distance
    return mean - ratio.log() + (ratio - 1) * euler_constant - 1


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed: "
            f"{p.event_shape} and {q.event_shape}"
        )
    low_rank = isinstance(p, LowRankMultivariateNormal)
    trace = q._trace(p._factor if low_rank else p._unbroadcasted_scale_tril)
    if low_rank:
        trace = trace + (q._precisions() * p._diagonal).sum(-1)
    logarithms = q._log_determinant() - p._log_determinant()
    return 0.5 * (logarithms + trace + q._squares(q.loc - p.loc) - p.event_shape[0])


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return divergence.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            f"divergences: {type(p).__name__} and {type(q).__name__}"
        )
    return p._divergence_from(q)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"KL(p || q) of {p} and {q}: reinterpreted_batch_ndims must be equal, but are "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return xlogy(p.rate, p.rate) - xlogy(p.rate, q.rate) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            f"KL(p || q) of distributions with other transforms or shapes of events: {p.transforms} of "
            f"{p.event_shape} and {q.transforms} of {q.event_shape}"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)
