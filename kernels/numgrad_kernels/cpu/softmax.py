"""Softmax and its logarithm over the rows of an array, and their gradients; negative log-likelihood."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..local import local_array
from ..scalar import exp, log, maximum

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def _largest(x, start, stop):
    """The largest element of a stretch; NaN if there is one."""
    best = x[start]
    for i in range(start + 1, stop):
        best = maximum(best, x[i])
    return best


def _sum(x, start, stop):
    """The sum of a stretch, through 16 accumulators."""
    lanes = local_array(16, T)
    lanes[:] = T(0)
    whole = start + (stop - start) // 16 * 16
    for i in range(start, whole, 16):
        for j in range(16):
            lanes[j] += x[i + j]
    for j in range(stop - whole):
        lanes[j] += x[whole + j]
    width = 8
    while width:
        for j in range(width):
            lanes[j] += lanes[j + width]
        width //= 2
    return lanes[0]


def _dot(x, y, start, stop):
    """The sum of products of two stretches, through 16 accumulators."""
    lanes = local_array(16, T)
    lanes[:] = T(0)
    whole = start + (stop - start) // 16 * 16
    for i in range(start, whole, 16):
        for j in range(16):
            lanes[j] += x[i + j] * y[i + j]
    for j in range(stop - whole):
        lanes[j] += x[whole + j] * y[whole + j]
    width = 8
    while width:
        for j in range(width):
            lanes[j] += lanes[j + width]
        width //= 2
    return lanes[0]


def softmax_rows(x, length, out):
    """``exp(x)`` divided by its sum, for each row."""
    for row in prange(x.size // length):
        start, stop = row * length, (row + 1) * length
        largest = _largest(x, start, stop)
        for i in range(start, stop):
            out[i] = exp(x[i] - largest)
        factor = T(1) / _sum(out, start, stop)
        for i in range(start, stop):
            out[i] *= factor


def log_softmax_rows(x, length, out):
    """``x`` less the logarithm of the sum of ``exp(x)``, for each row."""
    for row in prange(x.size // length):
        start, stop = row * length, (row + 1) * length
        largest = _largest(x, start, stop)
        for i in range(start, stop):
            out[i] = exp(x[i] - largest)
        shift = log(_sum(out, start, stop))
        for i in range(start, stop):
            out[i] = x[i] - largest - shift  # largest + shift would be rounded to the digits of largest


def softmax_backward_rows(grad, y, length, out):
    """``y * (grad - sum(grad * y))``, for each row."""
    for row in prange(y.size // length):
        start, stop = row * length, (row + 1) * length
        mean = _dot(grad, y, start, stop)
        for i in range(start, stop):
            out[i] = y[i] * (grad[i] - mean)


def log_softmax_backward_rows(grad, y, length, out):
    """``grad - exp(y) * sum(grad)``, for each row."""
    for row in prange(y.size // length):
        start, stop = row * length, (row + 1) * length
        total = _sum(grad, start, stop)
        for i in range(start, stop):
            out[i] = grad[i] - exp(y[i]) * total


def pick_rows(x, length, target, ignored, out):
    """``-x[row, target[row]]`` for each row, 0 where the target is ``ignored``."""
    for row in range(target.size):
        index = target[row]
        out[row] = T(0) if index == ignored else -x[row * length + index]


def put_rows(grad, length, target, ignored, out):
    """``out`` (zeros) gets ``-grad[row]`` at ``[row, target[row]]``, unless the target is ``ignored``."""
    for row in range(target.size):
        index = target[row]
        if index != ignored:
            out[row * length + index] = -grad[row]
