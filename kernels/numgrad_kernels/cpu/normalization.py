"""Layer normalization: scale each row to mean 0 and variance 1, then scale and shift it; and the gradients.

The mean of each row and its scale, 1 divided by the square root of the variance plus ``eps``, are kept for the
gradients.
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
            counted = 64 - (stop - begin) % 64  # number of the last 64 elements already counted
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

    The gradients for weight and bias are summed over pieces of ``rows`` rows: ``parts[p, 0]`` becomes the sum of
    ``grad * y`` over piece ``p``, ``parts[p, 1]`` that of ``grad``.
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


# -- sets of planes: a channel over all examples, or the channels of a group in one -------------------------------
#
# Plane number p of an array, of ``inner`` elements, belongs to channel ``p % channels``.  Set r has ``planes`` of them,
# the first of which is number ``r * first``; the others follow by ``step``.  There may be as many planes in a set as
# there are examples: their sums are added up in float64.


def normalized_planes(
    x, weight, bias, inner, channels, planes, first, step, eps, out: Out, means: Out, scales: Out, variances: Out
):
    """``(x - mean) * scale * weight + bias``, with the mean and the scale of each set."""
    for r in prange(means.size):
        elements = 1.0 * planes * inner
        added = squares = 0.0
        for s in range(planes):
            added += total(x, (r * first + s * step) * inner, inner)
        mean = T(added / elements)
        for s in range(planes):
            start = (r * first + s * step) * inner
            squares += products(x, mean, x, mean, start, inner)
        variance = T(squares / elements)
        scale = T(1) / sqrt(variance + T(eps))
        means[r] = mean
        scales[r] = scale
        variances[r] = variance
        for s in range(planes):
            plane = r * first + s * step
            factor = scale * weight[plane % channels]
            term = bias[plane % channels]
            for j in range(plane * inner, (plane + 1) * inner):
                out[j] = (x[j] - mean) * factor + term


def normalized_planes_gradients(
    grad, x, means, scales, weight, inner, channels, planes, first, step, constant, out: Out, parts: Out
):
    """``out = scale * (g - mean(g) - y * mean(g * y))`` with ``g = grad * weight`` and ``y`` the normalized set.

    If means and scales are ``constant``, it is ``scale * g``.

    ``parts[0, p]`` becomes the sum of ``grad * y`` over plane ``p``, ``parts[1, p]`` that of ``grad``.
    """
    for r in prange(means.size):
        mean = means[r]
        scale = scales[r]
        shifts = slopes = 0.0
        for s in range(planes):
            plane = r * first + s * step
            of_scale = products(grad, T(0), x, mean, plane * inner, inner) * scale
            of_shift = total(grad, plane * inner, inner)
            parts[plane] = of_scale
            parts[parts.size // 2 + plane] = of_shift
            slopes += of_scale * weight[plane % channels]
            shifts += of_shift * weight[plane % channels]
        shift = scale * T(shifts / (1.0 * planes * inner))
        slope = scale * scale * T(slopes / (1.0 * planes * inner))
        for s in range(planes):
            plane = r * first + s * step
            factor = scale * weight[plane % channels]
            if constant:
                for j in range(plane * inner, (plane + 1) * inner):
                    out[j] = grad[j] * factor
                continue
            for j in range(plane * inner, (plane + 1) * inner):
                out[j] = grad[j] * factor - shift - (x[j] - mean) * slope
