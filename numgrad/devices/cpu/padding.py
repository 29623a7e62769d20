"""Convolutions' results that multiplied padding's zeros with infinities or NaN, computed anew; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import padding

from ...core.layout import Ints, Layout
from ..memory import no_row
from .launching import kernel_for

__all__ = ["mending_launcher", "weight_mending_launcher"]


def mending_launcher(
    image: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, inside: Sequence[Any],
    bias: Layout | None,
) -> Callable[..., None] | None:
    """What corrects products of windows: ``launch(images, filters, bias, row)``; None for what is not floating-point.

    ``image`` is contiguous; ``inside`` says for each dimension where the images' own elements begin and end, and how
    far apart they lie.  ``filters`` and ``row`` are rows.
    """
    dtype, channels = image.type.numpy, image.shape[1] // groups
    if dtype.kind != "f" or not out.size or (bias is not None and bias.strides != (1,)):
        return None
    low, end, _ = inside_of = [_three(each, each_else) for each, each_else in zip(inside, (0, 1, 1), strict=True)]
    windows, gap, reach = out.shape[-1], stride[-1], dilation[-1] * (kernel[-1] - 1)
    begin = min(max(-(-low[2] // gap), 0), windows)
    stop = min(max((end[2] - reach - 1) // gap + 1, begin), windows)
    sizes = [_three(each, 1) for each in (image.shape[2:], kernel, stride, dilation)]
    numbers = [groups, channels, out.shape[1] // groups]
    for each in (*sizes, *inside_of, _three(out.shape[2:], 1)):
        numbers += each
    numbers += [begin, stop]
    types = dtype, dtype, dtype, int, *[int] * len(numbers), dtype
    kernel_of, none = kernel_for(padding.mend, dtype, types, out.size // 8), no_row(dtype)

    def launch(images: Any, filters: np.ndarray, bias: Any, row: np.ndarray) -> None:
        added = (none, 0) if bias is None else (bias._storage, bias._offset)
        kernel_of().entry(images._storage, filters, *added, *numbers, row)

    return launch


def weight_mending_launcher(
    image: Layout, grad: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, inside: Sequence[Any]
) -> Callable[..., None] | None:
    """The same for gradients of filters: ``launch(images, grad, row)``, where ``grad`` is a row, too."""
    dtype, channels = image.type.numpy, image.shape[1] // groups
    if dtype.kind != "f" or not grad.size or not channels:
        return None
    sizes = [_three(each, 1) for each in (image.shape[2:], kernel, stride, dilation)]
    numbers = [groups, channels, grad.shape[1] // groups, image.shape[0]]
    for each in (*sizes, _three(inside[0], 0), _three(inside[1], 1), _three(grad.shape[2:], 1)):
        numbers += each
    work = channels * grad.shape[1] * math.prod(kernel)
    kernel_of = kernel_for(padding.mend_weight, dtype, (dtype, dtype, *[int] * len(numbers), dtype), work)

    def launch(images: Any, grads: np.ndarray, row: np.ndarray) -> None:
        kernel_of().entry(images._storage, grads, *numbers, row)

    return launch


def _three(numbers: Sequence[int], otherwise: int) -> list[int]:
    """The numbers of three dimensions, of one to three that there are."""
    return [otherwise] * (3 - len(numbers)) + [int(number) for number in numbers]
