"""The continuous Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.random_numbers import rand
from ..ops.indexing.masking import where
from ..ops.pointwise.smooth_activation import softplus
from ..tensors.tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .families import ProbsOrLogits
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """The distribution of numbers from 0 to 1 with a density proportional to ``probs**x * (1 - probs)**(1 - x)``.

    In terms of the log odds ``t``, this is proportional to ``exp(t * x)`` (Loaiza-Ganem and Cunningham 2019).

    Args:
        probs, logits: the parameter or its log odds.
        lims: a range of ``probs`` around 1/2 in which series in ``t`` replace formulas that divide by ``t``.
        validate_args: True to check arguments.

    Raises:
        ValueError: not exactly one of ``probs`` and ``logits`` is given.

    Example:
        >>> import numgrad
        >>> continuous = numgrad.distributions.ContinuousBernoulli(0.5)
        >>> continuous.mean, continuous.variance
        (tensor(0.5000), tensor(0.0833))
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.unit_interval
    has_rsample = True
    has_enumerate_support = False
    _is_binary = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ):
        self._set_parameter(probs, logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)
        if logits is None:
            self.probs = clamp_probs(self.probs)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(ContinuousBernoulli, batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, True))

    def _is_even(self) -> Tensor:
        return (self.probs > self._lims[0]) & (self.probs <= self._lims[1])

    def _uneven_logits(self) -> Tensor:
        """Return the log odds, with 1 instead of those near 0."""
        return self.logits.masked_fill(self._is_even(), 1)

    def _log_norm(self) -> Tensor:
        """Return the logarithm of the normalizing constant, ``t / tanh(t / 2)``."""
        size, square = self._uneven_logits().abs(), self.logits.square()
        uneven = size.log() + (-size).exp().log1p() - (-(-size).exp()).log1p()
        return where(self._is_even(), square / 12 - square.square() * (7 / 1440) + 0.6931471805599453, uneven)

    @property
    def mean(self) -> Tensor:
        logits, uneven = self.logits, self._uneven_logits()
        return where(
            self._is_even(), 0.5 + logits / 12 - logits**3 / 720, -1 / (-uneven).expm1() - 1 / uneven
        )

    @property
    def variance(self) -> Tensor:
        square, uneven = self.logits.square(), self._uneven_logits()
        return where(
            self._is_even(), 1 / 12 - square / 240 + square.square() / 6048,
            1 / uneven.square() - 0.25 / (uneven / 2).sinh().square(),
        )

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self._param.dtype, device=self._param.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return value * logits - softplus(logits) + self._log_norm()

    def _from_below(self, value: Tensor) -> Tensor:
        """Return ``1 - value`` where the density increases, so that it decreases in the direction of the result."""
        return where(self.logits > 0, 1 - value, value)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        size = self._uneven_logits().abs()
        uneven = self._from_below((-size * self._from_below(value)).expm1() / (-size).expm1())
        return where(self._is_even(), value, uneven).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        size = self._uneven_logits().abs()
        uneven = self._from_below(-(self._from_below(value) * (-size).expm1()).log1p() / size)
        return where(self._is_even(), value, uneven)

    def entropy(self) -> Tensor:
        return softplus(self.logits) - self.logits * self.mean - self._log_norm()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """Return ``log((exp(x) - 1) / x)``."""
        even, square = x.abs() < 1e-2, x.square()
        size = x.masked_fill(even, 1).abs()
        uneven = (x + size) / 2 + (-(-size).exp()).log1p() - size.log()
        return where(even, x / 2 + square / 24 - square.square() / 2880, uneven)
