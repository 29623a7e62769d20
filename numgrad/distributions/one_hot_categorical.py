"""The categorical distribution as one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.factories import eye
from ..ops.indexing.one_hot import one_hot
from ..tensors.tensor import Tensor
from . import constraints
from .categorical import OfCategories

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategories):
    """The distribution of one-hot vectors of size K; the arguments are those of :class:`Categorical`.

    Example:
        >>> import numgrad
        >>> letters = numgrad.distributions.OneHotCategorical(probs=numgrad.tensor([0.25, 0.75]))
        >>> letters.mean, letters.log_prob(numgrad.tensor([0.0, 1.0]))
        (tensor([0.2500, 0.7500]), tensor(-0.2877))
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded_categorical(OneHotCategorical, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vectors(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _vectors(self, indices: Tensor) -> Tensor:
        return one_hot(indices, self._event_shape[0]).to(self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self._vectors(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(eye(self._event_shape[0], dtype=self._param.dtype, device=self._param.device), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A variant whose samples have the gradients of the probabilities (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
