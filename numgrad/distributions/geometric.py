"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import Size, finfo
from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.creation.factories import empty, zeros_like
from ..ops.pointwise.special import xlog1py
from ..tensors.tensor import Tensor
from . import constraints
from .families import ProbsOrLogits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """The distribution of the number of failures before the first success, which has the probability ``probs``.

    Raises:
        ValueError: not exactly one of ``probs`` and the log odds ``logits`` is given, or a probability is 0.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.Geometric(0.25).mean
        tensor(3.)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer
    has_enumerate_support = False
    _is_binary = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and logits is None and not (self.probs > 0).all():
            raise ValueError(f"Expected parameter probs of Geometric to be positive, but found {self.probs}")

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Geometric, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            u = empty(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
            return (u.uniform_(finfo(u.dtype).tiny, 1).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        certain = (self.probs == 1) & (value == 0)  # where the derivative of the first term would be NaN
        return xlog1py(value, -self.probs.masked_fill(certain, 0)) + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
