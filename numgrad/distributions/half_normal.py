"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ..tensors.tensor import Tensor
from .families import Half
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The distribution of the absolute value of a normal number with mean 0 and standard deviation ``scale``.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.HalfNormal(1.0).mean
        tensor(0.7979)
    """

    base_dist: Normal

    def __init__(self, scale: Any, validate_args: bool | None = None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)
