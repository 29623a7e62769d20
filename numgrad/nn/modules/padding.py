"""Padding as modules."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .. import functional
from .module import Module
from .pooling import for_each

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]


class _Pad(Module):
    """Padding at both ends of the last dimensions; ``padding`` has the form for :func:`nn.functional.pad`."""

    _rank: int
    _mode: str

    def __init_subclass__(cls, rank: int = 0, mode: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._rank, cls._mode = rank or getattr(cls, "_rank", 0), mode or getattr(cls, "_mode", "")

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = for_each(padding, 2 * self._rank)

    def forward(self, input: Tensor) -> Tensor:
        return functional.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad, mode="constant"):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd, rank=1):
    """Padding with a constant at both ends of the last dimension.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ConstantPad1d((1, 2), 9.0)(numgrad.zeros(1, 2))
        tensor([[9., 0., 0., 9., 9.]])
    """


class ConstantPad2d(_ConstantPadNd, rank=2):
    """Padding with a constant around the last two dimensions."""


class ConstantPad3d(_ConstantPadNd, rank=3):
    """Padding with a constant around the last three dimensions."""


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, rank=1):
    """Padding with zeros at both ends of the last dimension."""


class ZeroPad2d(_ZeroPad, rank=2):
    """Padding with zeros around the last two dimensions.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ZeroPad2d((1, 0, 0, 1))(numgrad.ones(1, 1, 2))
        tensor([[[0., 1., 1.],
                 [0., 0., 0.]]])
    """


class ZeroPad3d(_ZeroPad, rank=3):
    """Padding with zeros around the last three dimensions."""


class ReflectionPad1d(_Pad, rank=1, mode="reflect"):
    """Padding with mirrored elements at both ends of the last dimension.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ReflectionPad1d(2)(numgrad.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """


class ReflectionPad2d(_Pad, rank=2, mode="reflect"):
    """Padding with mirrored elements around the last two dimensions."""


class ReflectionPad3d(_Pad, rank=3, mode="reflect"):
    """Padding with mirrored elements around the last three dimensions."""


class ReplicationPad1d(_Pad, rank=1, mode="replicate"):
    """Padding with the outermost elements at both ends of the last dimension.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ReplicationPad1d(2)(numgrad.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """


class ReplicationPad2d(_Pad, rank=2, mode="replicate"):
    """Padding with the outermost elements around the last two dimensions."""


class ReplicationPad3d(_Pad, rank=3, mode="replicate"):
    """Padding with the outermost elements around the last three dimensions."""


class _CircularPadNd(_Pad, mode="circular"):
    """Padding with the elements of the opposite end.

    Raises:
        ValueError: the input has an unsupported number of dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._rank + 1, self._rank + 2):
            raise ValueError(f"expected {self._rank + 1}D or {self._rank + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd, rank=1):
    """Padding with the elements of the opposite end at both ends of the last dimension.

    Example:
        >>> import numgrad
        >>> numgrad.nn.CircularPad1d(2)(numgrad.tensor([[1.0, 2.0, 3.0]]))
        tensor([[2., 3., 1., 2., 3., 1., 2.]])
    """


class CircularPad2d(_CircularPadNd, rank=2):
    """Padding with the elements of the opposite end around the last two dimensions."""


class CircularPad3d(_CircularPadNd, rank=3):
    """Padding with the elements of the opposite end around the last three dimensions."""
