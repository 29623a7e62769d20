"""Layer normalization: each row brought to mean 0 and variance 1, scaled and shifted; and its gradients."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..scalar import sqrt
from .stretches import products, total

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Rows over which the gradient of the weight is summed in one piece.
ROWS = 64


def _moments(x, start, length, eps):
    """The mean of a row, and 1 by the square root of its variance and ``eps``."""
    mean = total(x, start, length) / T(length)
    variance = products(x, mean, x, mean, start, length) / T(length)
    return mean, T(1) / sqrt(variance + T(eps))


def layer_norm_rows(x, length, weight, bias, eps, out):
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, for each row."""
    for row in prange(x.size // length):
        start = row * length
        mean, scale = _moments(x, start, length, eps)
        for j in range(length):
            out[start + j] = (x[start + j] - mean) * scale * weight[j] + bias[j]


def layer_norm_backward_rows(grad, x, length, weight, eps, out):
    """``scale * (g - mean(g) - y * mean(g * y))`` with ``g = grad * weight`` and ``y`` the normalized row."""
    for row in prange(x.size // length):
        start = row * length
        mean, scale = _moments(x, start, length, eps)
        for j in range(length):
            out[start + j] = grad[start + j] * weight[j]
        shift = total(out, start, length) / T(length)
        slope = products(out, shift, x, mean, start, length) / T(length) * scale * scale
        for j in range(length):
            out[start + j] = scale * (out[start + j] - shift - (x[start + j] - mean) * slope)


def layer_norm_weight_backward(grad, x, length, eps, out):
    """``out[p]`` is the sum of ``grad * y`` over the rows of piece ``p``, ``y`` being the normalized rows."""
    for piece in prange(out.size // length):
        target = np.uint64(piece * length)
        for j in range(length):
            out[target + np.uint64(j)] = T(0)
        for row in range(piece * ROWS, min(x.size // length, (piece + 1) * ROWS)):
            mean, scale = _moments(x, row * length, length, eps)
            start = np.uint64(row * length)
            for j in range(length):
                place = start + np.uint64(j)
                out[target + np.uint64(j)] += grad[place] * ((x[place] - mean) * scale)
