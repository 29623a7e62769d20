"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import Size
from ..ops.creation.sampling import binomial
from ..ops.creation.spaced import arange
from ..ops.pointwise.gamma import lgamma
from ..ops.pointwise.smooth_activation import softplus
from ..tensors.tensor import Tensor
from . import constraints
from .families import ProbsOrLogits

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits):
    """The distribution of the number of successes among ``total_count`` trials, each with the probability ``probs``.

    Raises:
        ValueError: not exactly one of ``probs`` and the log odds ``logits`` is given.

    Example:
        >>> import numgrad
        >>> binomial = numgrad.distributions.Binomial(10, probs=numgrad.tensor(0.5))
        >>> binomial.mean, binomial.log_prob(numgrad.tensor(5.0))
        (tensor(5.), tensor(-1.4020))
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    _is_binary = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ):
        self._set_count_and_parameter(total_count, probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Binomial, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        choices = lgamma(self.total_count + 1) - lgamma(value + 1) - lgamma(self.total_count - value + 1)
        return value * self.logits - self.total_count * softplus(self.logits) + choices

    def entropy(self) -> Tensor:
        log_probs = self.log_prob(self.enumerate_support(False))
        return -(log_probs.exp() * log_probs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the numbers from 0 to ``total_count`` along a new first dimension.

        Raises:
            NotImplementedError: the distributions in the batch differ in ``total_count``.
        """
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return self._enumerated(arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)
