"""Extraction of the windows of images as columns, and its adjoint."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functional
from .module import CallsFunction

__all__ = ["Fold", "Unfold"]


class Fold(CallsFunction, function=functional.fold):
    """``nn.functional.fold``: images of ``output_size`` as sums of windows, given as columns.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Fold(output_size=(4, 4), kernel_size=2)(numgrad.ones(1, 12, 9)).shape
        torch.Size([1, 3, 4, 4])
    """

    _shown = "output_size=", "kernel_size=", "dilation=", "padding=", "stride="

    def __init__(
        self, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )


class Unfold(CallsFunction, function=functional.unfold):
    """``nn.functional.unfold``: the windows of images as columns.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Unfold(kernel_size=2)(numgrad.ones(1, 3, 4, 4)).shape
        torch.Size([1, 12, 9])
    """

    _shown = "kernel_size=", "dilation=", "padding=", "stride="

    def __init__(
        self, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
