"""Rearrangement of channels into pixels and back, as modules."""

from __future__ import annotations

from .. import functional
from .module import CallsFunction

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(CallsFunction, function=functional.pixel_shuffle):
    """``(..., c * r**2, h, w)`` becomes ``(..., c, h * r, w * r)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.PixelShuffle(2)(numgrad.ones(1, 4, 3, 3)).shape
        torch.Size([1, 1, 6, 6])
    """

    _shown = ("upscale_factor=",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)


class PixelUnshuffle(CallsFunction, function=functional.pixel_unshuffle):
    """``(..., c, h * r, w * r)`` becomes ``(..., c * r**2, h, w)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.PixelUnshuffle(2)(numgrad.ones(1, 1, 6, 6)).shape
        torch.Size([1, 4, 3, 3])
    """

    _shown = ("downscale_factor=",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor=downscale_factor)
