"""Layers of recurrent networks, step by step: products by BLAS, and the next state computed from them.

Examples are divided into slices, each of which goes through all steps by itself.  Rows of ``gates``, ``beside`` and
``out`` belong to an example in a step: step after step, the first ``sizes[t]`` examples in step ``t``.  A state is the
hidden state, (examples, size), followed by that of an LSTM's cells.  ``plan`` holds the numbers at the indices named
below.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..blocks import block, put
from ..facts import Blas, InOut, Out, reaches
from ..foreign import gemm
from ..scalar import sigmoid, tanh

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Elements that are computed together.
LANES = 16

#: Numbers of steps, of examples, of elements of a hidden state and of elements of a row of gates.
STEPS, EXAMPLES, SIZE, GATES = 0, 1, 2, 3

#: Number of columns of the products with the hidden state that are added to the gates; the others are stored in
#: ``beside``.
ADDED = 4

#: Number of columns multiplied at a time, number of slices, true if the last step comes first, and number of rows.
COLUMNS, SLICES, BACKWARDS, ROWS = 5, 6, 7, 8


def _reached(given):
    plan = given.plan.tolist()
    return max(plan[ROWS], 2 * plan[EXAMPLES], plan[SIZE], 1) * max(plan[GATES], plan[SIZE])


def _first(plan, part):
    """The first example of a slice."""
    return plan[EXAMPLES] * part // plan[SLICES]


# -- forward ------------------------------------------------------------------------------------------------------


def lstm_row(gates, row, bias, beside, at, end, hidden, cell, out, size):
    """``c = f * c + i * g; h = o * tanh(c)``; the gates' pre-activations and ``c`` are kept."""
    whole = size // LANES * LANES
    for j in range(0, whole, LANES):
        i = block(gates, row + j, LANES) + block(bias, j, LANES)
        f = block(gates, row + size + j, LANES) + block(bias, size + j, LANES)
        g = block(gates, row + 2 * size + j, LANES) + block(bias, 2 * size + j, LANES)
        o = block(gates, row + 3 * size + j, LANES) + block(bias, 3 * size + j, LANES)
        c = sigmoid(f) * block(end, cell + j, LANES) + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        put(gates, row + j, i)
        put(gates, row + size + j, f)
        put(gates, row + 2 * size + j, g)
        put(gates, row + 3 * size + j, o)
        put(beside, at + j, c)
        put(end, cell + j, c)
        put(out, at + j, h)
        put(end, hidden + j, h)
    for j in range(whole, size):
        gates[row + j] += bias[j]
        gates[row + size + j] += bias[size + j]
        gates[row + 2 * size + j] += bias[2 * size + j]
        gates[row + 3 * size + j] += bias[3 * size + j]
        added = sigmoid(gates[row + j]) * tanh(gates[row + 2 * size + j])
        beside[at + j] = sigmoid(gates[row + size + j]) * end[cell + j] + added
        end[cell + j] = beside[at + j]
        out[at + j] = sigmoid(gates[row + 3 * size + j]) * tanh(beside[at + j])
        end[hidden + j] = out[at + j]


def gru_row(gates, row, bias, beside, at, end, hidden, cell, out, size):
    """``h = n + z * (h - n)``; the gates' pre-activations and the hidden state's share of the last are kept."""
    whole = size // LANES * LANES
    for j in range(0, whole, LANES):
        r = block(gates, row + j, LANES) + block(bias, j, LANES)
        z = block(gates, row + size + j, LANES) + block(bias, size + j, LANES)
        share = block(beside, at + j, LANES) + block(bias, 2 * size + j, LANES)
        n = block(gates, row + 2 * size + j, LANES) + sigmoid(r) * share
        new = tanh(n)
        h = new + sigmoid(z) * (block(end, hidden + j, LANES) - new)
        put(gates, row + j, r)
        put(gates, row + size + j, z)
        put(gates, row + 2 * size + j, n)
        put(beside, at + j, share)
        put(out, at + j, h)
        put(end, hidden + j, h)
    for j in range(whole, size):
        gates[row + j] += bias[j]
        gates[row + size + j] += bias[size + j]
        beside[at + j] += bias[2 * size + j]
        gates[row + 2 * size + j] += sigmoid(gates[row + j]) * beside[at + j]
        last = tanh(gates[row + 2 * size + j])
        out[at + j] = last + sigmoid(gates[row + size + j]) * (end[hidden + j] - last)
        end[hidden + j] = out[at + j]


def tanh_row(gates, row, bias, beside, at, end, hidden, cell, out, size):
    """``h = tanh(gate)``; the argument of ``tanh`` is kept."""
    for j in range(size):
        gates[row + j] += bias[j]
        out[at + j] = tanh(gates[row + j])
    for j in range(size):
        end[hidden + j] = out[at + j]


def relu_row(gates, row, bias, beside, at, end, hidden, cell, out, size):
    """``h = relu(gate)``; NaN stays NaN."""
    for j in range(size):
        value = gates[row + j] + bias[j]
        out[at + j] = T(0) if value < T(0) else value
    for j in range(size):
        end[hidden + j] = out[at + j]


#: Placeholder: one of the functions above.
step_row = gru_row


@reaches(_reached)
def recurrence(
    address: Blas, plan, sizes, weight, bias, gates: InOut, beside: Out, end: InOut, out: Out
):
    """``out`` becomes the hidden states; ``end`` holds the state before the first step and becomes that after the last.

    ``gates`` hold the inputs' shares and become the gates' pre-activations.  ``weight`` is (size, gates), and ``bias``
    is added to its products.
    """
    size, width = plan[SIZE], plan[GATES]
    for part in prange(plan[SLICES]):
        first, stop = _first(plan, part), _first(plan, part + 1)
        base = plan[ROWS] if plan[BACKWARDS] else 0
        for number in range(plan[STEPS]):
            t = plan[STEPS] - 1 - number if plan[BACKWARDS] else number
            if plan[BACKWARDS]:
                base -= sizes[t]
            count = max(min(stop, sizes[t]) - first, 0)
            if count:
                row = base + first
                for column in range(0, plan[ADDED], plan[COLUMNS]):
                    gemm(
                        address, count, min(plan[COLUMNS], plan[ADDED] - column), size, end, first * size, size, 0,
                        weight, column, width, 0, 1, gates, row * width + column, width,
                    )  # fmt: skip
                for column in range(plan[ADDED], width, plan[COLUMNS]):
                    gemm(
                        address, count, min(plan[COLUMNS], width - column), size, end, first * size, size, 0,
                        weight, column, width, 0, 0, beside, row * size + column - plan[ADDED], size,
                    )  # fmt: skip
            for n in range(count):
                hidden = (first + n) * size
                at = (base + first + n) * size
                step_row(
                    gates, (base + first + n) * width, bias, beside, at, end, hidden,
                    plan[EXAMPLES] * size + hidden, out, size,
                )  # fmt: skip
            if not plan[BACKWARDS]:
                base += sizes[t]


# -- backward -----------------------------------------------------------------------------------------------------


# A ``state`` here is the one before the step: the hidden state in ``previous``, and that of the cells in ``cells``.
# ``grads`` are the gradients for the state after the step, and become those for the one before it; the docstrings
# mention if products with the weights must still be added.


def tanh_slope(x):
    """The derivative of ``tanh``: ``1 - tanh(x)**2``, accurate where ``tanh(x)`` is rounded to 1."""
    return T(4) * sigmoid(T(2) * x) * sigmoid(T(-2) * x)


def lstm_slopes(gates, row, beside, at, out, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size):
    """The gradients for the gates' pre-activations; those for the hidden state are the products."""
    whole = size // LANES * LANES
    for j in range(0, whole, LANES):
        c = block(beside, at + j, LANES)
        i = block(gates, row + j, LANES)
        f = block(gates, row + size + j, LANES)
        g = block(gates, row + 2 * size + j, LANES)
        o = block(gates, row + 3 * size + j, LANES)
        curve = tanh(c)
        new = tanh(g)
        slope = (block(grads, hidden + j, LANES) + block(grad, at + j, LANES)) * sigmoid(o)
        of_cell = block(grads, cell + j, LANES) + slope * tanh_slope(c)
        into = of_cell * sigmoid(i)
        keep = of_cell * sigmoid(f)
        put(slopes, row + j, into * sigmoid(-i) * new)
        put(slopes, row + size + j, keep * sigmoid(-f) * block(cells, kept + j, LANES))
        put(slopes, row + 2 * size + j, into * tanh_slope(g))
        put(slopes, row + 3 * size + j, slope * sigmoid(-o) * curve)
        put(grads, cell + j, keep)
    for j in range(whole, size):
        first, second = gates[row + j], gates[row + size + j]
        third, last = gates[row + 2 * size + j], gates[row + 3 * size + j]
        step = (grads[hidden + j] + grad[at + j]) * sigmoid(last)
        total = grads[cell + j] + step * tanh_slope(beside[at + j])
        slopes[row + j] = total * sigmoid(first) * sigmoid(-first) * tanh(third)
        slopes[row + size + j] = total * sigmoid(second) * sigmoid(-second) * cells[kept + j]
        slopes[row + 2 * size + j] = total * sigmoid(first) * tanh_slope(third)
        slopes[row + 3 * size + j] = step * sigmoid(-last) * tanh(beside[at + j])
        grads[cell + j] = total * sigmoid(second)


def gru_slopes(gates, row, beside, at, out, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size):
    """The gradients for the inputs' shares of the gates, and those of the hidden state; products are added."""
    whole = size // LANES * LANES
    for j in range(0, whole, LANES):
        r = block(gates, row + j, LANES)
        z = block(gates, row + size + j, LANES)
        n = block(gates, row + 2 * size + j, LANES)
        reset = sigmoid(r)
        new = tanh(n)
        slope = block(grads, hidden + j, LANES) + block(grad, at + j, LANES)
        passed = slope * sigmoid(-z)
        of_new = passed * tanh_slope(n)
        of_reset = of_new * block(beside, at + j, LANES) * (reset * sigmoid(-r))
        of_update = passed * sigmoid(z) * (block(previous, at + j, LANES) - new)
        put(slopes, row + j, of_reset)
        put(shares, row + j, of_reset)
        put(slopes, row + size + j, of_update)
        put(shares, row + size + j, of_update)
        put(slopes, row + 2 * size + j, of_new)
        put(shares, row + 2 * size + j, of_new * reset)
        put(grads, hidden + j, slope * sigmoid(z))
    for j in range(whole, size):
        first, second, last = gates[row + j], gates[row + size + j], gates[row + 2 * size + j]
        step = grads[hidden + j] + grad[at + j]
        into = step * sigmoid(-second) * tanh_slope(last)
        shares[row + j] = into * beside[at + j] * (sigmoid(first) * sigmoid(-first))
        slopes[row + j] = shares[row + j]
        shares[row + size + j] = step * sigmoid(-second) * sigmoid(second) * (previous[at + j] - tanh(last))
        slopes[row + size + j] = shares[row + size + j]
        slopes[row + 2 * size + j] = into
        shares[row + 2 * size + j] = into * sigmoid(first)
        grads[hidden + j] = step * sigmoid(second)


def tanh_slopes(gates, row, beside, at, out, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size):
    """The gradients for the argument of ``tanh``; those for the hidden state are the products."""
    for j in range(size):
        slopes[row + j] = (grads[hidden + j] + grad[at + j]) * tanh_slope(gates[row + j])


def relu_slopes(gates, row, beside, at, out, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size):
    """The gradients for the argument of ``relu``, 0 where it is not positive; otherwise like ``tanh_slopes``."""
    for j in range(size):
        slopes[row + j] = grads[hidden + j] + grad[at + j] if out[at + j] > T(0) else T(0)


#: Placeholder: one of the functions above.
slopes_row = gru_slopes


@reaches(_reached)
def recurrence_backward(
    address: Blas, plan, sizes, weight, state, gates, beside, out, grad, grads: InOut, slopes: Out, shares: Out,
    previous: Out, cells: Out,
):  # fmt: skip
    """``grads``, the gradients for the state after the last step, become those for ``state``, before the first one.

    ``slopes`` become the gradients for the inputs' shares of the gates, and ``shares`` those for the hidden state's;
    they are one array except for a GRU.  ``previous`` becomes the hidden state before each step, and each slice has a
    row of ``cells`` as scratch space.  ``weight`` is (gates, size).
    """
    size, width = plan[SIZE], plan[GATES]
    for part in prange(plan[SLICES]):
        first, stop = _first(plan, part), _first(plan, part + 1)
        kept = part * size
        base = 0 if plan[BACKWARDS] else plan[ROWS]
        for number in range(plan[STEPS]):
            t = number if plan[BACKWARDS] else plan[STEPS] - 1 - number
            earlier = t + 1 if plan[BACKWARDS] else t - 1
            had = 0
            if 0 <= earlier < plan[STEPS]:
                had = sizes[earlier]
            if not plan[BACKWARDS]:
                base -= sizes[t]
            ahead = base + sizes[t] if plan[BACKWARDS] else base - had
            count = max(min(stop, sizes[t]) - first, 0)
            for n in range(first, first + count):
                at = (base + n) * size
                source = (ahead + n) * size
                cell = (plan[EXAMPLES] + n) * size
                if n < had:
                    for j in range(size):
                        previous[at + j] = out[source + j]
                    if state.size > plan[EXAMPLES] * size:
                        for j in range(size):
                            cells[kept + j] = beside[source + j]
                else:
                    for j in range(size):
                        previous[at + j] = state[n * size + j]
                    if state.size > plan[EXAMPLES] * size:
                        for j in range(size):
                            cells[kept + j] = state[cell + j]
                slopes_row(
                    gates, (base + n) * width, beside, at, out, previous, cells, kept, grad, grads, n * size, cell,
                    slopes, shares, size,
                )  # fmt: skip
            if count:
                row = (base + first) * width
                for column in range(0, size, plan[COLUMNS]):
                    gemm(
                        address, count, min(plan[COLUMNS], size - column), width, shares, row, width, 0,
                        weight, column, size, 0, 1 if plan[ADDED] < width else 0, grads, first * size + column, size,
                    )  # fmt: skip
            if plan[BACKWARDS]:
                base += sizes[t]
