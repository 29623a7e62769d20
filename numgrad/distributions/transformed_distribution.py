"""Distributions of functions of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import Size
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``f(x)`` for a random ``x``: ``log p(y) = log p(x) - log |dy/dx|``.

    Args:
        base_distribution: the distribution of ``x``.
        transforms: a transform, or a list of transforms in the order of application.
        validate_args: True to check arguments.

    Raises:
        ValueError: ``transforms`` is anything else, or the transforms need more dimensions than a sample has.

    Example:
        >>> import numgrad
        >>> normal = numgrad.distributions.Normal(0.0, 1.0)
        >>> transforms = [numgrad.distributions.AffineTransform(loc=5.0, scale=2.0)]
        >>> numgrad.distributions.TransformedDistribution(normal, transforms).log_prob(numgrad.tensor(5.0))
        tensor(-1.6121)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}  # noqa: RUF012 - as PyTorch has it

    def __init__(
        self, base_distribution: Distribution, transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ):
        if not isinstance(transforms, Transform | list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not all(isinstance(each, Transform) for each in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, not {transforms}")
        whole = ComposeTransform(self.transforms)
        takes, gives = whole.domain.event_dim, whole.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(base_shape) < takes:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {takes}, but got {base_shape}."
            )
        shape = Size(whole.forward_shape(base_shape))
        expanded, dims = Size(whole.inverse_shape(shape)), len(base_distribution.event_shape)
        if expanded != base_shape:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - dims])
        self.base_dist = Independent(base_distribution, takes - dims) if takes > dims else base_distribution
        cut = len(shape) - max(gives, dims + gives - takes)
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        shape = ComposeTransform(self.transforms).inverse_shape(Size((*batch_shape, *self._event_shape)))
        new.base_dist = self.base_dist.expand(Size(shape[: len(shape) - len(self.base_dist.event_shape)]))
        new.transforms = self.transforms
        return self._finished(new, batch_shape, self._event_shape)

    def _expanded(self, cls: type[Distribution], batch_shape: Sequence[int], instance: Any) -> Any:
        new = self._get_checked_instance(cls, instance)
        for name in self.arg_constraints:
            if name in vars(self):
                setattr(new, name, vars(self)[name].expand(batch_shape))
        return TransformedDistribution.expand(self, batch_shape, new)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        codomain = self.transforms[-1].codomain
        dims = len(self._event_shape) - codomain.event_dim
        return constraints.independent(codomain, dims) if dims > 0 else codomain

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        dims = len(self._event_shape)
        result: Any = 0
        for transform in reversed(self.transforms):
            x, takes = transform.inv(value), transform.domain.event_dim
            dims += takes - transform.codomain.event_dim
            result = result - sum_rightmost(transform.log_abs_det_jacobian(x, value), dims - takes)
            value = x
        return result + sum_rightmost(self.base_dist.log_prob(value), dims - len(self.base_dist.event_shape))

    def _rising(self, probability: Tensor) -> Tensor:
        """Return ``1 - probability`` where the transforms are decreasing, otherwise ``probability``."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._rising(value)))
