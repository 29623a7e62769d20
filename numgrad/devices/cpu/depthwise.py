"""Convolutions where each filter sees one channel; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import depthwise

from .launching import bound

__all__ = ["depthwise_launcher"]


def depthwise_launcher(
    name: str, type: Any, images: int, channels: int, multiplier: int, sizes: Sequence[int]
) -> Callable[..., np.ndarray] | None:
    """What convolves images with ``multiplier`` filters for each channel, or makes a gradient of that.

    By the name that is ``launch(images, filters, bias)`` of "convolution", ``launch(grad, filters, bias)`` of
    "convolution_input" or ``launch(grad, images)`` of "convolution_weight", all of rows; a bias may be None.
    ``sizes`` are three numbers each, one for each dimension: of the images, the filters, their strides, paddings and
    dilations, and how many windows there are.  For numbers that are not floating-point there is none.
    """
    dtype = type.numpy
    if dtype.kind != "f":
        return None
    size, kernel, windows = [tuple(sizes[i : i + 3]) for i in (0, 3, 15)]
    first = sizes[14] * np.arange(kernel[2]) - sizes[11]  # where each element of a filter is in the first window
    begins, ends = [np.clip(-((first - edge) // sizes[8]), 0, windows[2]) for edge in (0, size[2])]
    results = images * channels * multiplier * math.prod(windows)
    work = results * math.prod(kernel)
    if name == "convolution_weight":
        outs = [(channels * multiplier * math.prod(kernel), dtype)]
        counts = images, channels, multiplier
        return bound(
            depthwise.depthwise_weight, dtype, None, dtype, (dtype, begins, ends, *counts, *sizes), outs, work
        )
    forward = name == "convolution"
    function = depthwise.depthwise if forward else depthwise.depthwise_input
    outs = [(results if forward else images * channels * math.prod(size), dtype)]
    given = dtype, dtype, begins, ends, channels, multiplier, *sizes
    compute = bound(function, dtype, None, dtype, given, outs, work)
    nothing = np.empty(0, dtype)
    return lambda x, filters, bias: compute(x, filters, nothing if bias is None else bias)
