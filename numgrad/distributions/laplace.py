"""The Laplace distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size, finfo
from ..ops.creation.factories import empty
from ..ops.pointwise.comparison import where
from ..tensors.tensor import Tensor
from .families import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """The Laplace distribution with mean ``loc`` and the density ``exp(-|x - loc| / scale) / (2 * scale)``.

    Example:
        >>> import numgrad
        >>> noise = numgrad.distributions.Laplace(0.0, 1.0)
        >>> noise.variance, noise.log_prob(numgrad.tensor(0.0))
        (tensor(2.), tensor(-0.6931))
    """

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Laplace, batch_shape, _instance)

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.square()

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Return samples computed from a uniform number between -1 (exclusive) and 1."""
        shape, dtype = self._extended_shape(sample_shape), self.loc.dtype
        u = empty(shape, dtype=dtype, device=self.loc.device).uniform_(finfo(dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        distance = value - self.loc
        tail = 0.5 * (where(distance < 0, distance, -distance) / self.scale).exp()
        return where(distance < 0, tail, 1 - tail)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * where(value < 0.5, (2 * value).log(), -(2 * (1 - value)).log())

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
