"""The Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size, finfo, float64
from ..ops.creation.factories import full_like
from ..ops.creation.random_numbers import rand
from ..tensors.tensor import Tensor
from .families import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """The distribution of the quotient of two standard normal numbers, times ``scale`` and shifted by ``loc``.

    Its mean is not defined, and its variance is infinite.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.Cauchy(0.0, 1.0).cdf(numgrad.tensor(1.0))
        tensor(0.7500)
    """

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Cauchy, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        """NaN, because the integral does not converge."""
        return full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Return samples computed from uniform float64 numbers."""
        least = finfo(float64).eps
        u = rand(self._extended_shape(sample_shape), dtype=float64, device=self.loc.device).clamp(least, 1 - least)
        return self.loc + (math.pi * (u - 0.5)).tan().to(self.loc.dtype) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).square().log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
