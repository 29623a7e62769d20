"""The largest element of each window of images, and where it is, on a GPU: a thread for each window."""

from __future__ import annotations

import numpy as np

from ..cpu.pooling import largest
from ..facts import Out
from .adapter import cuda

#: Placeholder: the dtype of the elements.
T = np.float32


def max_pool(
    x, depth, height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x, padding_z, padding_y,
    padding_x, dilation_z, dilation_y, dilation_x, layers, rows, columns, lowest, count, out: Out, indices: Out
):  # fmt: skip
    """The largest elements of all ``count`` windows, and their indices; see ``cpu/pooling.py``."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        line = i // columns
        best, index = largest(
            x, line // (layers * rows) * depth * height * width, line // rows % layers, line % rows, i % columns, depth,
            height, width, kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x, padding_z, padding_y, padding_x,
            dilation_z, dilation_y, dilation_x, lowest,
        )  # fmt: skip
        out[i] = best
        indices[i] = index
