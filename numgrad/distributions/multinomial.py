"""The multinomial distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.factories import ones_like, zeros
from ..ops.pointwise.gamma import lgamma
from ..tensors.tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import OfCategories
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategories):
    """The distribution of the counts of K categories among ``total_count`` draws.

    ``log_prob`` takes counts with any sum.

    Args:
        total_count: the number of draws, one for all distributions.
        probs, logits: as for :class:`Categorical`.
        validate_args: True to check arguments.

    Raises:
        NotImplementedError: ``total_count`` is not an integer.

    Example:
        >>> import numgrad
        >>> counts = numgrad.distributions.Multinomial(4, probs=numgrad.tensor([1.0, 3.0]))
        >>> counts.mean, counts.log_prob(numgrad.tensor([1.0, 3.0]))
        (tensor([1., 3.]), tensor(-0.8630))
    """

    def __init__(
        self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded_categorical(Multinomial, batch_shape, _instance)
        new.total_count = self.total_count
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        drawn = self._categorical.sample(Size((self.total_count, *sample_shape))).movedim(0, -1)
        counts = zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
        return counts.scatter_add_(-1, drawn, ones_like(drawn)).type_as(self._categorical._param)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """Return the entropy: of the draws, minus the mean logarithm of the number of their orders."""
        each = Binomial(self.total_count, probs=self.probs, validate_args=False)
        counts = each.enumerate_support(False)
        orders = (each.log_prob(counts).exp() * lgamma(counts + 1)).sum((0, -1))
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + orders
