"""The LKJ distribution of correlation matrices, as Cholesky factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import Size, finfo
from ..ops.creation.random_numbers import randn
from ..ops.creation.spaced import arange
from ..ops.pointwise.gamma import lgamma, mvlgamma
from ..ops.shapes.diagonals import diag_embed
from ..tensors.tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The distribution of Cholesky factors of correlation matrices of size ``dim``.

    The density of the matrix is proportional to ``det(matrix)**(concentration - 1)``, constant for a concentration of
    1 (Lewandowski, Kurowicka and Joe 2009).

    Args:
        dim: the size, at least 2.
        concentration: positive numbers.
        validate_args: True to check arguments.

    Raises:
        ValueError: ``dim`` is below 2.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.LKJCholesky(2, 1.0).log_prob(numgrad.eye(2))
        tensor(-0.6931)
    """

    arg_constraints = {"concentration": constraints.positive}  # noqa: RUF012 - as PyTorch has it
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(LKJCholesky, batch_shape, _instance)
        new.dim = self.dim
        return new

    def _numbers(self, start: int, stop: int) -> Tensor:
        return arange(start, stop, dtype=self.concentration.dtype, device=self.concentration.device)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Return samples by the onion method: each row is a random direction, whose squared length is a beta number."""
        with no_grad():
            half = 0.5 * self._numbers(-1, self.dim - 1).clamp(min=0)  # the first row has no elements but the diagonal
            shapes = half + 0.5, (self.concentration + 0.5 * (self.dim - 2)).unsqueeze(-1) - half
            lengths = Beta(*shapes, validate_args=False).sample(sample_shape).sqrt().unsqueeze(-1)
            shape, dtype = self._extended_shape(sample_shape), lengths.dtype
            directions = randn(shape, dtype=dtype, device=lengths.device).tril(-1)
            norms = directions.square().sum(-1, keepdim=True).sqrt()
            rows = lengths * (directions / norms).masked_fill(norms == 0, 0)
            remaining = (1 - rows.square().sum(-1)).clamp(min=finfo(dtype).tiny)
            return rows + diag_embed(remaining.sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - self._numbers(2, self.dim + 1)
        rest, shape = self.dim - 1, self.concentration + 0.5 * (self.dim - 1)
        normalizer = 0.5 * rest * math.log(math.pi) + mvlgamma(shape - 0.5, rest) - rest * lgamma(shape)
        return (powers * diagonal.log()).sum(-1) - normalizer
