"""Steps of convolutions in which each filter applies to one channel; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import depthwise as kernels

from ..memory import or_empty
from ..plan import Buffer, Plan, TensorRef

__all__ = ["depthwise", "depthwise_is_fused"]

#: Numbers of columns of a block in the kernels: the first that fits into a line is used.
LANES = 32, 16, 8, 4


def depthwise_is_fused(type: Any, stride: int) -> bool:
    """Return True if there is a kernel for tensors of this type and for this stride along lines."""
    return type.numpy.kind == "f" and stride <= kernels.COLUMNS


def depthwise(
    p: Plan, name: str, first: TensorRef, second: TensorRef, bias: TensorRef | None, images: int, channels: int,
    multiplier: int, sizes: Sequence[int],
) -> Buffer:  # fmt: skip
    """Return the buffer of the convolution of images with ``multiplier`` filters of each channel, or of a gradient.

    The operands are images, filters and a bias for the name "convolution", a gradient, filters and a bias for
    "convolution_input", a gradient and images for "convolution_weight".  ``sizes`` are three numbers, one for each
    dimension, for the extents of the images and of the filters, the strides, paddings and dilations, and the counts of
    windows.
    """
    dtype = first.type.numpy
    size, kernel, stride, padding, dilation, windows = [tuple(sizes[i : i + 3]) for i in range(0, 18, 3)]
    positions = dilation[2] * np.arange(kernel[2]) - padding[2]  # of each element of a filter, in the first window
    begins, ends = [np.clip(-((positions - edge) // stride[2]), 0, windows[2]) for edge in (0, size[2])]
    results = images * channels * multiplier * math.prod(windows)
    work = results * math.prod(kernel)
    whole = max(min(ends) - max(begins), 0)  # columns in which no element of a filter meets padding
    parts: dict[str, Any] = {"LANES": next((lanes for lanes in LANES if whole >= lanes), LANES[-1])}
    if stride[2] == 2:
        parts["elements"] = kernels.elements_by_two
    operands, numbers = (p.contiguous(first), p.contiguous(second)), (channels, multiplier, *sizes)
    if name == "convolution_weight":
        out = p.new(channels * multiplier * math.prod(kernel), dtype)
        p.run(kernels.depthwise_weight, dtype, *operands, begins, ends, images, *numbers, out, work=work, **parts)
        return out
    added = or_empty(bias and p.contiguous(bias), dtype)
    if name == "convolution":
        direct = stride[2] < 3 and whole >= parts["LANES"]
        begin, end = (int(max(begins)), int(min(ends))) if direct else (0, 0)
        out = p.new(results, dtype)
        p.run(kernels.depthwise, dtype, *operands, added, begin, end, *numbers, out, work=work, **parts)
        return out
    out = p.new(images * channels * math.prod(size), dtype)
    p.run(kernels.depthwise_input, dtype, *operands, added, begins, ends, *numbers, out, work=work)
    return out
