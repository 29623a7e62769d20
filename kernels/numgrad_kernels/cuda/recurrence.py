"""A step of a recurrent network on GPUs, forward and backward: a thread for each element of a hidden state.

Rows belong to examples in a step, which begins at ``row``, as in ``cpu/recurrence.py``.  ``shares`` are the products of
the ``count`` hidden states with the weights, to which ``bias`` is added if there is one.
"""

from __future__ import annotations

import numpy as np

from ..cpu.recurrence import gru, gru_slope, lstm, lstm_slope, tanh_slope
from ..facts import InOut, Out
from ..scalar import tanh
from .adapter import cuda

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def _gate(gates, own_gate, shares, other, bias, has_bias, column):
    """The pre-activation of a gate."""
    value = gates[own_gate] + shares[other]
    if has_bias:
        value += bias[column]
    return value


def lstm_step(
    gates: InOut, row, shares, bias, has_bias, extra: Out, end: InOut, out: Out, examples, size, count
):  # fmt: skip
    """``c = f * c + i * g; h = o * tanh(c)``; the gates' pre-activations and ``c`` are kept."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        n, j = number // size, number % size
        gate, other, at = (row + n) * 4 * size + j, n * 4 * size + j, (row + n) * size + j
        i = _gate(gates, gate, shares, other, bias, has_bias, j)
        f = _gate(gates, gate + size, shares, other + size, bias, has_bias, j + size)
        g = _gate(gates, gate + 2 * size, shares, other + 2 * size, bias, has_bias, j + 2 * size)
        o = _gate(gates, gate + 3 * size, shares, other + 3 * size, bias, has_bias, j + 3 * size)
        c, h = lstm(i, f, g, o, end[(examples + n) * size + j])
        gates[gate] = i
        gates[gate + size] = f
        gates[gate + 2 * size] = g
        gates[gate + 3 * size] = o
        extra[at] = c
        out[at] = h
        end[n * size + j] = h
        end[(examples + n) * size + j] = c


def gru_step(
    gates: InOut, row, shares, bias, has_bias, extra: Out, end: InOut, out: Out, examples, size, count
):  # fmt: skip
    """``h = n + z * (h - n)``; the gates' pre-activations and the hidden state's share of the last are kept."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        n, j = number // size, number % size
        gate, other, at = (row + n) * 3 * size + j, n * 3 * size + j, (row + n) * size + j
        r = _gate(gates, gate, shares, other, bias, has_bias, j)
        z = _gate(gates, gate + size, shares, other + size, bias, has_bias, j + size)
        share = shares[other + 2 * size]
        if has_bias:
            share += bias[j + 2 * size]
        new, h = gru(r, z, gates[gate + 2 * size], share, end[n * size + j])
        gates[gate] = r
        gates[gate + size] = z
        gates[gate + 2 * size] = new
        extra[at] = share
        out[at] = h
        end[n * size + j] = h


def tanh_step(gates: InOut, row, shares, bias, has_bias, extra, end: Out, out: Out, examples, size, count):
    """``h = tanh(gate)``; the argument of ``tanh`` is kept."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        at = row * size + number
        gate = _gate(gates, at, shares, number, bias, has_bias, number % size)
        h = tanh(gate)
        gates[at] = gate
        out[at] = h
        end[number] = h


def relu_step(gates, row, shares, bias, has_bias, extra, end: Out, out: Out, examples, size, count):
    """``h = relu(gate)``; NaN stays NaN."""
    for number in range(cuda.grid(1), count * size, cuda.gridsize(1)):
        at = row * size + number
        h = _gate(gates, at, shares, number, bias, has_bias, number % size)
        if h < T(0):
            h = T(0)
        out[at] = h
        end[number] = h


# -- backward: the rows of the previous step begin at ``ahead``, and there are ``had`` of them -------------------------

# ``products`` are those of the ``later`` elements of the hidden state that the next step began with: the gradients for
# them, to which those in ``grads`` are added if ``adds``.


def gradient_of_hidden(products, later, adds, grads, number):
    """The gradient for an element of the hidden state after the step."""
    value = grads[number] if adds or number >= later else T(0)
    return products[number] + value if number < later else value


def carry(products, later, adds, size, grads: InOut):
    """Write the gradients for the state before the first step."""
    for number in range(cuda.grid(1), size, cuda.gridsize(1)):
        grads[number] = gradient_of_hidden(products, later, adds, grads, number)


def lstm_slopes(
    gates, row, products, later, adds, extra, ahead, had, state, out, grad, grads: InOut, slopes: Out, shares,
    previous: Out, examples, size, count
):  # fmt: skip
    """The gradients for the gates' pre-activations, and for the cells' state before the step."""
    for number in range(cuda.grid(1), max(count * size, later), cuda.gridsize(1)):
        slope = gradient_of_hidden(products, later, adds, grads, number)
        if number >= count * size:
            grads[number] = slope
            continue
        n, j = number // size, number % size
        gate, at, cell = (row + n) * 4 * size + j, (row + n) * size + j, (examples + n) * size + j
        before = state[cell]
        hidden = state[number]
        if n < had:
            before = extra[(ahead + n) * size + j]
            hidden = out[(ahead + n) * size + j]
        previous[at] = hidden
        i, f, g, o = gates[gate], gates[gate + size], gates[gate + 2 * size], gates[gate + 3 * size]
        slope += grad[at]
        of_i, of_f, of_g, of_o, of_cell = lstm_slope(i, f, g, o, extra[at], before, slope, grads[cell])
        slopes[gate] = of_i
        slopes[gate + size] = of_f
        slopes[gate + 2 * size] = of_g
        slopes[gate + 3 * size] = of_o
        grads[cell] = of_cell


def gru_slopes(
    gates, row, products, later, adds, extra, ahead, had, state, out, grad, grads: InOut, slopes: Out, shares: Out,
    previous: Out, examples, size, count
):  # fmt: skip
    """The gradients for the inputs' shares and the hidden state's shares of the gates, and for the hidden state."""
    for number in range(cuda.grid(1), max(count * size, later), cuda.gridsize(1)):
        slope = gradient_of_hidden(products, later, adds, grads, number)
        if number >= count * size:
            grads[number] = slope
            continue
        n, j = number // size, number % size
        gate, at = (row + n) * 3 * size + j, (row + n) * size + j
        hidden = state[number]
        if n < had:
            hidden = out[(ahead + n) * size + j]
        previous[at] = hidden
        slope += grad[at]
        of_r, of_z, of_n, of_share, of_hidden = gru_slope(
            gates[gate], gates[gate + size], gates[gate + 2 * size], extra[at], hidden, slope
        )
        slopes[gate] = of_r
        shares[gate] = of_r
        slopes[gate + size] = of_z
        shares[gate + size] = of_z
        slopes[gate + 2 * size] = of_n
        shares[gate + 2 * size] = of_share
        grads[number] = of_hidden


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
    gates, row, products, later, adds, extra, ahead, had, state, out, grad, grads: InOut, slopes: Out, shares,
    previous: Out, examples, size, count
):  # fmt: skip
    """The gradients for the argument of ``tanh`` or ``relu``, in a network without gates."""
    for number in range(cuda.grid(1), max(count * size, later), cuda.gridsize(1)):
        slope = gradient_of_hidden(products, later, adds, grads, number)
        if number >= count * size:
            grads[number] = slope
            continue
        at = row * size + number
        hidden = state[number]
        if number < had * size:
            hidden = out[ahead * size + number]
        previous[at] = hidden
        slopes[at] = of_gate(slope + grad[at], gates[at], out[at])
