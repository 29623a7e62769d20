"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.factories import eye
from ..ops.creation.implicit import _sample_dirichlet
from ..ops.indexing.masking import where
from ..ops.pointwise.gamma import digamma, lgamma
from ..ops.pointwise.special import xlogy
from ..tensors.tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The distribution of probabilities with a density proportional to the product of ``x[i]**(concentration[i] - 1)``.

    Args:
        concentration: positive numbers, of shape (..., K).
        validate_args: True to check arguments.

    Raises:
        ValueError: ``concentration`` is 0-dimensional.

    Example:
        >>> import numgrad
        >>> dirichlet = numgrad.distributions.Dirichlet(numgrad.tensor([1.0, 3.0]))
        >>> dirichlet.mean, dirichlet.log_prob(numgrad.tensor([0.5, 0.5]))
        (tensor([0.2500, 0.7500]), tensor(-0.2877))
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "concentration": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Dirichlet, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        """The most probable sample; if all concentrations are below 1, the first of the vertices."""
        above = (self.concentration - 1).clamp(min=0)
        vertex = eye(self._event_shape[0], dtype=above.dtype, device=above.device)[0]
        below = (self.concentration < 1).all(-1, keepdim=True)
        return where(below, vertex, above / above.sum(-1, keepdim=True))

    @property
    def variance(self) -> Tensor:
        mean = self.mean
        return mean * (1 - mean) / (self.concentration.sum(-1, keepdim=True) + 1)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return xlogy(self.concentration - 1, value).sum(-1) - self._log_normalizer(self.concentration)

    def entropy(self) -> Tensor:
        total = self.concentration.sum(-1)
        mean_logarithms = digamma(self.concentration) - digamma(total).unsqueeze(-1)
        return self._log_normalizer(self.concentration) - ((self.concentration - 1) * mean_logarithms).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return lgamma(x).sum(-1) - lgamma(x.sum(-1))
