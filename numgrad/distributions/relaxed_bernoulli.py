"""The relaxed Bernoulli distribution, and that of its log odds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.random_numbers import rand
from ..ops.pointwise.smooth_activation import softplus
from ..ops.pointwise.special import logit
from ..tensors.tensor import Tensor
from . import constraints
from .families import ProbsOrLogits, Relaxed
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The distribution of the log odds of :class:`RelaxedBernoulli`, a logistic one around ``logits / temperature``.

    Args:
        temperature: the temperature, a positive tensor.
        probs, logits: the probability of 1, or its log odds.
        validate_args: True to check arguments.

    Raises:
        ValueError: not exactly one of ``probs`` and ``logits`` is given.
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.real
    has_rsample = True
    has_enumerate_support = False
    _is_binary = True

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ):
        self.temperature = temperature
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(LogitRelaxedBernoulli, batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        units = clamp_probs(rand(shape, dtype=self._param.dtype, device=self._param.device))
        return (logit(units) + logit(clamp_probs(self.probs))) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference - 2 * softplus(difference)


class RelaxedBernoulli(Relaxed):
    """A distribution of numbers between 0 and 1 that tends to the Bernoulli distribution for low temperatures.

    Its samples are differentiable (Maddison et al. 2017; Jang et al. 2017).

    Args:
        temperature: the temperature, a positive tensor.
        probs, logits: the probability of 1 at temperature 0, or its log odds.
        validate_args: True to check arguments.

    Raises:
        ValueError: not exactly one of ``probs`` and ``logits`` is given.

    Example:
        >>> import numgrad
        >>> relaxed = numgrad.distributions.RelaxedBernoulli(numgrad.tensor(1.0), 0.25)
        >>> relaxed.log_prob(numgrad.tensor(0.5))
        tensor(-0.2877)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.unit_interval

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(RelaxedBernoulli, batch_shape, _instance)
