"""Convolutions, transposed convolutions, and lazy variants that infer their input channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...tensors.tensor import Tensor
from .. import functional, init
from ..parameter import Parameter
from .lazy import LazyLayer
from .module import CallsFunction

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]

#: One number for all dimensions of an image, or one for each.
Sizes = int | Sequence[int]


class _ConvNd(CallsFunction):
    """The base class of convolutions, with ``weight`` and ``bias`` and their initialization.

    Raises:
        ValueError: the channels do not divide into the groups, or the padding is invalid.
    """

    in_channels: int
    out_channels: int
    padding: Any
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes, padding: Sizes | str,
        dilation: Sizes, transposed: bool, output_padding: Sizes, groups: int, bias: bool, padding_mode: str,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels=in_channels, out_channels=out_channels, kernel_size=self._sizes(kernel_size),
            stride=self._sizes(stride), padding=padding if isinstance(padding, str) else self._sizes(padding),
            dilation=self._sizes(dilation), transposed=transposed, output_padding=self._sizes(output_padding),
            groups=groups, padding_mode=padding_mode,
        )
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        self._check_padding()
        self._reversed_padding_repeated_twice = self._widths()
        self._add_parameters(device, dtype, weight=self._weight_shape(), bias=out_channels if bias else None)
        self.reset_parameters()

    def _sizes(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes) if isinstance(sizes, Sequence) else (sizes,) * self._rank

    def _check_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = "zeros", "reflect", "replicate", "circular"
        if self.padding_mode not in modes:
            raise ValueError(
                f"padding_mode must be one of {{{str(modes)[1:-1]}}}, but got padding_mode='{self.padding_mode}'"
            )

    def _widths(self) -> tuple[int, ...]:
        """Return the padding as ``pad`` takes it: two numbers for each dimension, the last dimension first."""
        if self.padding == "valid":
            return (0, 0) * self._rank
        if isinstance(self.padding, tuple):
            return tuple([extra for extra in reversed(self.padding) for _ in range(2)])
        totals = [gap * (size - 1) for gap, size in zip(self.dilation, self.kernel_size, strict=True)]
        return tuple([width for total in reversed(totals) for width in (total // 2, total - total // 2)])

    def _weight_shape(self) -> tuple[int, ...]:
        channels = self.out_channels, self.in_channels
        first, second = reversed(channels) if self.transposed else channels
        return first, second // self.groups, *self.kernel_size

    def reset_parameters(self) -> None:
        """Reinitialize weight and bias, uniformly within ``1 / sqrt(fan_in)`` of 0."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = math.prod(self.weight.shape[1:])
        if self.bias is not None and fan_in:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        nothing, ones = (0,) * self._rank, (1,) * self._rank
        shown: list[tuple[str, Any, Any]]
        shown = [("padding", self.padding, nothing), ("dilation", self.dilation, ones)]
        shown += [("output_padding", self.output_padding, nothing), ("groups", self.groups, 1)]
        shown += [("bias", self.bias is not None, True), ("padding_mode", self.padding_mode, "zeros")]
        more = [f", {name}={value}" for name, value, default in shown if value != default]
        channels = f"{self.in_channels}, {self.out_channels}"
        return f"{channels}, kernel_size={self.kernel_size}, stride={self.stride}{''.join(more)}"


class _Conv(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes | str = 0,
        dilation: Sizes = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode,
            device, dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        padding: Sizes | str = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return self._function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv, function=functional.conv1d, rank=1):
    """The convolution of inputs of shape (n, in_channels, length), or without n; see ``Conv2d``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Conv1d(2, 4, kernel_size=3, padding=1)(numgrad.ones(1, 2, 8)).shape
        torch.Size([1, 4, 8])
    """


class Conv2d(_Conv, function=functional.conv2d, rank=2):
    """The convolution of images of shape (n, in_channels, rows, columns), or without n, with learnt filters.

    Args:
        in_channels: the number of channels of an image.
        out_channels: the number of filters, each of which yields a channel of the result.
        kernel_size: the size of a filter; like ``stride``, ``padding`` and ``dilation``, one number or one for each
            dimension.
        stride: the distance between adjacent windows.
        padding: the number of elements added at both ends of a dimension; "same" for the number that preserves the
            size, "valid" for none.
        dilation: the distance in the image between adjacent elements of a filter.
        groups: the number of groups of channels and filters; each filter is applied to the channels of its group.
        bias: True to add a learnt number to each channel of the result.
        padding_mode: the kind of padding: "zeros", "reflect", "replicate" or "circular" (see ``nn.functional.pad``).
        device: the device of weight and bias.
        dtype: the dtype of weight and bias.

    ``weight`` has the shape (out_channels, in_channels / groups, *kernel_size).  It and ``bias`` are drawn uniformly
    between ``-1 / sqrt(n)`` and ``1 / sqrt(n)``, where n is the number of elements of a filter.

    Raises:
        ValueError: the channels do not divide into the groups, or the padding is invalid.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.Conv2d(3, 8, kernel_size=3, padding=1)
        >>> layer(numgrad.zeros(1, 3, 16, 16)).shape
        torch.Size([1, 8, 16, 16])
    """


class Conv3d(_Conv, function=functional.conv3d, rank=3):
    """The convolution of images of shape (n, in_channels, layers, rows, columns), or without n; see ``Conv2d``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Conv3d(1, 2, kernel_size=3)(numgrad.ones(1, 1, 4, 5, 6)).shape
        torch.Size([1, 2, 2, 3, 4])
    """


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
        output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias,
            padding_mode, device, dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Return the transposed convolution; ``output_size`` selects one of the possible sizes of the result."""
        extra = self.output_padding if output_size is None else self._for_size(input, tuple(output_size))
        return self._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _for_size(self, input: Tensor, size: tuple[int, ...]) -> tuple[int, ...]:
        """Return the ``output_padding`` for a result of this size.

        Raises:
            ValueError: the size is impossible.
        """
        rank = self._rank
        outer = input.dim() - rank
        if len(size) == input.dim():
            size = size[outer:]
        if len(size) != rank:
            raise ValueError(
                f"ConvTranspose{rank}D: for {input.dim()}D input, output_size must have {rank} or {rank + outer} "
                f"elements (got {len(size)})"
            )
        each_dim: Any = zip(
            input.shape[outer:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
        )
        least: list[int] = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in each_dim]
        most = [low + step - 1 for low, step in zip(least, self.stride, strict=True)]
        if not all(low <= extent <= high for low, extent, high in zip(least, size, most, strict=True)):
            raise ValueError(
                f"requested an output size of {size}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.shape[outer:]})"
            )
        return tuple([extent - low for extent, low in zip(size, least, strict=True)])


class ConvTranspose1d(_ConvTransposeNd, function=functional.conv_transpose1d, rank=1):
    """The transposed convolution of inputs of shape (n, in_channels, length); see ``ConvTranspose2d``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ConvTranspose1d(2, 4, kernel_size=2, stride=2)(numgrad.ones(1, 2, 8)).shape
        torch.Size([1, 4, 16])
    """


class ConvTranspose2d(_ConvTransposeNd, function=functional.conv_transpose2d, rank=2):
    """The transposed convolution of images of shape (n, in_channels, rows, columns), or without n.

    It is the gradient of a convolution with respect to its images: each element is multiplied by a filter, and
    overlapping products are added up.

    Args:
        in_channels: the number of channels of an image.
        out_channels: the number of channels of the result.
        kernel_size: the size of a filter; like the following numbers, one for all dimensions or one for each.
        stride: the distance in the result between the filters of adjacent elements.
        padding: the number of elements removed at both ends of a dimension.
        output_padding: the number of elements added at the end of each dimension, less than stride or dilation.
        groups: the number of groups of channels; each group yields channels of its own.
        bias: True to add a learnt number to each channel of the result.
        dilation: the distance in the result between adjacent elements of a filter.
        padding_mode: "zeros".
        device: the device of weight and bias.
        dtype: the dtype of weight and bias.

    ``weight`` has the shape (in_channels, out_channels / groups, *kernel_size).

    Raises:
        ValueError: the channels do not divide into the groups, or ``padding_mode`` is not "zeros".

    Example:
        >>> import numgrad
        >>> numgrad.nn.ConvTranspose2d(2, 4, kernel_size=2, stride=2)(numgrad.ones(1, 2, 5, 6)).shape
        torch.Size([1, 4, 10, 12])
    """


class ConvTranspose3d(_ConvTransposeNd, function=functional.conv_transpose3d, rank=3):
    """The transposed convolution of images of shape (n, in_channels, layers, rows, columns); see ``ConvTranspose2d``.
    """


class _LazyConvNd(LazyLayer):
    """The part of convolutions that infers ``in_channels`` from the first input."""

    _inferred = "in_channels"
    out_channels: int

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Create weight and bias for images with the input's number of channels.

        Raises:
            RuntimeError: the input does not have the rank of images.
        """
        rank = self._rank
        if input.dim() not in (rank + 1, rank + 2):
            raise RuntimeError(
                f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {input.shape}"
            )
        if self.in_channels:
            return
        channels = input.shape[-rank - 1]
        if channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.in_channels = channels
        if self.has_uninitialized_params():
            self._materialize(weight=self._weight_shape(), bias=(self.out_channels,))


class _LazyConv(_LazyConvNd):
    def __init__(
        self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes | str = 0, dilation: Sizes = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self.out_channels = out_channels
        self._leave_open(device, dtype, weight=True, bias=bias)


class LazyConv1d(_LazyConv, Conv1d, becomes=Conv1d):
    """A lazy ``Conv1d`` that infers ``in_channels`` from its first input and then becomes an ordinary one."""


class LazyConv2d(_LazyConv, Conv2d, becomes=Conv2d):
    """A lazy ``Conv2d`` that infers ``in_channels`` from its first input and then becomes an ordinary one.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.LazyConv2d(8, kernel_size=3)
        >>> layer(numgrad.ones(1, 3, 5, 5)).shape, layer.in_channels
        (torch.Size([1, 8, 3, 3]), 3)
    """


class LazyConv3d(_LazyConv, Conv3d, becomes=Conv3d):
    """A lazy ``Conv3d`` that infers ``in_channels`` from its first input and then becomes an ordinary one."""


class _LazyConvTranspose(_LazyConvNd):
    def __init__(
        self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0, output_padding: Sizes = 0,
        groups: int = 1, bias: bool = True, dilation: Sizes = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self.out_channels = out_channels
        self._leave_open(device, dtype, weight=True, bias=bias)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d, becomes=ConvTranspose1d):
    """A lazy ``ConvTranspose1d`` that infers ``in_channels`` from its first input and then becomes an ordinary one."""


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d, becomes=ConvTranspose2d):
    """A lazy ``ConvTranspose2d`` that infers ``in_channels`` from its first input and then becomes an ordinary one."""


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d, becomes=ConvTranspose3d):
    """A lazy ``ConvTranspose3d`` that infers ``in_channels`` from its first input and then becomes an ordinary one."""
