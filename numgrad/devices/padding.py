"""Operands of the kernels that recompute convolutions in which zeros of the padding met NaN or infinities."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.layout import Ints

__all__ = ["filter_numbers", "three", "window_numbers"]


def window_numbers(
    image: Ints, out: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int, low: Ints, end: Ints
) -> list[int]:
    """Return the numbers for products of windows, from the number of groups to the range of windows of a line that meet
    no padding.

    ``image`` and ``out`` are shapes.  The elements of the images, without padding, extend from ``low`` to ``end`` in
    each dimension.
    """
    windows, gap, reach = out[-1], stride[-1], dilation[-1] * (kernel[-1] - 1)
    begin = min(max(-(-low[-1] // gap), 0), windows)
    stop = min(max((end[-1] - reach - 1) // gap + 1, begin), windows)
    numbers = [groups, image[1] // groups, out[1] // groups]
    return [*numbers, *_threes(image, out, kernel, stride, dilation, low, end), begin, stop]


def filter_numbers(
    image: Ints, grad: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int, low: Ints, end: Ints
) -> list[int]:
    """Return the numbers for gradients of filters, given gradients of results of the shape ``grad``."""
    numbers = [groups, image[1] // groups, grad[1] // groups, image[0]]
    return [*numbers, *_threes(image, grad, kernel, stride, dilation, low, end)]


def _threes(
    image: Ints, out: Ints, kernel: Ints, stride: Ints, dilation: Ints, low: Ints, end: Ints
) -> list[int]:
    sizes = (image[2:], 1), (kernel, 1), (stride, 1), (dilation, 1), (low, 0), (end, 1), (out[2:], 1)
    return [number for numbers, absent in sizes for number in three(numbers, absent)]


def three(numbers: Sequence[int], absent: int) -> list[int]:
    """Return one to three numbers, preceded by ``absent`` for each of three dimensions that is missing."""
    return [absent] * (3 - len(numbers)) + list(numbers)
