"""Normalization layers."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .. import functional, init
from ..parameter import Parameter
from .module import CallsFunction, Configured

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _as_shape(sizes: Any) -> tuple[int, ...]:
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


class AffineNorm(Configured):
    """The base class of normalizations with a ``weight``, initially ones, and perhaps a ``bias``, initially zeros."""

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Fill the weight with ones and the bias with zeros."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            parameter = self._parameters.get(name)
            if parameter is not None:
                fill(parameter)


class LayerNorm(AffineNorm):
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, with statistics over last dimensions of the given shape.

    Weight and bias have that shape, initially ones and zeros; with ``elementwise_affine=False`` there are none.

    Example:
        >>> import numgrad
        >>> numgrad.nn.LayerNorm(2, elementwise_affine=False)(numgrad.tensor([[1.0, 3.0]]))
        tensor([[-1.0000,  1.0000]])
    """

    _shown = "normalized_shape", "eps=", "elementwise_affine=", "bias="

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        shape = _as_shape(normalized_shape)
        super().__init__(normalized_shape=shape, eps=eps, elementwise_affine=elementwise_affine)
        weight_shape = shape if elementwise_affine else None
        self._add_parameters(device, dtype, weight=weight_shape, bias=weight_shape if bias else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(AffineNorm):
    """``x / sqrt(mean(x**2) + eps) * weight``, with the mean over last dimensions of the given shape.

    The weight has that shape and is initially ones; with ``elementwise_affine=False`` there is none.  ``eps`` defaults
    to the machine epsilon of the input's dtype.

    Example:
        >>> import numgrad
        >>> numgrad.nn.RMSNorm(2)(numgrad.tensor([3.0, 4.0]))
        tensor([0.8485, 1.1314], grad_fn=<MulBackward0>)
    """

    _shown = "normalized_shape", "eps=", "elementwise_affine="

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        shape = _as_shape(normalized_shape)
        super().__init__(normalized_shape=shape, eps=eps, elementwise_affine=elementwise_affine)
        self._add_parameters(device, dtype, weight=shape if elementwise_affine else None)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class LocalResponseNorm(CallsFunction, function=functional.local_response_norm):
    """``x / (k + alpha * mean(x ** 2)) ** beta``, with the mean over ``size`` channels around each."""

    _shown = "size", "alpha=", "beta=", "k="

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)


class GroupNorm(AffineNorm):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` over groups of channels of (n, num_channels, ...).

    Weight and bias have a number per channel, initially ones and zeros; with ``affine=False`` there are none.

    Raises:
        ValueError: the channels do not divide into the groups.

    Example:
        >>> import numgrad
        >>> numgrad.nn.GroupNorm(num_groups=1, num_channels=2)(numgrad.tensor([[1.0, 3.0]]))
        tensor([[-1.0000,  1.0000]], grad_fn=<NativeGroupNormBackward0>)
    """

    _shown = "num_groups", "num_channels", "eps=", "affine=", "bias="

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__(num_groups=num_groups, num_channels=num_channels, eps=eps, affine=affine)
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        shape = num_channels if affine else None
        self._add_parameters(device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)
