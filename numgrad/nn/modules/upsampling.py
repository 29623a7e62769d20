"""Resizing of images as modules."""

from __future__ import annotations

from typing import Any

from .. import functional
from .module import CallsFunction

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(CallsFunction, function=functional.interpolate):
    """Images resized to a given size or by a factor; see :func:`nn.functional.interpolate`.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Upsample(scale_factor=2)(numgrad.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        if isinstance(scale_factor, int | float):
            scale_factor = float(scale_factor)
        elif isinstance(scale_factor, tuple):
            scale_factor = tuple(map(float, scale_factor))
        super().__init__(
            size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners,
            recompute_scale_factor=recompute_scale_factor,
        )
        self.name = type(self).__name__

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images resized with the nearest elements."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Images resized by linear interpolation along each dimension, with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
