"""Convolutions where each filter sees one channel; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import depthwise as depthwise_kernels

from ..memory import no_row
from ..plan import Buffer, Plan, TensorRef

__all__ = ["depthwise"]

#: Columns of which kernels make a block, as many as there are.
LANES = 32, 16, 8, 4


def depthwise(
    p: Plan, name: str, first: TensorRef, second: TensorRef, bias: TensorRef | None, images: int, channels: int,
    multiplier: int, sizes: Sequence[int],
) -> Buffer | None:  # fmt: skip
    """Convolve images with ``multiplier`` filters for each channel, or make a gradient of that.

    By the name that is done with images, filters and a bias ("convolution"), with a gradient, filters and a bias
    ("convolution_input"), or with a gradient and images ("convolution_weight").  ``sizes`` are three numbers each, one
    for each dimension: of the images, the filters, their strides, paddings and dilations, and how many windows there
    are.  For numbers that are not floating-point, and very long strides, there is no kernel, and None is returned.
    """
    dtype = first.type.numpy
    size, kernel, stride, padding, dilation, windows = [tuple(sizes[i : i + 3]) for i in range(0, 18, 3)]
    if dtype.kind != "f" or stride[2] > depthwise_kernels.COLUMNS:
        return None
    places = dilation[2] * np.arange(kernel[2]) - padding[2]  # where each element of a filter is in the first window
    begins, ends = [np.clip(-((places - edge) // stride[2]), 0, windows[2]) for edge in (0, size[2])]
    results = images * channels * multiplier * math.prod(windows)
    work = results * math.prod(kernel)
    whole = max(min(ends) - max(begins), 0)  # columns of which no element of a filter meets padding
    parts: dict[str, Any] = {"LANES": next((lanes for lanes in LANES if whole >= lanes), LANES[-1])}
    if stride[2] == 2:
        parts["elements"] = depthwise_kernels.elements_by_two
    given = p.contiguous(first), p.contiguous(second)
    numbers = channels, multiplier, *sizes
    if name == "convolution_weight":
        out = p.new(channels * multiplier * math.prod(kernel), dtype)
        p.run(
            depthwise_kernels.depthwise_weight, dtype, *given, begins, ends, images, *numbers, out, work=work, **parts
        )
        return out
    added: Any = no_row(dtype) if bias is None else p.contiguous(bias)
    if name == "convolution":
        direct = stride[2] < 3 and whole >= parts["LANES"]
        begin, end = (int(max(begins)), int(min(ends))) if direct else (0, 0)
        out = p.new(results, dtype)
        p.run(
            depthwise_kernels.depthwise, dtype, *given, added, begin, end, *numbers, out, work=work, **parts
        )
        return out
    out = p.new(images * channels * math.prod(size), dtype)
    p.run(depthwise_kernels.depthwise_input, dtype, *given, added, begins, ends, *numbers, out, work=work)
    return out
