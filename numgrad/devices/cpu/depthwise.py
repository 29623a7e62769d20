"""Convolutions where each filter sees one channel; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import depthwise

from .copying import rearranger
from .launching import bound

__all__ = ["depthwise_launcher"]

#: Columns of which kernels make a block, as many as there are.
LANES = 32, 16, 8, 4


def depthwise_launcher(
    name: str, type: Any, images: int, channels: int, multiplier: int, sizes: Sequence[int]
) -> Callable[..., np.ndarray] | None:
    """What convolves images with ``multiplier`` filters for each channel, or makes a gradient of that.

    By the name that is ``launch(images, filters, bias)`` of "convolution", ``launch(grad, filters, bias)`` of
    "convolution_input" or ``launch(grad, images)`` of "convolution_weight", all of rows; a bias may be None.
    ``sizes`` are three numbers each, one for each dimension: of the images, the filters, their strides, paddings and
    dilations, and how many windows there are.  For numbers that are not floating-point, and very long strides, there is
    none.
    """
    dtype = type.numpy
    size, kernel, stride, padding, dilation, windows = [tuple(sizes[i : i + 3]) for i in range(0, 18, 3)]
    if dtype.kind != "f" or stride[2] > depthwise.COLUMNS:
        return None
    first = dilation[2] * np.arange(kernel[2]) - padding[2]  # where each element of a filter is in the first window
    begins, ends = [np.clip(-((first - edge) // stride[2]), 0, windows[2]) for edge in (0, size[2])]
    results = images * channels * multiplier * math.prod(windows)
    work = results * math.prod(kernel)
    whole = max(min(ends) - max(begins), 0)  # columns of which no element of a filter meets padding
    parts: dict[str, Any] = {"LANES": next((lanes for lanes in LANES if whole >= lanes), LANES[-1])}
    if stride[2] == 2:
        parts["elements"] = depthwise.elements_by_two
    if name == "convolution_weight":
        outs = [(channels * multiplier * math.prod(kernel), dtype)]
        given = dtype, begins, ends, images, channels, multiplier, *sizes
        return bound(depthwise.depthwise_weight, dtype, None, dtype, given, outs, work, **parts)
    nothing = np.empty(0, dtype)
    if name == "convolution":
        direct = stride[2] < 3 and whole >= parts["LANES"]
        begin, end = (int(max(begins)), int(min(ends))) if direct else (0, 0)
        given = dtype, dtype, begin, end, channels, multiplier, *sizes
        compute = bound(depthwise.depthwise, dtype, None, dtype, given, [(results, dtype)], work, **parts)
        return lambda x, filters, bias: compute(x, filters, nothing if bias is None else bias)
    if multiplier == 1 and stride == (1, 1, 1):  # a convolution with the filters turned round
        paddings = [reach * (count - 1) - own for reach, count, own in zip(dilation, kernel, padding, strict=True)]
        sizes = *windows, *kernel, *stride, *paddings, *dilation, *size
        turned: Any = depthwise_launcher("convolution", type, images, channels, 1, sizes)
        taps = math.prod(kernel)
        turn = rearranger(dtype, (channels, taps), (taps, -1), taps - 1)
        return lambda grad, filters, bias: turned(grad, turn(filters), bias)
    given = dtype, dtype, begins, ends, channels, multiplier, *sizes
    outs = [(images * channels * math.prod(size), dtype)]
    compute = bound(depthwise.depthwise_input, dtype, None, dtype, given, outs, work)
    return lambda grad, filters, bias: compute(grad, filters, nothing if bias is None else bias)
