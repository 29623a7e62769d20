"""The inverse gamma distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ops.creation.factories import ones
from ..ops.pointwise.gamma import digamma, lgamma
from ..tensors.tensor import Tensor
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The distribution of ``1 / x`` for a gamma number ``x`` with the same parameters.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.InverseGamma(3.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        base = Gamma(concentration, rate, validate_args)
        exponent = -ones((), dtype=base.rate.dtype, device=base.rate.device)
        super().__init__(base, PowerTransform(exponent), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(InverseGamma, batch_shape, _instance)

    @property
    def concentration(self) -> Tensor:
        """The shape of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """Infinite for ``concentration`` of at most 1."""
        return (self.rate / (self._above(1) - 1)).masked_fill(self.concentration <= 1, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """Infinite for ``concentration`` of at most 2."""
        above = self._above(2)
        result = self.rate.square() / ((above - 1).square() * (above - 2))
        return result.masked_fill(self.concentration <= 2, math.inf)

    def _above(self, bound: int) -> Tensor:
        """Return the concentration, with a larger number instead of those up to ``bound``."""
        return self.concentration.masked_fill(self.concentration <= bound, bound + 1)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape + self.rate.log() + lgamma(shape) - (1 + shape) * digamma(shape)
