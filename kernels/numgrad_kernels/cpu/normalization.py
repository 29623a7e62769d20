"""Layer normalization: each row brought to mean 0 and variance 1, scaled and shifted; and its gradients.

The mean of each row and its scale, 1 by the square root of the variance and ``eps``, are kept for the gradients.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..blocks import between, block, repeated, tree_total
from ..facts import Out
from ..local import local_array
from ..scalar import sqrt
from .segments import LEAF, products, short_total, total

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def layer_norm_rows(x, length, weight, bias, eps, out: Out, means: Out, scales: Out):
    """``(x - mean) * scale * weight + bias``, for each row."""
    for row in prange(means.size):
        start = row * length
        mean = total(x, start, length) / T(length)
        variance = products(x, mean, x, mean, start, length) / T(length)
        scale = T(1) / sqrt(variance + T(eps))
        means[row] = mean
        scales[row] = scale
        for j in range(length):
            offset = start + j
            out[offset] = (x[offset] - mean) * scale * weight[j] + bias[j]


def _projections(grad, weight, x, mean, start, length):
    """The sums of ``grad * weight`` and of ``grad * weight * (x - mean)`` over a row."""
    shift = T(0)
    slope = T(0)
    if length < 64:
        shifts = local_array(64, T)
        slopes = local_array(64, T)
        for j in range(length):
            shifts[j] = grad[start + j] * weight[j]
            slopes[j] = shifts[j] * (x[start + j] - mean)
        shift = short_total(shifts, 0, length)
        slope = short_total(slopes, 0, length)
    else:
        for begin in range(0, length, LEAF):
            first = repeated(T(0), 64)
            second = repeated(T(0), 64)
            stop = min(begin + LEAF, length)
            for i in range(begin, stop - 63, 64):
                values = block(grad, start + i, 64) * block(weight, i, 64)
                first = first + values
                second = second + values * (block(x, start + i, 64) - mean)
            counted = 64 - (stop - begin) % 64  # of the last 64 elements
            if counted < 64:
                base = stop - 64
                values = between(block(grad, start + base, 64) * block(weight, base, 64), counted, 64, T(0))
                first = first + values
                second = second + values * (block(x, start + base, 64) - mean)
            shift += tree_total(first, 64)
            slope += tree_total(second, 64)
    return shift, slope


def layer_norm_gradients(grad, x, means, scales, length, weight, rows, out: Out, parts: Out):
    """``out = scale * (g - mean(g) - y * mean(g * y))`` with ``g = grad * weight`` and ``y`` the normalized row.

    The gradients for weight and bias are summed over pieces of ``rows`` rows:
    ``parts[p, 0]`` becomes the sum of ``grad * y`` over piece ``p``, ``parts[p, 1]`` that of ``grad``.
    """
    for piece in prange(parts.size // (2 * length)):
        factors = piece * 2 * length
        terms = factors + length
        for j in range(2 * length):
            parts[factors + j] = T(0)
        for row in range(piece * rows, min(means.size, (piece + 1) * rows)):
            start = row * length
            mean = means[row]
            scale = scales[row]
            shift, slope = _projections(grad, weight, x, mean, start, length)
            shift /= T(length)
            slope *= scale / T(length)
            for j in range(length):
                offset = start + j
                normal = (x[offset] - mean) * scale
                out[offset] = scale * (grad[offset] * weight[j] - shift - normal * slope)
                parts[factors + j] += grad[offset] * normal
                parts[terms + j] += grad[offset]
