"""Distributions of several independent numbers as a single distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution in which the last batch dimensions are reinterpreted as event dimensions.

    Args:
        base_distribution: the distribution with those batch dimensions.
        reinterpreted_batch_ndims: the number of dimensions to reinterpret.
        validate_args: True to check arguments.

    Raises:
        ValueError: the batch has fewer dimensions.

    Example:
        >>> import numgrad
        >>> normals = numgrad.distributions.Normal(numgrad.zeros(2, 3), numgrad.ones(2, 3))
        >>> rows = numgrad.distributions.Independent(normals, 1)
        >>> rows.batch_shape, rows.event_shape
        (torch.Size([2]), torch.Size([3]))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}  # noqa: RUF012 - as PyTorch has it

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ):
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        cut = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(Independent, _instance)
        reinterpreted = self._event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(Size((*batch_shape, *reinterpreted)))
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return self._finished(new, batch_shape, self._event_shape)

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, dims) if dims else self.base_dist.support

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
