"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import Size
from ..ops.creation.sampling import poisson
from ..ops.pointwise.gamma import lgamma
from ..ops.pointwise.smooth_activation import softplus
from ..tensors.tensor import Tensor
from . import constraints
from .families import ProbsOrLogits
from .gamma import Gamma

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """The distribution of the number of successes before ``total_count`` failures.

    A success has the probability ``probs``.  ``total_count`` need not be an integer.

    Raises:
        ValueError: not exactly one of ``probs`` and the log odds ``logits`` is given.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.NegativeBinomial(3.0, probs=numgrad.tensor(0.5)).mean
        tensor(3.)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer
    has_enumerate_support = False
    _is_binary = True

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._set_count_and_parameter(total_count, probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(NegativeBinomial, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Return Poisson numbers whose rates are gamma numbers."""
        with no_grad():
            return poisson(Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        powers = value * self.logits - (self.total_count + value) * softplus(self.logits)
        certain = (self.total_count + value) == 0  # where two logarithms of the gamma function are infinite
        choices = lgamma(self.total_count + value) - lgamma(value + 1) - lgamma(self.total_count)
        return powers + choices.masked_fill(certain, 0)
