"""Correction of convolutions where zeros of padding meet infinities and NaN; see ``cpu/padding.py``."""

from __future__ import annotations

import numpy as np

from ..cpu.padding import mend_line, mended_weight
from ..facts import InOut
from .adapter import cuda

#: Placeholder: the dtype of the elements.
T = np.float32


def mend(
    image, filters, bias, biased, groups, channels, count, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y, end_x, layers, rows,
    columns, begin, stop, size, apart, out: InOut
):  # fmt: skip
    """Mend lines as the CPU does, with ``apart`` threads for each line and ``size`` in all."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        mend_line(
            image, filters, bias, biased, groups, channels, count, depth, height, width, kernel_z,
            kernel_y, kernel_x, stride_z, stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x,
            end_z, end_y, end_x, layers, rows, columns, begin, stop, i // apart,
            i % apart, apart, out,
        )  # fmt: skip


def mend_weight(
    image, grad, groups, channels, count, images, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z,
    stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y, end_x, layers, rows,
    columns, size, out: InOut
):  # fmt: skip
    """Mend the gradient of filters as the CPU does, with a thread for each of their ``size`` elements."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        if out[i] - out[i] != T(0):  # it is not finite
            out[i] = mended_weight(
                image, grad, groups, channels, count, images, depth, height, width, kernel_z, kernel_y, kernel_x,
                stride_z, stride_y, stride_x, dilation_z, dilation_y, dilation_x, low_z, low_y, low_x, end_z, end_y,
                end_x, layers, rows, columns, i,
            )  # fmt: skip
