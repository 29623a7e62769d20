"""Softmax and its logarithm along one axis of an array, and their gradients.

The kernels named after rows take the axis for the last one, those named after columns see the array as (outer,
length, inner) and take the middle one, reading up to COLUMNS neighbouring columns together.  A NaN makes all results
that depend on it NaN whatever is taken for the largest element.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..local import local_array
from ..scalar import exp, log
from .stretches import largest, products, total

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Columns that are treated together.
COLUMNS = 128


def softmax_rows(x, length, out):
    """``exp(x)`` divided by its sum, for each row."""
    for row in prange(x.size // length):
        start = row * length
        top = largest(x, start, length)
        for j in range(length):
            out[start + j] = exp(x[start + j] - top)
        factor = T(1) / total(out, start, length)
        for j in range(length):
            out[start + j] *= factor


def log_softmax_rows(x, length, out):
    """``x`` less the logarithm of the sum of ``exp(x)``, for each row."""
    for row in prange(x.size // length):
        start = row * length
        top = largest(x, start, length)
        for j in range(length):
            out[start + j] = exp(x[start + j] - top)
        shift = log(total(out, start, length))
        for j in range(length):
            out[start + j] = x[start + j] - top - shift  # top + shift would be rounded to the digits of top


def softmax_backward_rows(grad, y, length, out):
    """``y * (grad - sum(grad * y))``, for each row."""
    for row in prange(y.size // length):
        start = row * length
        mean = products(grad, T(0), y, T(0), start, length)
        for j in range(length):
            out[start + j] = y[start + j] * (grad[start + j] - mean)


def log_softmax_backward_rows(grad, y, length, out):
    """``grad - exp(y) * sum(grad)``, for each row."""
    for row in prange(y.size // length):
        start = row * length
        whole = total(grad, start, length)
        for j in range(length):
            out[start + j] = grad[start + j] - exp(y[start + j]) * whole


def _exponentials(x, base, length, inner, width, out, top, sums):
    """``out`` becomes ``exp(x - top)``, ``top`` the largest elements and ``sums`` the sums of a strip of columns."""
    part = local_array(COLUMNS, T)
    for column in range(width):
        top[column] = x[base + column]
        sums[column] = T(0)
    for row in range(1, length):
        line = np.uint64(base + row * inner)
        for column in range(width):
            value = x[line + np.uint64(column)]
            top[column] = value if value > top[column] else top[column]
    for begin in range(0, length, 64):
        part[:] = T(0)
        for row in range(begin, min(length, begin + 64)):
            line = np.uint64(base + row * inner)
            for column in range(width):
                out[line + np.uint64(column)] = exp(x[line + np.uint64(column)] - top[column])
            for column in range(width):
                part[column] += out[line + np.uint64(column)]
        for column in range(width):
            sums[column] += part[column]


def softmax_columns(x, length, inner, out):
    """``exp(x)`` divided by its sum, for each column."""
    strips = (inner + COLUMNS - 1) // COLUMNS
    for piece in prange(x.size // (length * inner) * strips):
        first = piece % strips * COLUMNS
        width = min(COLUMNS, inner - first)
        base = piece // strips * length * inner + first
        top = local_array(COLUMNS, T)
        sums = local_array(COLUMNS, T)
        _exponentials(x, base, length, inner, width, out, top, sums)
        for column in range(width):
            sums[column] = T(1) / sums[column]
        for row in range(length):
            line = np.uint64(base + row * inner)
            for column in range(width):
                out[line + np.uint64(column)] *= sums[column]


def log_softmax_columns(x, length, inner, out):
    """``x`` less the logarithm of the sum of ``exp(x)``, for each column."""
    strips = (inner + COLUMNS - 1) // COLUMNS
    for piece in prange(x.size // (length * inner) * strips):
        first = piece % strips * COLUMNS
        width = min(COLUMNS, inner - first)
        base = piece // strips * length * inner + first
        top = local_array(COLUMNS, T)
        sums = local_array(COLUMNS, T)
        _exponentials(x, base, length, inner, width, out, top, sums)
        for column in range(width):
            sums[column] = log(sums[column])
        for row in range(length):
            line = np.uint64(base + row * inner)
            for column in range(width):
                out[line + np.uint64(column)] = x[line + np.uint64(column)] - top[column] - sums[column]


def summed(grad, y):
    """What the gradient of softmax sums along the axis."""
    return grad * y


def gradient(grad, y, whole):
    """The gradient of softmax, from what was summed."""
    return y * (grad - whole)


def summed_of_logarithm(grad, y):
    """What the gradient of the logarithm of softmax sums along the axis."""
    return grad


def gradient_of_logarithm(grad, y, whole):
    """The gradient of the logarithm of softmax, from what was summed."""
    return grad - exp(y) * whole


def backward_columns(grad, y, length, inner, out):
    """``y * (grad - sum(grad * y))``, or what else ``summed`` and ``gradient`` say, for each column."""
    strips = (inner + COLUMNS - 1) // COLUMNS
    for piece in prange(y.size // (length * inner) * strips):
        first = piece % strips * COLUMNS
        width = min(COLUMNS, inner - first)
        base = piece // strips * length * inner + first
        sums = local_array(COLUMNS, T)
        part = local_array(COLUMNS, T)
        sums[:] = T(0)
        for begin in range(0, length, 64):
            part[:] = T(0)
            for row in range(begin, min(length, begin + 64)):
                line = np.uint64(base + row * inner)
                for column in range(width):
                    place = line + np.uint64(column)
                    part[column] += summed(grad[place], y[place])
            for column in range(width):
                sums[column] += part[column]
        for row in range(length):
            line = np.uint64(base + row * inner)
            for column in range(width):
                place = line + np.uint64(column)
                out[place] = gradient(grad[place], y[place], sums[column])
