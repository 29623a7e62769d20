"""The logistic normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensors.tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """The distribution of probabilities that :class:`StickBreakingTransform` makes of normal numbers.

    Args:
        loc, scale: means and standard deviations of the normal numbers, of shape (..., K - 1).
        validate_args: True to check arguments.

    Example:
        >>> import numgrad
        >>> shares = numgrad.distributions.LogisticNormal(numgrad.zeros(3), numgrad.ones(3))
        >>> shares.event_shape, shares.log_prob(numgrad.full((4,), 0.25))
        (torch.Size([4]), tensor(2.7884))
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.simplex
    has_rsample = True
    base_dist: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args)
        super().__init__(base if base.batch_shape else base.expand((1,)), StickBreakingTransform(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(LogisticNormal, batch_shape, _instance)

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale
