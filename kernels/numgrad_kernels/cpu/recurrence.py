"""Layers of recurrent networks, step by step: products by BLAS, and the next state computed from them.

Examples are divided into slices, each of which goes through all steps by itself.  Each row of ``gates``, ``extra`` and
``out`` belongs to one example in one step; the rows of step ``t`` are those of its first ``sizes[t]`` examples.  A
state is the hidden state, (examples, size), followed by the state of an LSTM's cells.  ``plan`` holds the numbers at
the indices named below.
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
#: ``extra``.
ADDED = 4

#: Number of columns multiplied at a time, number of slices, true if the last step comes first, and number of rows.
COLUMNS, SLICES, BACKWARDS, ROWS = 5, 6, 7, 8


def _reached(args):
    plan = args.plan.tolist()
    return max(plan[ROWS], 2 * plan[EXAMPLES], plan[SIZE], 1) * max(plan[GATES], plan[SIZE])


def _first(plan, part):
    """The first example of a slice."""
    return plan[EXAMPLES] * part // plan[SLICES]


# -- forward: for each kind of network a step of one element of the state, or of a block of elements ----------------


def lstm(i, f, g, o, cell):
    """The state of the cell and the hidden state, from the gates' pre-activations and the cell's state before."""
    c = sigmoid(f) * cell + sigmoid(i) * tanh(g)
    return c, sigmoid(o) * tanh(c)


def gru(r, z, n, share, hidden):
    """The pre-activation of the last gate, of which ``share`` comes from the hidden state, and the new hidden state."""
    of_new = n + sigmoid(r) * share
    new = tanh(of_new)
    return of_new, new + sigmoid(z) * (hidden - new)


def element(x, offset, size):
    """One element of a row, read as ``block`` reads several."""
    return x[offset]


def put_element(x, offset, value):
    """Store one element of a row."""
    x[offset] = value


def lstm_step(read, write, j, gates, row, bias, extra, at, end, hidden, cell, out, size):
    """``c = f * c + i * g; h = o * tanh(c)``; the gates' pre-activations and ``c`` are kept."""
    i = read(gates, row + j, LANES) + read(bias, j, LANES)
    f = read(gates, row + size + j, LANES) + read(bias, size + j, LANES)
    g = read(gates, row + 2 * size + j, LANES) + read(bias, 2 * size + j, LANES)
    o = read(gates, row + 3 * size + j, LANES) + read(bias, 3 * size + j, LANES)
    c, h = lstm(i, f, g, o, read(end, cell + j, LANES))
    write(gates, row + j, i)
    write(gates, row + size + j, f)
    write(gates, row + 2 * size + j, g)
    write(gates, row + 3 * size + j, o)
    write(extra, at + j, c)
    write(end, cell + j, c)
    write(out, at + j, h)
    write(end, hidden + j, h)


def gru_step(read, write, j, gates, row, bias, extra, at, end, hidden, cell, out, size):
    """``h = n + z * (h - n)``; the gates' pre-activations and the hidden state's share of the last are kept."""
    r = read(gates, row + j, LANES) + read(bias, j, LANES)
    z = read(gates, row + size + j, LANES) + read(bias, size + j, LANES)
    share = read(extra, at + j, LANES) + read(bias, 2 * size + j, LANES)
    n, h = gru(r, z, read(gates, row + 2 * size + j, LANES), share, read(end, hidden + j, LANES))
    write(gates, row + j, r)
    write(gates, row + size + j, z)
    write(gates, row + 2 * size + j, n)
    write(extra, at + j, share)
    write(out, at + j, h)
    write(end, hidden + j, h)


#: Placeholder: one of the functions above.
step = gru_step


def step_row(gates, row, bias, extra, at, end, hidden, cell, out, size):
    """A step of one example."""
    whole = size // LANES * LANES
    for j in range(0, whole, LANES):
        step(block, put, j, gates, row, bias, extra, at, end, hidden, cell, out, size)
    for j in range(whole, size):
        step(element, put_element, j, gates, row, bias, extra, at, end, hidden, cell, out, size)


def tanh_row(gates, row, bias, extra, at, end, hidden, cell, out, size):
    """Replacement of ``step_row``: ``h = tanh(gate)``; the argument of ``tanh`` is kept."""
    for j in range(size):
        gates[row + j] += bias[j]
        out[at + j] = tanh(gates[row + j])
    for j in range(size):
        end[hidden + j] = out[at + j]


def relu_row(gates, row, bias, extra, at, end, hidden, cell, out, size):
    """Replacement of ``step_row``: ``h = relu(gate)``; NaN stays NaN."""
    for j in range(size):
        value = gates[row + j] + bias[j]
        out[at + j] = T(0) if value < T(0) else value
    for j in range(size):
        end[hidden + j] = out[at + j]


@reaches(_reached)
def recurrence(
    address: Blas, plan, sizes, weight, bias, gates: InOut, extra: Out, end: InOut, out: Out
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
                        weight, column, width, 0, 0, extra, row * size + column - plan[ADDED], size,
                    )  # fmt: skip
            for n in range(count):
                hidden = (first + n) * size
                at = (base + first + n) * size
                step_row(
                    gates, (base + first + n) * width, bias, extra, at, end, hidden,
                    plan[EXAMPLES] * size + hidden, out, size,
                )  # fmt: skip
            if not plan[BACKWARDS]:
                base += sizes[t]


# -- backward -----------------------------------------------------------------------------------------------------


# ``previous`` is the hidden state before the step, and ``cells`` the state of the cells.  ``grads`` are the gradients
# for the state after the step, and become the gradients for the state before it.


def tanh_slope(x):
    """The derivative of ``tanh``: ``1 - tanh(x)**2``, accurate where ``tanh(x)`` is rounded to 1."""
    return T(4) * sigmoid(T(2) * x) * sigmoid(T(-2) * x)


def lstm_slope(i, f, g, o, c, before, slope, of_cell):
    """The gradients for the gates' pre-activations and for the cell's state ``before`` the step."""
    slope = slope * sigmoid(o)
    of_cell = of_cell + slope * tanh_slope(c)
    into = of_cell * sigmoid(i)
    keep = of_cell * sigmoid(f)
    of_forget = keep * sigmoid(-f) * before
    return into * sigmoid(-i) * tanh(g), of_forget, into * tanh_slope(g), slope * sigmoid(-o) * tanh(c), keep


def gru_slope(r, z, n, share, hidden, slope):
    """The gradients for the inputs' shares of the gates, the hidden state's share of the last, and the hidden state."""
    reset = sigmoid(r)
    passed = slope * sigmoid(-z)
    of_new = passed * tanh_slope(n)
    of_update = passed * sigmoid(z) * (hidden - tanh(n))
    return of_new * share * (reset * sigmoid(-r)), of_update, of_new, of_new * reset, slope * sigmoid(z)


def lstm_back(
    read, write, j, gates, row, extra, at, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size
):  # fmt: skip
    """The gradients for the gates' pre-activations; their products with the weights are those for the hidden state."""
    i, f = read(gates, row + j, LANES), read(gates, row + size + j, LANES)
    g, o = read(gates, row + 2 * size + j, LANES), read(gates, row + 3 * size + j, LANES)
    of_i, of_f, of_g, of_o, of_cell = lstm_slope(
        i, f, g, o, read(extra, at + j, LANES), read(cells, kept + j, LANES),
        read(grads, hidden + j, LANES) + read(grad, at + j, LANES), read(grads, cell + j, LANES),
    )
    write(slopes, row + j, of_i)
    write(slopes, row + size + j, of_f)
    write(slopes, row + 2 * size + j, of_g)
    write(slopes, row + 3 * size + j, of_o)
    write(grads, cell + j, of_cell)


def gru_back(
    read, write, j, gates, row, extra, at, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size
):  # fmt: skip
    """The gradients for both shares of the gates, and for the hidden state without the products with the weights."""
    r, z = read(gates, row + j, LANES), read(gates, row + size + j, LANES)
    slope = read(grads, hidden + j, LANES) + read(grad, at + j, LANES)
    of_r, of_z, of_n, of_share, of_hidden = gru_slope(
        r, z, read(gates, row + 2 * size + j, LANES), read(extra, at + j, LANES), read(previous, at + j, LANES), slope
    )
    write(slopes, row + j, of_r)
    write(shares, row + j, of_r)
    write(slopes, row + size + j, of_z)
    write(shares, row + size + j, of_z)
    write(slopes, row + 2 * size + j, of_n)
    write(shares, row + 2 * size + j, of_share)
    write(grads, hidden + j, of_hidden)


#: Placeholder: one of the functions above.
back = gru_back


def slopes_row(gates, row, extra, at, out, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size):
    """A step back of one example."""
    whole = size // LANES * LANES
    for j in range(0, whole, LANES):
        back(
            block, put, j, gates, row, extra, at, previous, cells, kept, grad, grads, hidden, cell, slopes, shares,
            size,
        )  # fmt: skip
    for j in range(whole, size):
        back(
            element, put_element, j, gates, row, extra, at, previous, cells, kept, grad, grads, hidden, cell, slopes,
            shares, size,
        )  # fmt: skip


def tanh_slopes(gates, row, extra, at, out, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size):
    """Replacement of ``slopes_row``: the gradients for the argument of ``tanh``."""
    for j in range(size):
        slopes[row + j] = (grads[hidden + j] + grad[at + j]) * tanh_slope(gates[row + j])


def relu_slopes(gates, row, extra, at, out, previous, cells, kept, grad, grads, hidden, cell, slopes, shares, size):
    """Replacement of ``slopes_row``: the gradients for the argument of ``relu``, 0 where it is not positive."""
    for j in range(size):
        slopes[row + j] = grads[hidden + j] + grad[at + j] if out[at + j] > T(0) else T(0)


@reaches(_reached)
def recurrence_backward(
    address: Blas, plan, sizes, weight, state, gates, extra, out, grad, grads: InOut, slopes: Out, shares: Out,
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
                            cells[kept + j] = extra[source + j]
                else:
                    for j in range(size):
                        previous[at + j] = state[n * size + j]
                    if state.size > plan[EXAMPLES] * size:
                        for j in range(size):
                            cells[kept + j] = state[cell + j]
                slopes_row(
                    gates, (base + n) * width, extra, at, out, previous, cells, kept, grad, grads, n * size, cell,
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
