"""The F-distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size, finfo
from ..ops.pointwise.gamma import lgamma
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The distribution of the ratio of two chi-squared numbers, each divided by its degrees of freedom.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.FisherSnedecor(2.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "df1": constraints.positive, "df2": constraints.positive,
    }  # fmt: skip
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(FisherSnedecor, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        """NaN for ``df2`` of at most 2."""
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """NaN for ``df1`` of at most 2."""
        result = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return result.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        """NaN for ``df2`` of at most 4."""
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.square() * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).square() * (df2 - 4))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        above, below = [Gamma(0.5 * df, df, validate_args=False).rsample(sample_shape) for df in (self.df1, self.df2)]
        return (above / below).clamp(min=finfo(above.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        half1, half2, ratio = 0.5 * self.df1, 0.5 * self.df2, self.df1 / self.df2
        normalizer = lgamma(half1) + lgamma(half2) - lgamma(half1 + half2)
        powers = half1 * ratio.log() + (half1 - 1) * value.log() - (half1 + half2) * (ratio * value).log1p()
        return powers - normalizer
