"""The Gumbel distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import finfo
from ..ops.creation.factories import full_like, ones_like
from ..tensors.tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The limit distribution of maxima, with the distribution function ``exp(-exp(-(x - loc) / scale))``.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.Gumbel(0.0, 1.0).mean
        tensor(0.5772)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        format = finfo(self.loc.dtype)
        base = Uniform(full_like(self.loc, format.tiny), full_like(self.loc, 1 - format.eps), validate_args)
        transforms = [
            ExpTransform().inv, AffineTransform(0, -ones_like(self.scale)), ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(Gumbel, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.square()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
