"""The Kullback-Leibler divergence of distributions of different classes.

It is minus the entropy of ``p``, minus the mean of ``log q(x)``, which for most ``q`` needs only some means of ``p``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from ..ops.creation.factories import full_like
from ..ops.pointwise.gamma import digamma, lgamma
from ..ops.pointwise.smooth_activation import softplus
from ..ops.pointwise.special import erf, xlogy
from ..tensors.tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

# -- samples that are impossible under the other distribution ------------------------------------------------------

_REAL, _POSITIVE, _UNIT = (Gumbel, Laplace, Normal), (Exponential, Gamma), (Beta, ContinuousBernoulli)
_IMPOSSIBLE: list[tuple[type, type]] = [
    *product(_REAL, (*_POSITIVE, *_UNIT, Pareto, Uniform)), *product(_POSITIVE, (*_UNIT, Pareto, Uniform)),
    *product(_UNIT, (Pareto,)), *product((Pareto,), (*_UNIT, Uniform)), *product((Poisson,), (Bernoulli, Binomial)),
]


def _infinite(p: Any, q: Any) -> Tensor:
    """Return infinity, because some samples of ``p`` are impossible under ``q``."""
    return full_like(p.mean, math.inf)


for _pair in _IMPOSSIBLE:
    register_kl(*_pair)(_infinite)


def _where_within(p: Any, q: Any, divergence: Tensor) -> Tensor:
    """Return the divergence, or infinity where samples of ``p`` may lie outside of the interval of ``q``."""
    ends: list[tuple[Any, Any]] = [(x.low, x.high) if isinstance(x, Uniform) else (0, 1) for x in (p, q)]
    (low, high), (first, last) = ends
    return divergence.masked_fill((low < first) | (high > last), math.inf)


# -- means --------------------------------------------------------------------------------------------------------


def _moments(p: Any) -> tuple[Tensor, Tensor]:
    """Return mean and variance, which for a Pareto distribution are those of large ``alpha``."""
    if not isinstance(p, Pareto):
        return p.mean, p.variance
    mean = p.alpha * p.scale / (p.alpha - 1)
    return mean, mean * p.scale / ((p.alpha - 1) * (p.alpha - 2))


def _where_finite(p: Any, order: int, divergence: Tensor) -> Tensor:
    """Return the divergence, or infinity where a Pareto distribution has no moment of this order."""
    return divergence.masked_fill(p.alpha <= order, math.inf) if isinstance(p, Pareto) else divergence


def _mean_of_log_from(low: Tensor, high: Tensor) -> Tensor:
    """Return the mean of ``log(x)`` for uniform ``x``."""
    return (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1


_MEAN_OF_LOG: dict[type, Callable[[Any], Tensor]] = {
    Beta: lambda p: digamma(p.concentration1) - digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -p.rate.log() - euler_constant,
    Gamma: lambda p: digamma(p.concentration) - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_of_log_from(p.low, p.high),
}


def _mean_of_log(p: Any) -> Tensor:
    return next(mean for kind, mean in _MEAN_OF_LOG.items() if isinstance(p, kind))(p)


def _mean_of_exp(p: Any, loc: Tensor, scale: Tensor) -> Tensor:
    """Return the mean of ``exp(-(x - loc) / scale)``."""
    if isinstance(p, Normal):
        return ((loc - p.loc) / scale + (p.scale / scale).square() / 2).exp()
    if isinstance(p, Uniform):
        return (((loc - p.low) / scale).exp() - ((loc - p.high) / scale).exp()) * scale / (p.high - p.low)
    power = -p.concentration if isinstance(p, Gamma) else -1
    return (loc / scale).exp() * (1 + 1 / (p.rate * scale)) ** power


# -- by the other distribution ------------------------------------------------------------------------------------


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Pareto, Normal)
@register_kl(Uniform, Normal)
def _any_normal(p: Any, q: Normal) -> Tensor:
    mean, variance = _moments(p)
    square = variance + (mean - q.loc).square()
    mean_log = q.scale.log() + 0.5 * math.log(2 * math.pi) + 0.5 * square / q.scale.square()
    return _where_finite(p, 2, -p.entropy() + mean_log)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    """Return the divergence, using that ``|x - q.loc|`` has a folded normal distribution."""
    distance = p.loc - q.loc
    z = distance / p.scale
    folded = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.square()).exp() + distance * erf(z / math.sqrt(2))
    return -p.entropy() + (2 * q.scale).log() + folded / q.scale


@register_kl(Exponential, Gumbel)
@register_kl(Gamma, Gumbel)
@register_kl(Normal, Gumbel)
@register_kl(Uniform, Gumbel)
def _any_gumbel(p: Any, q: Gumbel) -> Tensor:
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + _mean_of_exp(p, q.loc, q.scale)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
@register_kl(Pareto, Exponential)
def _any_exponential(p: Any, q: Exponential) -> Tensor:
    return _where_finite(p, 1, -p.entropy() - q.rate.log() + q.rate * _moments(p)[0])


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return _any_exponential(p, q).masked_fill(p.low < 0, math.inf)


@register_kl(Beta, Gamma)
@register_kl(Exponential, Gamma)
@register_kl(Pareto, Gamma)
def _any_gamma(p: Any, q: Gamma) -> Tensor:
    powers = q.concentration * q.rate.log() + (q.concentration - 1) * _mean_of_log(p)
    return _where_finite(p, 1, -p.entropy() + lgamma(q.concentration) - powers + q.rate * _moments(p)[0])


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    return _any_gamma(p, q).masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    mean = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_of_log(p)
    return (-p.entropy() - mean).masked_fill(p.low < q.scale, math.inf)


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _any_uniform(p: Any, q: Uniform) -> Tensor:
    return _where_within(p, q, -p.entropy() + (q.high - q.low).log())


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    powers = (q.concentration1 - 1) * _mean_of_log(p)
    powers = powers + (q.concentration0 - 1) * _mean_of_log_from(1 - p.high, 1 - p.low)
    normalizer = q._log_normalizer(q.concentration1, q.concentration0)
    return _where_within(p, q, -p.entropy() + normalizer - powers)


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def _any_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    divergence = -p.entropy() - (p.mean * q.logits - softplus(q.logits) + q._log_norm())
    return _where_within(p, q, divergence) if isinstance(p, Uniform) else divergence


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - xlogy(p.probs, q.rate) + q.rate
