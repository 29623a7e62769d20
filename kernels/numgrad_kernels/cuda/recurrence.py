"""A step of a recurrent network on GPUs, forward and backward: a thread for each element of a hidden state.

Rows belong to examples in a step, which begins at ``row``, as in ``cpu/recurrence.py``.  ``shares`` are the products of
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
    """The pre-activation of a gate."""
    value = gates[own] + shares[other]
    if has_bias:
        value += bias[column]
    return value


def lstm_step(
    gates: InOut, row, shares, bias, has_bias, beside: Out, end: InOut, out: Out, examples, size, count
):  # fmt: skip
    """``c = f * c + i * g; h = o * tanh(c)``; the gates' pre-activations and ``c`` are kept."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        n, j = number // size, number % size
        own, other, at = (row + n) * 4 * size + j, n * 4 * size + j, (row + n) * size + j
        i = _gate(gates, own, shares, other, bias, has_bias, j)
        f = _gate(gates, own + size, shares, other + size, bias, has_bias, j + size)
        g = _gate(gates, own + 2 * size, shares, other + 2 * size, bias, has_bias, j + 2 * size)
        o = _gate(gates, own + 3 * size, shares, other + 3 * size, bias, has_bias, j + 3 * size)
        c = sigmoid(f) * end[(examples + n) * size + j] + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
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
    """``h = n + z * (h - n)``; the gates' pre-activations and the hidden state's share of the last are kept."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        n, j = number // size, number % size
        own, other, at = (row + n) * 3 * size + j, n * 3 * size + j, (row + n) * size + j
        r = _gate(gates, own, shares, other, bias, has_bias, j)
        z = _gate(gates, own + size, shares, other + size, bias, has_bias, j + size)
        share = shares[other + 2 * size]
        if has_bias:
            share += bias[j + 2 * size]
        of_new = gates[own + 2 * size] + sigmoid(r) * share
        new = tanh(of_new)
        h = new + sigmoid(z) * (end[n * size + j] - new)
        gates[own] = r
        gates[own + size] = z
        gates[own + 2 * size] = of_new
        beside[at] = share
        out[at] = h
        end[n * size + j] = h


def tanh_step(gates: InOut, row, shares, bias, has_bias, beside, end: Out, out: Out, examples, size, count):
    """``h = tanh(gate)``; the argument of ``tanh`` is kept."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        at = row * size + number
        gate = _gate(gates, at, shares, number, bias, has_bias, number % size)
        h = tanh(gate)
        gates[at] = gate
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


# -- backward: the rows of the previous step begin at ``ahead``, and there are ``had`` of them -------------------------


def tanh_slope(x):
    """The derivative of ``tanh``: ``1 - tanh(x)**2``, accurate where ``tanh(x)`` is rounded to 1."""
    return T(4) * sigmoid(T(2) * x) * sigmoid(T(-2) * x)


def lstm_slopes(
    gates, row, beside, ahead, had, state, out, grad, grads: InOut, slopes: Out, shares, previous: Out, examples,
    size, count
):  # fmt: skip
    """The gradients for the gates' pre-activations, and for the cells' state before the step."""
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
        i, f, g, o = gates[own], gates[own + size], gates[own + 2 * size], gates[own + 3 * size]
        new = tanh(g)
        slope = (grads[number] + grad[at]) * sigmoid(o)
        of_cell = grads[cell] + slope * tanh_slope(beside[at])
        into = of_cell * sigmoid(i)
        keep = of_cell * sigmoid(f)
        slopes[own] = into * sigmoid(-i) * new
        slopes[own + size] = keep * sigmoid(-f) * before
        slopes[own + 2 * size] = into * tanh_slope(g)
        slopes[own + 3 * size] = slope * sigmoid(-o) * curve
        grads[cell] = keep


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
        r, z, of_tanh = gates[own], gates[own + size], gates[own + 2 * size]
        reset = sigmoid(r)
        new = tanh(of_tanh)
        slope = grads[number] + grad[at]
        passed = slope * sigmoid(-z)
        of_new = passed * tanh_slope(of_tanh)
        of_reset = of_new * beside[at] * (reset * sigmoid(-r))
        of_update = passed * sigmoid(z) * (hidden - new)
        slopes[own] = of_reset
        shares[own] = of_reset
        slopes[own + size] = of_update
        shares[own + size] = of_update
        slopes[own + 2 * size] = of_new
        shares[own + 2 * size] = of_new * reset
        grads[number] = slope * sigmoid(z)


def of_tanh(slope, x, out):
    """The gradient for ``x``, given that for ``out``, ``tanh(x)``."""
    return slope * tanh_slope(x)


def of_relu(slope, x, out):
    """The gradient for the argument of ``relu``, 0 where that is not positive."""
    return slope if out > T(0) else T(0)


def of_gate(slope, x, out):
    """Placeholder: one of the functions above."""
    return slope


def plain_slopes(
    gates, row, beside, ahead, had, state, out, grad, grads, slopes: Out, shares, previous: Out, examples,
    size, count
):  # fmt: skip
    """The gradients for the argument of the function of a network without other gates."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        at = row * size + number
        hidden = state[number]
        if number < had * size:
            hidden = out[ahead * size + number]
        previous[at] = hidden
        slopes[at] = of_gate(grads[number] + grad[at], gates[at], out[at])


def carry(products, adds, size, grads: InOut):
    """Set the first ``size`` elements of ``grads`` to the products, or add these to them."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        value = products[i]
        if adds:
            value += grads[i]
        grads[i] = value
