"""Pooling as modules, each of which applies its function with stored arguments."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .. import functional
from .module import CallsFunction

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]


def for_each(value: Any, count: int) -> tuple[Any, ...]:
    """Return a sequence as a tuple, and anything else repeated ``count`` times."""
    return tuple(value) if isinstance(value, tuple | list) else (value,) * count


class _Pool(CallsFunction):
    """A function of windows, which may return indices, too."""

    def forward(self, input: Tensor) -> Any:
        return self._function(input, **self._options())


class _MaxPoolNd(_Pool):
    _shown = "kernel_size=", "stride=", "padding=", "dilation=", "ceil_mode="

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding,
            dilation=dilation, return_indices=return_indices, ceil_mode=ceil_mode,
        )


class MaxPool1d(_MaxPoolNd, function=functional.max_pool1d):
    """The maxima of windows of (n, channels, length) or (channels, length).

    Example:
        >>> import numgrad
        >>> numgrad.nn.MaxPool1d(2)(numgrad.tensor([[1.0, 3.0]]))
        tensor([[3.]])
    """


class MaxPool2d(_MaxPoolNd, function=functional.max_pool2d):
    """The maxima of windows of (n, channels, height, width) or (channels, height, width).

    Example:
        >>> import numgrad
        >>> numgrad.nn.MaxPool2d(2)(numgrad.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
    """


class MaxPool3d(_MaxPoolNd, function=functional.max_pool3d):
    """The maxima of windows of (n, channels, depth, height, width), or without n."""


class _MaxUnpoolNd(_Pool):
    _shown = "kernel_size=", "stride=", "padding="

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        steps = kernel_size if stride is None else stride
        sizes = {"kernel_size": kernel_size, "stride": steps, "padding": padding}
        super().__init__(**{name: for_each(value, self._rank) for name, value in sizes.items()})

    def forward(  # type: ignore[override]
        self, input: Tensor, indices: Tensor, output_size: Any = None
    ) -> Tensor:
        return self._function(input, indices, output_size=output_size, **self._options())


class MaxUnpool1d(_MaxUnpoolNd, function=functional.max_unpool1d, rank=1):
    """Maxima of windows at the positions where :class:`MaxPool1d` found them, zeros elsewhere.

    Example:
        >>> import numgrad
        >>> pool = numgrad.nn.MaxPool1d(2, return_indices=True)
        >>> values, indices = pool(numgrad.tensor([[[1.0, 4.0, 3.0, 2.0]]]))
        >>> numgrad.nn.MaxUnpool1d(2)(values, indices)
        tensor([[[0., 4., 3., 0.]]])
    """


class MaxUnpool2d(_MaxUnpoolNd, function=functional.max_unpool2d, rank=2):
    """Maxima of windows at the positions where :class:`MaxPool2d` found them, zeros elsewhere."""


class MaxUnpool3d(_MaxUnpoolNd, function=functional.max_unpool3d, rank=3):
    """Maxima of windows at the positions where :class:`MaxPool3d` found them, zeros elsewhere."""


class AvgPool1d(_Pool, function=functional.avg_pool1d):
    """The means of windows of (n, channels, length) or (channels, length).

    Example:
        >>> import numgrad
        >>> numgrad.nn.AvgPool1d(2)(numgrad.tensor([[1.0, 3.0]]))
        tensor([[2.]])
    """

    _shown = "kernel_size=", "stride=", "padding="

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        steps = kernel_size if stride is None else stride
        super().__init__(
            kernel_size=for_each(kernel_size, 1), stride=for_each(steps, 1),
            padding=for_each(padding, 1), ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        )


class _AvgPool(_Pool):
    _shown = "kernel_size=", "stride=", "padding="

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:
        super().__init__(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding,
            ceil_mode=ceil_mode, count_include_pad=count_include_pad, divisor_override=divisor_override,
        )


class AvgPool2d(_AvgPool, function=functional.avg_pool2d):
    """The means of windows of (n, channels, height, width) or (channels, height, width).

    Example:
        >>> import numgrad
        >>> numgrad.nn.AvgPool2d(2)(numgrad.ones(1, 4, 4)).shape
        torch.Size([1, 2, 2])
    """


class AvgPool3d(_AvgPool, function=functional.avg_pool3d):
    """The means of windows of (n, channels, depth, height, width), or without n."""


class _LPPoolNd(_Pool):
    _shown = "norm_type=", "kernel_size=", "stride=", "ceil_mode="

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class LPPool1d(_LPPoolNd, function=functional.lp_pool1d):
    """``sum(x ** p) ** (1 / p)`` of windows of (n, channels, length) or (channels, length)."""


class LPPool2d(_LPPoolNd, function=functional.lp_pool2d):
    """``sum(x ** p) ** (1 / p)`` of windows of (n, channels, height, width) or (channels, height, width)."""


class LPPool3d(_LPPoolNd, function=functional.lp_pool3d):
    """``sum(x ** p) ** (1 / p)`` of windows of (n, channels, depth, height, width), or without n."""


class _AdaptiveAvgPoolNd(_Pool):
    _shown = ("output_size=",)

    def __init__(self, output_size: Any) -> None:
        super().__init__(output_size=output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function=functional.adaptive_avg_pool1d):
    """The means of a given number of windows of (n, channels, length) or (channels, length).

    Example:
        >>> import numgrad
        >>> numgrad.nn.AdaptiveAvgPool1d(2)(numgrad.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
        tensor([[[1.5000, 3.5000]]])
    """


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function=functional.adaptive_avg_pool2d):
    """The means of a given number of windows of (n, channels, height, width) or (channels, height, width).

    Example:
        >>> import numgrad
        >>> numgrad.nn.AdaptiveAvgPool2d((2, 1))(numgrad.ones(1, 3, 8, 6)).shape
        torch.Size([1, 3, 2, 1])
    """


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function=functional.adaptive_avg_pool3d):
    """The means of a given number of windows of (n, channels, depth, height, width), or without n."""


class _AdaptiveMaxPoolNd(_Pool):
    _shown = ("output_size=",)

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size=output_size, return_indices=return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=functional.adaptive_max_pool1d):
    """The maxima of a given number of windows of (n, channels, length) or (channels, length).

    Example:
        >>> import numgrad
        >>> numgrad.nn.AdaptiveMaxPool1d(2)(numgrad.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
        tensor([[[2., 4.]]])
    """


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=functional.adaptive_max_pool2d):
    """The maxima of a given number of windows of (n, channels, height, width) or (channels, height, width).

    Example:
        >>> import numgrad
        >>> numgrad.nn.AdaptiveMaxPool2d((2, 1))(numgrad.ones(1, 3, 8, 6)).shape
        torch.Size([1, 3, 2, 1])
    """


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=functional.adaptive_max_pool3d):
    """The maxima of a given number of windows of (n, channels, depth, height, width), or without n."""


class _FractionalMaxPool(_Pool):
    """Pooling of windows at random positions.

    Raises:
        ValueError: neither or both of size and ratio are given, or a ratio is not between 0 and 1.
    """

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        sizes, ratios = [
            None if option is None else for_each(option, self._rank) for option in (output_size, output_ratio)
        ]
        super().__init__(
            kernel_size=for_each(kernel_size, self._rank), return_indices=return_indices, output_size=sizes,
            output_ratio=ratios,
        )
        self._keep_buffer("_random_samples", _random_samples)
        if sizes is None and ratios is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling ratio"
            )
        if sizes is not None and ratios is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if ratios is not None and not all(0 < ratio < 1 for ratio in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPool, function=functional.fractional_max_pool2d, rank=2):
    """The maxima of windows at random positions of (n, channels, height, width), or without n."""


class FractionalMaxPool3d(_FractionalMaxPool, function=functional.fractional_max_pool3d, rank=3):
    """The maxima of windows at random positions of (n, channels, depth, height, width), or without n."""
