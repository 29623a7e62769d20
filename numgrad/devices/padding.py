"""Numbers that kernels get which compute anew what convolutions made of padding's zeros, NaN and infinities."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.layout import Ints

__all__ = ["filter_numbers", "three", "window_numbers"]


def window_numbers(
    image: Ints, out: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int, low: Ints, end: Ints
) -> list[int]:
    """Those for products of windows, of the groups first and, last, of where windows of a line begin and stop to meet
    no padding.

    ``image`` and ``out`` are shapes; ``low`` and ``end`` say for each dimension where the images' own elements begin
    and end.
    """
    windows, gap, reach = out[-1], stride[-1], dilation[-1] * (kernel[-1] - 1)
    begin = min(max(-(-low[-1] // gap), 0), windows)
    stop = min(max((end[-1] - reach - 1) // gap + 1, begin), windows)
    numbers = [groups, image[1] // groups, out[1] // groups]
    return [*numbers, *_threes(image, out, kernel, stride, dilation, low, end), begin, stop]


def filter_numbers(
    image: Ints, grad: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int, low: Ints, end: Ints
) -> list[int]:
    """Those for gradients of filters, given those for results of the shape ``grad``."""
    numbers = [groups, image[1] // groups, grad[1] // groups, image[0]]
    return [*numbers, *_threes(image, grad, kernel, stride, dilation, low, end)]


def _threes(
    image: Ints, out: Ints, kernel: Ints, stride: Ints, dilation: Ints, low: Ints, end: Ints
) -> list[int]:
    sizes = (image[2:], 1), (kernel, 1), (stride, 1), (dilation, 1), (low, 0), (end, 1), (out[2:], 1)
    return [number for each, otherwise in sizes for number in three(each, otherwise)]


def three(numbers: Sequence[int], otherwise: int) -> list[int]:
    """The numbers of three dimensions, of one to three that there are."""
    return [otherwise] * (3 - len(numbers)) + list(numbers)
