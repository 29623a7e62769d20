"""Invertible functions of random numbers, with the logarithms of their slopes; ``transform`` has the base class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.layout import broadcast_shapes
from ..core.missing import found_later as _found_later
from ..core.types import Size
from ..ops.creation.factories import full_like
from ..ops.pointwise.smooth_activation import softplus
from ..tensors.tensor import Tensor
from . import constraints
from .joined_transforms import CatTransform, ReshapeTransform, StackTransform
from .transform import (
    ComposeTransform,
    ConstantTransform,
    IndependentTransform,
    Transform,
    _InverseTransform,  # noqa: F401 - libraries look for it here
    identity_transform,
)
from .utils import broadcast_all, clipped, lazy_property, sum_rightmost
from .vector_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip


class _Increasing(ConstantTransform):
    """A function that increases."""

    bijective = True
    sign = 1


class ExpTransform(_Increasing):
    """``exp(x)``.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.ExpTransform()(numgrad.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Increasing):
    """``1 / (1 + exp(-x))``, clamped away from 0 and 1.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.SigmoidTransform()(numgrad.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return clipped(x.sigmoid())

    def _inverse(self, y: Tensor) -> Tensor:
        y = clipped(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Increasing):
    """``log(1 + exp(x))``.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.SoftplusTransform()(numgrad.tensor([0.0, 1.0]))
        tensor([0.6931, 1.3133])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Increasing):
    """``tanh(x)``; with a cache, even values that round to 1 have an inverse.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.TanhTransform()(numgrad.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``log(1 - tanh(x)**2)``, computed without overflow."""
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(ConstantTransform):
    """``|x|``; the inverse returns the positive number."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.PowerTransform(numgrad.tensor(2.0))(numgrad.tensor([1.0, 3.0]))
        tensor([1., 9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size)

    @lazy_property
    def sign(self) -> Tensor:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return Size(broadcast_shapes(shape, self.exponent.shape))

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """``loc + scale * x``.

    Args:
        loc, scale: tensors or numbers.
        event_dim: the number of dimensions of an event.
        cache_size: as for :class:`Transform`.

    Example:
        >>> import numgrad
        >>> doubled = numgrad.distributions.AffineTransform(loc=1.0, scale=2.0)
        >>> doubled(numgrad.tensor(3.0)), doubled.inv(numgrad.tensor(7.0))
        (tensor(7.), tensor(3.))
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)
        )

    @property
    def sign(self) -> Any:
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        slopes = scale.abs().log() if isinstance(scale, Tensor) else full_like(x, math.log(abs(scale)))
        return sum_rightmost(slopes.expand(x.shape), self._event_dim)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        shapes = [value.shape for value in (self.loc, self.scale) if isinstance(value, Tensor)]
        return Size(broadcast_shapes(shape, *shapes))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The distribution function of a continuous distribution, whose inverse returns quantiles.

    Example:
        >>> import numgrad
        >>> normal = numgrad.distributions.Normal(0.0, 1.0)
        >>> numgrad.distributions.CumulativeDistributionTransform(normal)(numgrad.tensor(0.0))
        tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> constraints.Constraint:
        return self.distribution.support

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


def _same(left: Any, right: Any) -> bool:
    """Return True if two parameters, tensors or numbers, are equal."""
    equal = left == right
    return bool(equal.all()) if isinstance(equal, Tensor) else equal


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "distributions.transforms")
