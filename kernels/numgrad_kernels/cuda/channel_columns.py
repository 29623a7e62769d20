"""Normalization of the channels of a batch, and its gradients, on GPUs, where channels are columns of a matrix.

The matrix has a row for each example, and ``inner`` neighbouring columns for each channel: one if examples are vectors,
and few otherwise, as ``planes.py`` is for many.  Neighbouring threads process neighbouring columns.
"""

from __future__ import annotations

import numpy as np

from ..facts import Out
from ..scalar import sqrt
from .adapter import cuda
from .lines import line_totals
from .planes import normalize, sum_products, write_gradient
from .reductions import elements, share_of_column

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256


def normalized_columns(
    x, rows, width, inner, weight, weighted, bias, biased, variances, means, eps, shift, depth, pieces, piece_size,
    out: Out, scales: Out
):  # fmt: skip
    """``(x - mean) * scale * weight + bias``, where ``scale`` is ``1 / sqrt(variance + eps)``, which is stored, too."""
    level, _, column, piece = share_of_column(cuda.threadIdx.x, shift, width, pieces)
    if column < width:
        channel = column // inner
        mean = means[channel]
        scale = T(1) / sqrt(variances[channel] + T(eps))
        if piece == 0 and level == 0 and column == channel * inner:
            scales[channel] = scale
        factor = weight[channel] if weighted else T(1)
        term = bias[channel] if biased else T(0)
        at, gap, end, _ = elements(level, depth, width, rows, piece, piece_size)
        offset, step, last = at * width + column, gap * width, (end - 1) * width + column
        normalize(x, offset, step, 4 * step, last, mean, scale, factor, term, out)


def column_sums(
    grad, x, weight, weighted, means, scales, rows, width, inner, shift, depth, pieces, piece_size, sums: Out, out: Out
):  # fmt: skip
    """The sums of ``grad * y``, and after them those of ``grad``, over each piece of each column.

    ``y`` is ``(x - mean) * scale``.  If ``planes.CONSTANT``, ``out`` is ``grad * scale * weight``.
    """
    slopes = cuda.shared.array(THREADS, T)
    shifts = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, apart, column, piece = share_of_column(thread, shift, width, pieces)
    slope, total, scale = T(0), T(0), T(0)
    if column < width:
        channel = column // inner
        mean, scale = means[channel], scales[channel]
        at, gap, end, _ = elements(level, depth, width, rows, piece, piece_size)
        factor = scale * weight[channel] if weighted else scale
        slope, total = sum_products(grad, x, column, width, at, gap, depth, end, mean, factor, out)
    slope, total = line_totals(slopes, shifts, thread, level, depth, apart, slope, total)
    if level == 0 and column < width:
        sums[column * pieces + piece] = slope * scale
        sums[(width + column) * pieces + piece] = total


def columns_gradient(
    grad, x, rows, width, inner, weight, weighted, means, scales, sums, channels, shift, depth, pieces, piece_size,
    out: Out
):  # fmt: skip
    """``scale * weight * (grad - mean(grad) - y * mean(grad * y))``, where ``y`` is the normalized channel.

    ``sums`` are those of ``grad * y`` over each channel, and after them those of ``grad``.
    """
    level, _, column, piece = share_of_column(cuda.threadIdx.x, shift, width, pieces)
    if column < width:
        channel = column // inner
        mean, scale = means[channel], scales[channel]
        count = T(rows * inner)
        factor = weight[channel] if weighted else T(1)
        slope = factor * sums[channel] / count * scale
        centre = factor * sums[channels + channel] / count
        at, gap, end, _ = elements(level, depth, width, rows, piece, piece_size)
        offset, step, last = at * width + column, gap * width, (end - 1) * width + column
        write_gradient(grad, x, offset, step, 4 * step, last, mean, scale, factor, centre, slope, out)
