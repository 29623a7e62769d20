"""Probability distributions, under the names of PyTorch's ``torch.distributions``."""

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from . import constraints
from . import transforms as _transforms
from .bernoulli import Bernoulli
from .categorical import Categorical
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .log_normal import LogNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from .transformed_distribution import TransformedDistribution
from .transforms import *  # noqa: F403 - as listed in its __all__
from .uniform import Uniform

__all__ = [
    "Bernoulli", "Categorical", "Distribution", "Exponential", "ExponentialFamily", "Independent", "Laplace",
    "LogNormal", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "TransformedDistribution",
    "Uniform", "biject_to", "constraints", "kl_divergence", "register_kl", "transform_to",
]
__all__ += _transforms.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "distributions")
