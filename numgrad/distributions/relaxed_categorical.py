"""The relaxed categorical distribution, and that of its logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.factories import full_like
from ..ops.creation.random_numbers import rand
from ..ops.pointwise.gamma import lgamma
from ..tensors.tensor import Tensor
from . import constraints
from .categorical import OfCategories
from .families import Relaxed
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategories):
    """The distribution of the logarithms of :class:`RelaxedOneHotCategorical`, with the same arguments."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded_categorical(ExpRelaxedCategorical, batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        units = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        return ((self.logits - (-units.log()).log()) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        count = self._categorical._num_events
        scale = lgamma(full_like(self.temperature, float(count))) + (count - 1) * self.temperature.log()
        return (logits - value * self.temperature).log_softmax(-1).sum(-1) + scale


class RelaxedOneHotCategorical(Relaxed):
    """A distribution of probabilities that tends to the one of one-hot vectors for low temperatures.

    Its samples are differentiable (Maddison et al. 2017; Jang et al. 2017).

    Args:
        temperature: the temperature, a positive tensor.
        probs, logits: as for :class:`Categorical`.
        validate_args: True to check arguments.

    Raises:
        ValueError: not exactly one of ``probs`` and ``logits`` is given.

    Example:
        >>> import numgrad
        >>> relaxed = numgrad.distributions.RelaxedOneHotCategorical(numgrad.tensor(1.0), numgrad.ones(2))
        >>> relaxed.log_prob(numgrad.tensor([0.5, 0.5]))
        tensor(0.)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    support = constraints.simplex

    def __init__(
        self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(RelaxedOneHotCategorical, batch_shape, _instance)
