"""Softmax and its logarithm along one axis of an array, and their gradients.

The kernels named after rows use the last axis.  Those named after columns see the array as (outer, length, inner) and
use the middle one, reading up to COLUMNS neighbouring columns together.  A NaN makes all results that depend on it NaN,
whichever element is taken as the largest.  If the largest is minus infinity, ``floor`` is used instead: with minus
infinity a fully masked line becomes NaN, with 0 it becomes 0.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..blocks import block, put
from ..facts import Out
from ..local import local_array
from ..scalar import exp, log
from .segments import largest, long_total, products, short_total, strip, strips, total

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Columns that are processed together.
COLUMNS = 128


def _block_of_exponentials(x, top, out, none, offset):
    """``exp(x - top)``, which is also stored in ``out``."""
    values = exp(block(x, offset, 64) - top)
    put(out, offset, values)
    return values


def _exponentials(x, top, start, length, out):
    """The sum of ``exp(x - top)`` over a segment of a row; the exponentials are stored in ``out``."""
    if length < 64:
        for j in range(length):
            out[start + j] = exp(x[start + j] - top)
        return short_total(out, start, length)
    return long_total(_block_of_exponentials, x, top, out, T(0), start, length)


def factor(whole):
    """The factor of the exponentials, from their sum; a sum of 0 gives 0."""
    return T(1) / whole if whole != T(0) else T(0)


def share(value, exponential, top, scale):
    """An element of softmax, from its exponential and the factor."""
    return exponential * scale


def logarithm(whole):
    """Replacement of ``factor``."""
    return log(whole)


def logarithm_of_share(value, exponential, top, shift):
    """Replacement of ``share``: an element of its logarithm.  ``top + shift`` would be rounded to the digits of top."""
    return value - top - shift


def softmax_rows(x, length, floor, out: Out):
    """``exp(x)`` divided by its sum, or the result of other ``factor`` and ``share``, for each row."""
    for row in prange(x.size // length):
        start = row * length
        top = largest(x, start, length)
        top = T(floor) if top == T(-np.inf) else top
        scale = factor(_exponentials(x, top, start, length, out))
        for j in range(length):
            offset = start + j
            out[offset] = share(x[offset], out[offset], top, scale)


def softmax_backward_rows(grad, y, length, out: Out):
    """``y * (grad - sum(grad * y))``, for each row."""
    for row in prange(y.size // length):
        start = row * length
        mean = products(grad, T(0), y, T(0), start, length)
        for j in range(length):
            offset = start + j
            out[offset] = y[offset] * (grad[offset] - mean)


def log_softmax_backward_rows(grad, y, length, out: Out):
    """``grad - exp(y) * sum(grad)``, for each row."""
    for row in prange(y.size // length):
        start = row * length
        whole = total(grad, start, length)
        for j in range(length):
            offset = start + j
            out[offset] = grad[offset] - exp(y[offset]) * whole


def _exponentials_columns(x, base, length, inner, width, floor, out, top, sums):
    """``out`` becomes ``exp(x - top)``, ``top`` the largest elements and ``sums`` the sums of a strip of columns."""
    part = local_array(COLUMNS, T)
    for column in range(width):
        top[column] = x[base + column]
        sums[column] = T(0)
    for row in range(1, length):
        line = base + row * inner
        for column in range(width):
            value = x[line + column]
            top[column] = value if value > top[column] else top[column]
    for column in range(width):
        top[column] = T(floor) if top[column] == T(-np.inf) else top[column]
    for begin in range(0, length, 64):
        for column in range(width):
            part[column] = T(0)
        for row in range(begin, min(length, begin + 64)):
            line = base + row * inner
            for column in range(width):
                value = exp(x[line + column] - top[column])
                out[line + column] = value
                part[column] += value
        for column in range(width):
            sums[column] += part[column]


def softmax_columns(x, length, inner, floor, out: Out):
    """``exp(x)`` divided by its sum, or the result of other ``factor`` and ``share``, for each column."""
    for piece in prange(x.size // (length * inner) * strips(inner, COLUMNS)):
        start, width = strip(piece, length, inner, COLUMNS)
        base = start
        top = local_array(COLUMNS, T)
        sums = local_array(COLUMNS, T)
        _exponentials_columns(x, base, length, inner, width, floor, out, top, sums)
        for column in range(width):
            sums[column] = factor(sums[column])
        for row in range(length):
            line = base + row * inner
            for column in range(width):
                offset = line + column
                out[offset] = share(x[offset], out[offset], top[column], sums[column])


def summed(grad, y):
    """The term that the gradient of softmax sums along the axis."""
    return grad * y


def gradient(grad, y, whole):
    """The gradient of softmax, from the sum of these terms."""
    return y * (grad - whole)


def summed_of_logarithm(grad, y):
    """The term that the gradient of the logarithm of softmax sums along the axis."""
    return grad


def gradient_of_logarithm(grad, y, whole):
    """The gradient of the logarithm of softmax, from the sum of these terms."""
    return grad - exp(y) * whole


def backward_columns(grad, y, length, inner, out: Out):
    """``y * (grad - sum(grad * y))``, or the result of other ``summed`` and ``gradient``, for each column."""
    for piece in prange(y.size // (length * inner) * strips(inner, COLUMNS)):
        base, width = strip(piece, length, inner, COLUMNS)
        sums = local_array(COLUMNS, T)
        part = local_array(COLUMNS, T)
        sums[:] = T(0)
        for begin in range(0, length, 64):
            part[:] = T(0)
            for row in range(begin, min(length, begin + 64)):
                line = base + row * inner
                for column in range(width):
                    offset = line + column
                    part[column] += summed(grad[offset], y[offset])
            for column in range(width):
                sums[column] += part[column]
        for row in range(length):
            line = base + row * inner
            for column in range(width):
                offset = line + column
                out[offset] = gradient(grad[offset], y[offset], sums[column])
