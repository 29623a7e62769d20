"""Transforms that reshape events, and those of the parts of a tensor, each by a transform of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.factories import zeros
from ..ops.shapes.joining import cat, stack
from ..tensors.tensor import Tensor
from . import constraints
from .transform import Transform
from .utils import lazy_property, sum_rightmost

__all__ = ["CatTransform", "ReshapeTransform", "StackTransform"]


class ReshapeTransform(Transform):
    """Events of one shape in another shape.

    Raises:
        ValueError: the shapes have different numbers of elements.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.ReshapeTransform((4,), (2, 2))(numgrad.zeros(3, 4)).shape
        torch.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError(f"in_shape, out_shape have different numbers of elements: {in_shape} and {out_shape}")
        super().__init__(cache_size)

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return zeros(x.shape[: x.dim() - len(self.in_shape)], dtype=x.dtype, device=x.device)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Sequence[int], end: Sequence[int], replacement: Sequence[int]) -> Any:
    """Return the shape with its ``end`` replaced."""
    cut = len(shape) - len(end)
    if cut < 0:
        raise ValueError(f"Too few dimensions on input, of shape {shape}")
    if Size(shape[cut:]) != end:
        raise ValueError(f"Shape mismatch: expected {Size(shape[cut:])} but got {end}")
    return Size((*shape[:cut], *replacement))


class _PartsTransform(Transform):
    """A transform that applies a sequence of transforms to the parts of a tensor along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        if not all(isinstance(each, Transform) for each in tseq):
            raise AssertionError(f"All elements of tseq must be Transform instances, not {tseq}")
        super().__init__(cache_size)
        self.transforms = [each.with_cache(cache_size) if cache_size else each for each in tseq]
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(each.bijective for each in self.transforms)

    def _parts(self, name: str, value: Tensor) -> Sequence[Tensor]:
        """Return the parts of the argument with this name.

        Raises:
            AssertionError: its size along the dimension is not that of all parts.
        """
        raise NotImplementedError

    def _check_size(self, name: str, value: Tensor, size: int, described: str) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        found = value.shape[self.dim]
        if found != size:
            raise AssertionError(f"{name}.size({self.dim}) = {found} must equal {described} {size}")

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._join([each(part) for each, part in zip(self.transforms, self._parts("x", x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([each.inv(part) for each, part in zip(self.transforms, self._parts("y", y), strict=True)])

    def _slopes(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self._parts("x", x), self._parts("y", y), strict=True)
        return [each.log_abs_det_jacobian(*pair) for each, *pair in parts]


class CatTransform(_PartsTransform):
    """A transform of each part, of given lengths (1 by default) along a dimension, by its own transform.

    Raises:
        AssertionError: there are not as many lengths as transforms.

    Example:
        >>> import numgrad
        >>> from numgrad.distributions import CatTransform, ExpTransform, identity_transform
        >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(numgrad.zeros(3))
        tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(each.event_dim for each in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The length of all parts."""
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, name: str, value: Tensor) -> Sequence[Tensor]:
        self._check_size(name, value, self.length, "length")
        return value.split(self.lengths, self.dim)

    def _join(self, parts: list[Tensor]) -> Tensor:
        return cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithms of the parts, joined, or their sum if the dimension belongs to the events."""
        slopes = [
            sum_rightmost(each, self.event_dim - transform.event_dim)
            for each, transform in zip(self._slopes(x, y), self.transforms, strict=True)
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return cat(slopes, dim) if dim < 0 else sum(slopes[1:], slopes[0])


class StackTransform(_PartsTransform):
    """A transform of each slice along a dimension by its own transform.

    Example:
        >>> import numgrad
        >>> from numgrad.distributions import ExpTransform, StackTransform, identity_transform
        >>> StackTransform([ExpTransform(), identity_transform], dim=1)(numgrad.zeros(2, 2))
        tensor([[1., 0.],
                [1., 0.]])
    """

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.stack([each.codomain for each in self.transforms], self.dim)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, name: str, value: Tensor) -> Sequence[Tensor]:
        self._check_size(name, value, len(self.transforms), "len(transforms)")
        return value.unbind(self.dim)

    def _join(self, parts: list[Tensor]) -> Tensor:
        return stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return stack(self._slopes(x, y), self.dim)
