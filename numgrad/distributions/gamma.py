"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.types import Size, finfo
from ..ops.creation.from_data import as_tensor
from ..ops.creation.implicit import _standard_gamma
from ..ops.pointwise.gamma import digamma, lgamma
from ..ops.pointwise.incomplete_gamma import igamma
from ..ops.pointwise.special import xlogy
from ..tensors.tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution, with a density proportional to ``x**(concentration - 1) * exp(-rate * x)``.

    Derivatives of samples by the concentration are those of quantiles.

    Example:
        >>> import numgrad
        >>> gamma = numgrad.distributions.Gamma(2.0, 0.5)
        >>> gamma.mean, gamma.log_prob(numgrad.tensor(4.0))
        (tensor(4.), tensor(-2.))
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Gamma, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        numbers = _standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return (numbers / self.rate).clamp(min=finfo(numbers.dtype).tiny)

    def log_prob(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_sample(value)
        powers = xlogy(self.concentration, self.rate) + xlogy(self.concentration - 1, value)
        return powers - self.rate * value - lgamma(self.concentration)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return igamma(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - self.rate.log() + lgamma(shape) + (1 - shape) * digamma(shape)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return lgamma(x + 1) - (x + 1) * (-y).log()
