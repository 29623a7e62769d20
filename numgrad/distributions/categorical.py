"""The categorical distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size, finfo
from ..ops.creation.distributions import multinomial
from ..ops.creation.factories import full
from ..ops.creation.spaced import arange
from ..ops.shapes.broadcasting import broadcast_tensors
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .families import ProbsOrLogits

__all__ = ["Categorical", "OfCategories"]


class Categorical(ProbsOrLogits):
    """The distribution of the integers 0 to K - 1 with given probabilities, drawn as by ``multinomial``.

    Args:
        probs: numbers proportional to the probabilities, of shape (..., K).
        logits: the logarithms of such numbers, of the same shape, instead of ``probs``.
        validate_args: True to check arguments.

    Raises:
        ValueError: not exactly one of them is given, or it is 0-dimensional.

    Example:
        >>> import numgrad
        >>> categorical = numgrad.distributions.Categorical(probs=numgrad.tensor([0.25, 0.75]))
        >>> categorical.entropy()
        tensor(0.5623)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None):
        self._check_alternatives(probs, logits)
        for name, parameter in (("probs", probs), ("logits", logits)):
            if parameter is not None and parameter.dim() < 1:
                raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            self.logits = logits.log_softmax(-1)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Categorical, batch_shape, _instance)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        """NaN, because the numbers are mere labels."""
        return full(self._extended_shape(), math.nan, dtype=self._param.dtype, device=self._param.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """NaN, because the numbers are mere labels."""
        return self.mean

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        drawn = multinomial(rows, math.prod(sample_shape), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        value, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 times minus infinity would be NaN
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(self._num_events, device=self._param.device), expand)


class OfCategories(Distribution):
    """A distribution of vectors with an element for each category of a :class:`Categorical`."""

    arg_constraints = Categorical.arg_constraints

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def _expanded_categorical(self, cls: type[Distribution], batch_shape: Sequence[int], instance: Any) -> Any:
        """Expand the distribution, except for its other parameters."""
        new = self._get_checked_instance(cls, instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finished(new, batch_shape, self._event_shape)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities, of shape (..., K)."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape
