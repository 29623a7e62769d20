"""The Weibull distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops.creation.factories import ones_like
from ..ops.pointwise.comparison import where
from ..ops.pointwise.gamma import lgamma
from ..tensors.tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The distribution of positive numbers that exceed ``x`` with probability ``exp(-(x / scale) ** concentration)``.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.Weibull(2.0, 1.0).mean
        tensor(2.)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "scale": constraints.positive, "concentration": constraints.positive,
    }  # fmt: skip
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(ones_like(self.scale), validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Weibull, batch_shape, _instance)

    @property
    def concentration_reciprocal(self) -> Tensor:
        """The exponent of the standard exponential number of which a sample is a multiple."""
        return self.concentration.reciprocal()

    @property
    def mean(self) -> Tensor:
        return self.scale * lgamma(1 + self.concentration_reciprocal).exp()

    @property
    def mode(self) -> Tensor:
        share = self.concentration_reciprocal
        return where(self.concentration > 1, self.scale * (1 - share) ** share, 0)

    @property
    def variance(self) -> Tensor:
        share = self.concentration_reciprocal
        return self.scale.square() * (lgamma(1 + 2 * share).exp() - (2 * lgamma(1 + share)).exp())

    def entropy(self) -> Tensor:
        share = self.concentration_reciprocal
        return euler_constant * (1 - share) + (self.scale * share).log() + 1
