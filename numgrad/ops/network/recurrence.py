"""Steps of recurrent networks, composed of operations: cells, and sequences of them.

Gates are in PyTorch's order: input, forget, cell and output gate of an LSTM; reset, update and new gate of a GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...tensors.tensor import Tensor
from ..matrices.matmul import linear
from ..pointwise.arithmetic import add
from ..pointwise.comparison import relu
from ..pointwise.exponential import tanh
from ..shapes.joining import cat, stack
from ..shapes.parts import narrow
from .recurrent_cells import gru_cell, lstm_cell

#: The number of gates, including candidates for a state, by the kind of network.
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}

#: A function of the gates' share of the inputs, the old state and the weights of the states; it returns the new state.
Step = Callable[..., tuple[Tensor, ...]]


def lstm_step(
    gates: Tensor, state: Sequence[Tensor], weight: Tensor, bias: Tensor | None, projection: Tensor | None = None
) -> tuple[Tensor, ...]:
    """``c = f * c + i * g; h = o * tanh(c)``, with ``h`` multiplied by the projection's transpose if there is one."""
    hidden, cell = lstm_cell(gates, linear(state[0], weight, bias), state[1])
    return hidden if projection is None else linear(hidden, projection), cell


def gru_step(
    gates: Tensor, state: Sequence[Tensor], weight: Tensor, bias: Tensor | None, projection: None = None
) -> tuple[Tensor, ...]:
    """``h = n + z * (h - n)`` with ``n = tanh(input's share + r * hidden's share)``."""
    return (gru_cell(gates, linear(state[0], weight, bias), state[0]),)


def tanh_step(
    gates: Tensor, state: Sequence[Tensor], weight: Tensor, bias: Tensor | None, projection: None = None
) -> tuple[Tensor, ...]:
    """``h = tanh(input's share + hidden's share)``."""
    return (tanh(add(linear(state[0], weight, bias), gates)),)


def relu_step(
    gates: Tensor, state: Sequence[Tensor], weight: Tensor, bias: Tensor | None, projection: None = None
) -> tuple[Tensor, ...]:
    """``h = relu(input's share + hidden's share)``."""
    return (relu(add(linear(state[0], weight, bias), gates)),)


#: The step by the kind of network.
STEPS: dict[str, Step] = {"lstm": lstm_step, "gru": gru_step, "rnn_tanh": tanh_step, "rnn_relu": relu_step}


def steps_composed(
    kind: str, gates: Sequence[Tensor], state: Sequence[Tensor], weights: Sequence[Tensor | None], backwards: bool,
    in_rows: bool,
) -> tuple[Tensor, ...]:
    """Return the hidden states of all steps, and the final state.

    Args:
        kind: the kind of network, a key of ``STEPS``.
        gates: for each step, the gates' share of its inputs, of shape (examples, gates * size).  A step has the first
            examples, never more than the step before it.
        state: the initial hidden state, and for an LSTM the cell state, of shape (examples, size).
        weights: those of the hidden state, their bias, and the projection.
        backwards: True to go from the last step to the first.
        in_rows: True to join the hidden states along the examples instead of stacking them.
    """
    outputs = []
    for tensor in reversed(gates) if backwards else gates:
        size, whole = tensor._layout.shape[0], state[0]._layout.shape[0]
        after = STEPS[kind](tensor, [narrow(part, 0, 0, size) for part in state] if size < whole else state, *weights)
        outputs.append(after[0])
        if size < whole:
            after = tuple([
                cat((new, narrow(old, 0, size, whole - size))) for new, old in zip(after, state, strict=True)
            ])  # fmt: skip
        state = after
    if backwards:
        outputs.reverse()
    return (cat if in_rows else stack)(outputs), *state
