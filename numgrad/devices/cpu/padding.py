"""Convolutions' results that multiplied padding's zeros with infinities or NaN, computed anew; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import padding

from ...core.layout import Ints, Layout
from ..padding import filter_numbers, window_numbers
from .launching import kernel_for

__all__ = ["mending_launcher", "weight_mending_launcher"]


def mending_launcher(
    image: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, inside: Sequence[Any]
) -> Callable[..., None] | None:
    """What corrects products of windows: ``launch(images, filters, bias, row)``; None for integers.

    ``image`` is contiguous; see :func:`window_numbers` for ``inside``.  ``filters`` and ``row`` are rows.
    """
    numbers = window_numbers(image, out, kernel, stride, dilation, groups, inside)
    if numbers is None:
        return None
    dtype = image.type.numpy
    types = dtype, dtype, dtype, int, int, *[int] * len(numbers), dtype
    kernel_of = kernel_for(padding.mend, dtype, types, out.size // 8)

    def launch(images: Any, filters: np.ndarray, bias: Any, row: np.ndarray) -> None:
        added = (filters, -1, 0) if bias is None else (bias._storage, bias._offset, *bias._layout.strides)
        kernel_of().entry(images._storage, filters, *added, *numbers, row)

    return launch


def weight_mending_launcher(
    image: Layout, grad: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, inside: Sequence[Any]
) -> Callable[..., None] | None:
    """The same for gradients of filters: ``launch(images, grad, row)``, where ``grad`` is a row, too."""
    numbers = filter_numbers(image, grad, kernel, stride, dilation, groups, inside)
    if numbers is None:
        return None
    dtype, work = image.type.numpy, image.shape[1] // groups * grad.shape[1] * math.prod(kernel)
    kernel_of = kernel_for(padding.mend_weight, dtype, (dtype, dtype, *[int] * len(numbers), dtype), work)

    def launch(images: Any, grads: np.ndarray, row: np.ndarray) -> None:
        kernel_of().entry(images._storage, grads, *numbers, row)

    return launch
