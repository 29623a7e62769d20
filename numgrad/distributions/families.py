"""Shared parts of distributions with the same kinds of parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.factories import zeros_like
from ..ops.pointwise.comparison import where
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Centred", "Half", "LocationScale", "ProbsOrLogits", "Relaxed"]


class Centred(Distribution):
    """A distribution whose mean and mode are its parameter ``loc``."""

    loc: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


class LocationScale(Centred):
    """A symmetric distribution of real numbers with the mean ``loc`` and a width that is proportional to ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012 - as PyTorch has it
    support: Any = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)


class Half(TransformedDistribution):
    """The distribution of the absolute value of a number whose distribution is symmetric around 0."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012 - as PyTorch has it
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any

    def __init__(self, base: LocationScale, validate_args: bool | None):
        super().__init__(base, AbsTransform(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(type(self), batch_shape, _instance)

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class Relaxed(TransformedDistribution):
    """A distribution that tends to one of integers for low temperatures, whose parameters are those of its base."""

    has_rsample = True
    base_dist: Any

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities at temperature 0."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The logits at temperature 0."""
        return self.base_dist.logits


class ProbsOrLogits(Distribution):
    """A distribution of integers with the parameter ``probs`` or ``logits``; the other one is computed when needed."""

    _is_binary = False
    has_enumerate_support = True

    @staticmethod
    def _check_alternatives(probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")

    def _set_parameter(self, probs: Any, logits: Any) -> None:
        """Set the parameter of a distribution of numbers to a tensor."""
        self._check_alternatives(probs, logits)
        if logits is None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)

    def _set_count_and_parameter(self, total_count: Any, probs: Any, logits: Any) -> None:
        """Set the parameter and the number of trials to tensors of one shape and dtype."""
        self._check_alternatives(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        total_count, parameter = broadcast_all(total_count, given)
        self.total_count = total_count.type_as(parameter)
        setattr(self, name, parameter)

    @property
    def _param(self) -> Tensor:
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape
