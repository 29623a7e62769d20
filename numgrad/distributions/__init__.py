"""Probability distributions, under the names of PyTorch's ``torch.distributions``."""

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from . import constraints
from . import transforms as _transforms
from .bernoulli import Bernoulli
from .categorical import Categorical
from .cauchy import Cauchy
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .geometric import Geometric
from .gumbel import Gumbel
from .half_cauchy import HalfCauchy
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .kumaraswamy import Kumaraswamy
from .laplace import Laplace
from .log_normal import LogNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from .pareto import Pareto
from .transformed_distribution import TransformedDistribution
from .transforms import *  # noqa: F403 - as listed in its __all__
from .uniform import Uniform
from .weibull import Weibull

__all__ = [
    "Bernoulli", "Categorical", "Cauchy", "Distribution", "Exponential", "ExponentialFamily", "Geometric", "Gumbel",
    "HalfCauchy", "HalfNormal", "Independent", "Kumaraswamy", "Laplace", "LogNormal", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "TransformedDistribution", "Uniform", "Weibull", "biject_to",
    "constraints", "kl_divergence", "register_kl", "transform_to",
]
__all__ += _transforms.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "distributions")
