"""The log-normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensors.tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The distribution of ``exp(x)`` for a normal ``x`` with mean ``loc`` and standard deviation ``scale``.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.LogNormal(0.0, 1.0).log_prob(numgrad.tensor(1.0))
        tensor(-0.9189)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(LogNormal, batch_shape, _instance)

    @property
    def loc(self) -> Tensor:
        """The mean of ``x``."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of ``x``."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.square()
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
