"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.random_numbers import rand
from ..ops.indexing.masking import where
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The limit distribution of excesses over a threshold ``loc``.

    With ``z = (x - loc) / scale`` and ``c`` the ``concentration``, ``x`` is exceeded with the probability
    ``(1 + c * z)**(-1 / c)``, which is ``exp(-z)`` for ``c`` of 0 (less than 1e-8 in size).

    Example:
        >>> import numgrad
        >>> excess = numgrad.distributions.GeneralizedPareto(0.0, 1.0, 0.5)
        >>> excess.mean, excess.cdf(numgrad.tensor(2.0))
        (tensor(2.), tensor(0.7500))
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(GeneralizedPareto, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The numbers from ``loc``, to ``loc - scale / concentration`` if the concentration is negative."""
        upper = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, upper.masked_fill(self.concentration >= 0, math.inf))

    @property
    def mean(self) -> Tensor:
        """NaN for ``concentration`` of at least 1."""
        valid = self.concentration.masked_fill(self.concentration >= 1, math.nan)
        return self.loc + self.scale / (1 - valid)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """NaN for ``concentration`` of at least 1/2."""
        valid = self.concentration.masked_fill(self.concentration >= 0.5, math.nan)
        return self.scale.square() / ((1 - valid).square() * (1 - 2 * valid))

    def _is_exponential(self) -> Tensor:
        return self.concentration.abs() <= 1e-8

    def _nonzero(self) -> Tensor:
        """Return the concentration, with 1 instead of 0."""
        return self.concentration.masked_fill(self._is_exponential(), 1)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability that a sample exceeds ``value``."""
        self._check_sample(value)
        z, concentration = (value - self.loc) / self.scale, self._nonzero()
        return where(self._is_exponential(), -z, -(concentration * z).log1p() / concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z, concentration = (value - self.loc) / self.scale, self._nonzero()
        power = (1 / concentration + 1) * (concentration * z).log1p()
        power = where(concentration == -1, 0, power)  # the uniform distribution, whose density does not end at 0
        return -self.scale.log() - where(self._is_exponential(), z, power)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of :meth:`cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return -self.log_survival_function(value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        logarithm, concentration = (-value).log1p(), self._nonzero()
        excess = (-concentration * logarithm).expm1() / concentration
        return self.loc + self.scale * where(self._is_exponential(), -logarithm, excess)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
