"""Student's t-distribution."""  # noqa: N999 - PyTorch's name

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.pointwise.gamma import digamma, lgamma
from ..tensors.tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import broadcast_all, standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution with ``df`` degrees of freedom, shifted by ``loc`` and widened by ``scale``.

    Example:
        >>> import numgrad
        >>> student = numgrad.distributions.StudentT(3.0)
        >>> student.variance, student.log_prob(numgrad.tensor(0.0))
        (tensor(3.), tensor(-1.0009))
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "df": constraints.positive, "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(StudentT, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        """NaN for ``df`` of at most 1."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite for ``df`` from 1 to 2, and NaN below."""
        above = self.df.masked_fill(self.df <= 2, 3)
        result = self.scale.square() * above / (above - 2)
        return result.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        normal = standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        squares = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * (normal * (squares / self.df).rsqrt())

    def _log_normalizer(self) -> Tensor:
        half = 0.5 * self.df
        gammas = lgamma(half) - lgamma(half + 0.5)
        return self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + gammas

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        distance = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1) * (distance.square() / self.df).log1p() - self._log_normalizer()

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        return (half + 0.5) * (digamma(half + 0.5) - digamma(half)) + self._log_normalizer()
