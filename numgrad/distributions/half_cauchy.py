"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation.factories import full_like
from ..tensors.tensor import Tensor
from .cauchy import Cauchy
from .families import Half

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The distribution of the absolute value of a number with the Cauchy distribution around 0.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.HalfCauchy(1.0).cdf(numgrad.tensor(1.0))
        tensor(0.5000)
    """

    base_dist: Cauchy

    def __init__(self, scale: Any, validate_args: bool | None = None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
