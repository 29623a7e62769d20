"""A step of a recurrent network on GPUs, forward and backward: a thread for each element of a hidden state.

Rows belong to examples in a step, which begins at ``row``, as in ``cpu/recurrence.py``; ``shares`` are the products of
the ``count`` hidden states with the weights, to which ``bias`` is added if there is one.
"""

from __future__ import annotations

import numpy as np

from ..facts import InOut, Out
from ..scalar import sigmoid, tanh
from .adapter import cuda

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def _gate(gates, own, shares, other, bias, has_bias, column):
    """What a gate is made of."""
    value = gates[own] + shares[other]
    if has_bias:
        value += bias[column]
    return value


def lstm_step(
    gates: InOut, row, shares, bias, has_bias, beside: Out, end: InOut, out: Out, examples, size, count
):  # fmt: skip
    """``c = f * c + i * g; h = o * tanh(c)``; the gates and ``c`` are kept."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        n, j = number // size, number % size
        own, other, at = (row + n) * 4 * size + j, n * 4 * size + j, (row + n) * size + j
        i = sigmoid(_gate(gates, own, shares, other, bias, has_bias, j))
        f = sigmoid(_gate(gates, own + size, shares, other + size, bias, has_bias, j + size))
        g = tanh(_gate(gates, own + 2 * size, shares, other + 2 * size, bias, has_bias, j + 2 * size))
        o = sigmoid(_gate(gates, own + 3 * size, shares, other + 3 * size, bias, has_bias, j + 3 * size))
        c = f * end[(examples + n) * size + j] + i * g
        h = o * tanh(c)
        gates[own] = i
        gates[own + size] = f
        gates[own + 2 * size] = g
        gates[own + 3 * size] = o
        beside[at] = c
        out[at] = h
        end[n * size + j] = h
        end[(examples + n) * size + j] = c


def gru_step(
    gates: InOut, row, shares, bias, has_bias, beside: Out, end: InOut, out: Out, examples, size, count
):  # fmt: skip
    """``h = n + z * (h - n)``; the gates and the hidden state's share of the last one are kept."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        n, j = number // size, number % size
        own, other, at = (row + n) * 3 * size + j, n * 3 * size + j, (row + n) * size + j
        reset = sigmoid(_gate(gates, own, shares, other, bias, has_bias, j))
        update = sigmoid(_gate(gates, own + size, shares, other + size, bias, has_bias, j + size))
        share = shares[other + 2 * size]
        if has_bias:
            share += bias[j + 2 * size]
        new = tanh(gates[own + 2 * size] + reset * share)
        h = new + update * (end[n * size + j] - new)
        gates[own] = reset
        gates[own + size] = update
        gates[own + 2 * size] = new
        beside[at] = share
        out[at] = h
        end[n * size + j] = h


def tanh_step(gates, row, shares, bias, has_bias, beside, end: Out, out: Out, examples, size, count):
    """``h = tanh(gate)``."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        at = row * size + number
        h = tanh(_gate(gates, at, shares, number, bias, has_bias, number % size))
        out[at] = h
        end[number] = h


def relu_step(gates, row, shares, bias, has_bias, beside, end: Out, out: Out, examples, size, count):
    """``h = relu(gate)``; NaN stays NaN."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        at = row * size + number
        h = _gate(gates, at, shares, number, bias, has_bias, number % size)
        if h < T(0):
            h = T(0)
        out[at] = h
        end[number] = h


# -- backward: the rows of the step before begin at ``ahead``, and there are ``had`` of them ------------------------


def lstm_slopes(
    gates, row, beside, ahead, had, state, out, grad, grads: InOut, slopes: Out, shares, previous: Out, examples,
    size, count
):  # fmt: skip
    """The gradients for what the gates are made of, and for the cells' state before the step."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        n, j = number // size, number % size
        own, at, cell = (row + n) * 4 * size + j, (row + n) * size + j, (examples + n) * size + j
        before = state[cell]
        hidden = state[number]
        if n < had:
            before = beside[(ahead + n) * size + j]
            hidden = out[(ahead + n) * size + j]
        previous[at] = hidden
        curve = tanh(beside[at])
        slope = grads[number] + grad[at]
        i, f, g, o = gates[own], gates[own + size], gates[own + 2 * size], gates[own + 3 * size]
        of_cell = grads[cell] + slope * o * (T(1) - curve * curve)
        slopes[own] = of_cell * g * (i * (T(1) - i))
        slopes[own + size] = of_cell * before * (f * (T(1) - f))
        slopes[own + 2 * size] = of_cell * i * (T(1) - g * g)
        slopes[own + 3 * size] = slope * curve * (o * (T(1) - o))
        grads[cell] = of_cell * f


def gru_slopes(
    gates, row, beside, ahead, had, state, out, grad, grads: InOut, slopes: Out, shares: Out, previous: Out, examples,
    size, count
):  # fmt: skip
    """The gradients for the inputs' shares of the gates, and those of the hidden state; products are added."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        n, j = number // size, number % size
        own, at = (row + n) * 3 * size + j, (row + n) * size + j
        hidden = state[number]
        if n < had:
            hidden = out[(ahead + n) * size + j]
        previous[at] = hidden
        reset, update, new = gates[own], gates[own + size], gates[own + 2 * size]
        slope = grads[number] + grad[at]
        of_new = slope * (T(1) - update) * (T(1) - new * new)
        of_reset = of_new * beside[at] * (reset * (T(1) - reset))
        of_update = slope * (hidden - new) * (update * (T(1) - update))
        slopes[own] = of_reset
        shares[own] = of_reset
        slopes[own + size] = of_update
        shares[own + size] = of_update
        slopes[own + 2 * size] = of_new
        shares[own + 2 * size] = of_new * reset
        grads[number] = slope * update


def of_tanh(slope, out):
    """The gradient for what ``tanh`` is taken of, given that for its value and this value."""
    return slope * (T(1) - out * out)


def of_relu(slope, out):
    """The gradient for what ``relu`` is taken of, 0 where that is not positive."""
    return slope if out > T(0) else T(0)


def of_gate(slope, out):
    """Placeholder: one of these."""
    return slope


def plain_slopes(
    gates, row, beside, ahead, had, state, out, grad, grads, slopes: Out, shares, previous: Out, examples,
    size, count
):  # fmt: skip
    """The gradients for what a function is taken of, where there is no other gate."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        at = row * size + number
        hidden = state[number]
        if number < had * size:
            hidden = out[ahead * size + number]
        previous[at] = hidden
        slopes[at] = of_gate(grads[number] + grad[at], out[at])


def carry(products, adds, size, grads: InOut):
    """The first ``size`` elements of ``grads`` become the products, or are added to them."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        value = products[i]
        if adds:
            value += grads[i]
        grads[i] = value
