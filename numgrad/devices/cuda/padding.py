"""Convolutions' results that multiplied padding's zeros with infinities or NaN, computed anew; see the CPU's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from numgrad_kernels.cuda import padding

from ...core.layout import Ints, Layout
from ..padding import filter_numbers, window_numbers
from ..rows import DeviceRow
from .launching import blocks_for, launch

__all__ = ["mending_launcher", "weight_mending_launcher"]

#: How many results of a line that has met padding a thread looks at, about.
_EACH = 16


def mending_launcher(
    image: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, inside: Sequence[Any]
) -> Callable[..., None] | None:
    """What corrects products of windows: ``launch(images, filters, bias, row)``.

    It waits for nothing, and threads look at no results but those that may have met padding.
    """
    numbers = window_numbers(image, out, kernel, stride, dilation, groups, inside)
    if numbers is None:
        return None
    columns, begin, stop = numbers[-3:]
    has_gaps = max(inside[2]) > 1
    apart = columns if has_gaps else max(columns - (stop - begin), -(-columns // _EACH))
    size = out.size // columns * apart

    def mend(images: Any, filters: DeviceRow, bias: Any, row: DeviceRow) -> None:
        added = (filters, -1, 0) if bias is None else (bias._storage, bias._offset, *bias._layout.strides)
        launch(
            padding.mend, image.type.numpy, images._storage, filters, *added, *numbers, size, apart, row,
            blocks=blocks_for(size),
        )

    return mend


def weight_mending_launcher(
    image: Layout, grad: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, inside: Sequence[Any]
) -> Callable[..., None] | None:
    """The same for gradients of filters: ``launch(images, grad, row)``, where ``grad`` is a row, too."""
    numbers = filter_numbers(image, grad, kernel, stride, dilation, groups, inside)
    if numbers is None:
        return None
    size = image.shape[1] // groups * grad.shape[1] * math.prod(kernel)

    def mend(images: Any, grads: DeviceRow, row: DeviceRow) -> None:
        launch(
            padding.mend_weight, image.type.numpy, images._storage, grads, *numbers, size, row,
            blocks=blocks_for(size),
        )

    return mend
