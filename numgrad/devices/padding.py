"""Numbers that kernels get which compute anew what convolutions made of padding's zeros, NaN and infinities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.layout import Ints, Layout

__all__ = ["filter_numbers", "window_numbers"]


def window_numbers(
    image: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, inside: Sequence[Any]
) -> list[int] | None:
    """Those for products of windows, of the groups first and, last, of where windows of a line begin and stop to meet
    no padding.

    ``inside`` says for each dimension where the images' own elements begin and end, and how far apart they lie.  None
    for integers, and where there are no elements.
    """
    if image.type.numpy.kind not in "fc" or not out.size:
        return None
    low, end, _ = inside_of = [_three(each, otherwise) for each, otherwise in zip(inside, (0, 1, 1), strict=True)]
    windows, gap, reach = out.shape[-1], stride[-1], dilation[-1] * (kernel[-1] - 1)
    begin = min(max(-(-low[2] // gap), 0), windows)
    stop = min(max((end[2] - reach - 1) // gap + 1, begin), windows)
    numbers = [groups, image.shape[1] // groups, out.shape[1] // groups]
    for each in (*_threes(image, kernel, stride, dilation), *inside_of, _three(out.shape[2:], 1)):
        numbers += each
    return [*numbers, begin, stop]


def filter_numbers(
    image: Layout, grad: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, inside: Sequence[Any]
) -> list[int] | None:
    """Those for gradients of filters."""
    if image.type.numpy.kind not in "fc" or not grad.size or not image.shape[1]:
        return None
    numbers = [groups, image.shape[1] // groups, grad.shape[1] // groups, image.shape[0]]
    low, end, _ = inside
    for each in (*_threes(image, kernel, stride, dilation), _three(low, 0), _three(end, 1), _three(grad.shape[2:], 1)):
        numbers += each
    return numbers


def _threes(image: Layout, *sizes: Sequence[int]) -> list[list[int]]:
    return [_three(each, 1) for each in (image.shape[2:], *sizes)]


def _three(numbers: Sequence[int], otherwise: int) -> list[int]:
    """The numbers of three dimensions, of one to three that there are."""
    return [otherwise] * (3 - len(numbers)) + [int(number) for number in numbers]
