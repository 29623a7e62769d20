"""Recurrent networks of several layers and directions, over sequences of equal length or packed ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import AUTOCAST, state
from ...core.types import int64
from ...tensors.tensor import Tensor, check_one_device
from ..creation.factories import zeros
from ..matrices.matmul import linear
from ..shapes.dimensions import transpose_op
from ..shapes.joining import cat, stack, unbind_op
from ..shapes.splitting import split_sizes_op
from ..table.autocasting import cast_to
from ..table.checks import check
from .dropout import dropout
from .recurrence import GATES, STEPS, steps_composed
from .recurrent_layer import recurrent_layer


def recurrent(
    kind: str, input: Tensor, batch_sizes: Tensor | None, hx: Sequence[Tensor] | None, params: Sequence[Tensor],
    has_biases: bool, num_layers: int, dropout_p: float, train: bool, bidirectional: bool, batch_first: bool = False,
) -> tuple[Tensor, ...]:
    """Return the last layer's hidden states in all steps, and all layers' final states.

    Args:
        kind: "lstm", "gru", "rnn_tanh" or "rnn_relu".
        input: of shape (steps, examples, features), or packed, of shape (elements, features).
        batch_sizes: None, or the number of examples in each step of a packed input: int64, on the CPU.
        hx: the hidden state, and for an LSTM the cell state, each of shape (layers * directions, examples, size);
            None for zeros.
        params: for each layer and direction, the weights of the input and of the hidden state, their biases if
            ``has_biases``, and the projection of an LSTM that has one.
        has_biases: True if there are biases.
        num_layers: the number of layers.
        dropout_p: the probability with which, in training, an output of a layer before the last is dropped.
        train: True if the network is in training.
        bidirectional: True if each layer also goes through the steps backwards, with separate weights.
        batch_first: True if input and output have the examples first.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, there is no step, or the number of states or weights is wrong.
    """
    if kind == "gru" and state.mode & AUTOCAST and input.device.type == "cpu":  # in none of the lists for CPUs
        target = input.dtype if hx is None else hx[0].dtype
        return cast_to(target, "cpu", recurrent, (
            kind, input, batch_sizes, hx, params, has_biases, num_layers, dropout_p, train, bidirectional, batch_first,
        ))
    directions = 2 if bidirectional else 1
    per_layer = _grouped(kind, hx, params, has_biases, num_layers * directions)
    rank = 3 if batch_sizes is None else 2
    check(len(input._layout.shape) == rank, "input must have {} dimensions, got {}", rank, len(input._layout.shape))
    sequence = transpose_op(input, 0, 1) if batch_first else input
    if batch_sizes is not None:
        _check_sizes(batch_sizes, sequence)
    elif not sequence._layout.shape[0]:
        raise RuntimeError(f"Expected sequence length to be larger than 0 in RNN, but got shape {list(input.shape)}")
    examples = sequence._layout.shape[1] if batch_sizes is None else int(batch_sizes[0])
    states = _states(kind, input, examples, hx, per_layer)
    ends: list[Sequence[Tensor]] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            out, *end = _layer(kind, sequence, batch_sizes, states[number], per_layer[number], bool(direction))
            outputs.append(out)
            ends.append(end)
        sequence = outputs[0] if directions == 1 else cat(outputs, len(outputs[0]._layout.shape) - 1)
        if dropout_p and train and layer < num_layers - 1:
            sequence = dropout(sequence, dropout_p, True)
    if batch_first:
        sequence = transpose_op(sequence, 0, 1)
    return sequence, *[stack(parts) for parts in zip(*ends, strict=True)]


def _states(
    kind: str, input: Tensor, examples: int, hx: Sequence[Tensor] | None, weights: Sequence[Sequence[Tensor | None]]
) -> Sequence[Any]:
    """Return the initial state of each layer and direction: one tensor, or two with projections.

    Raises:
        RuntimeError: the given states have another shape.
    """
    hidden = weights[0][1]
    assert hidden is not None
    size, cells = hidden._layout.shape[1], hidden._layout.shape[0] // GATES[kind]
    sizes = [size, cells] if kind == "lstm" else [size]
    if hx is None:
        if size == cells:
            initial: Any = zeros((len(sizes), examples, size), dtype=input.dtype, device=input.device)
        else:
            initial = [zeros((examples, width), dtype=input.dtype, device=input.device) for width in sizes]
        return [initial] * len(weights)
    for tensor, width in zip(hx, sizes, strict=True):
        check(
            tensor._layout.shape[:1] >= (len(weights),),
            "Expected more hidden states in stacked_rnn: one for each of {} layers and directions, but got shape {}",
            len(weights), tensor,
        )
        check(
            tensor._layout.shape[1:] == (examples, width),
            "a state must have the shape {}, but got {}", [len(weights), examples, width], tensor,
        )
    each = zip(*[unbind_op(tensor, 0)[: len(weights)] for tensor in hx], strict=True)
    return [stack(parts) if size == cells else parts for parts in each]


def _layer(
    kind: str, input: Tensor, batch_sizes: Tensor | None, state: Any, params: Sequence[Any], backwards: bool
) -> tuple[Tensor, ...]:
    """Return the hidden states of one direction of a layer in all steps, and its final state."""
    weight, recurrent_weight, bias, recurrent_bias, projection = params
    if projection is None:
        out, end = recurrent_layer(
            input, state, weight, recurrent_weight, bias, recurrent_bias, batch_sizes, kind, backwards
        )[:2]
        return out, *unbind_op(end, 0)
    gates = linear(input, weight, bias)
    weights = recurrent_weight, recurrent_bias, projection
    pieces = unbind_op(gates, 0) if batch_sizes is None else split_sizes_op(gates, tuple(batch_sizes.tolist()), 0)
    return steps_composed(kind, pieces, state, weights, backwards, batch_sizes is not None)


def _grouped(
    kind: str, hx: Sequence[Tensor] | None, params: Sequence[Tensor], has_biases: bool, count: int
) -> list[list[Tensor | None]]:
    """Return the weights by layer and direction: of input and hidden state, their biases, and the projection."""
    if kind == "lstm" and hx is not None and len(hx) != 2:
        raise RuntimeError(f"lstm expects two hidden states, but got {len(hx)}")
    if len(params) > 1 and len(params[1].shape) != 2:
        raise RuntimeError(f"the weight of the hidden state must have 2 dimensions, got shape {list(params[1].shape)}")
    projected = kind == "lstm" and len(params) > 1 and params[1].shape[0] != 4 * params[1].shape[1]
    each = (4 if has_biases else 2) + projected
    check(
        len(params) == each * count,
        "got an incorrect number of RNN parameters: {} instead of {} for each of {} layers and directions",
        len(params), each, count,
    )
    groups: list[list[Tensor | None]] = []
    for start in range(0, len(params), each):
        group: list[Tensor | None] = [*params[start : start + 2], None, None, None]
        if has_biases:
            group[2:4] = params[start + 2 : start + 4]
        if projected:
            group[4] = params[start + each - 1]
        groups.append(group)
    return groups


def _check_sizes(batch_sizes: Tensor, rows: Tensor) -> None:
    """Raise unless no step has more examples than the one before it, and the sizes sum to the number of rows.

    Raises:
        RuntimeError: the sizes do not fit, or are not a 1-d int64 tensor on the CPU.
    """
    check(
        batch_sizes.dtype is int64 and batch_sizes.device.type == "cpu" and len(batch_sizes._layout.shape) == 1,
        "batch_sizes must be a 1D CPU int64 tensor, but got a tensor of shape {}, {}, on {}",
        batch_sizes, batch_sizes.dtype, batch_sizes.device,
    )
    sizes: list[int] = batch_sizes.tolist()
    shapes = f"batch_sizes {sizes}, input {list(rows.shape)}"
    check(sizes, "Expected sequence length to be larger than 0 in RNN ({})", shapes)
    if sizes[-1] < 1 or any(a < b for a, b in itertools.pairwise(sizes)):
        raise RuntimeError(f"batch_sizes must not ascend, nor descend below 1 ({shapes})")
    if sum(sizes) != rows._layout.shape[0]:
        raise RuntimeError(f"batch_sizes must add up to the number of rows of the packed input ({shapes})")


# -- single steps -------------------------------------------------------------------------------------------------


def cell(
    kind: str, input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> tuple[Tensor, ...]:
    """Return the state after one step.

    Args:
        kind: "lstm", "gru", "rnn_tanh" or "rnn_relu".
        input: of shape (examples, features).
        hx: the hidden state, and for an LSTM the cell state, of shape (examples, size).
        w_ih, w_hh: the weights of the input and of the hidden state.
        b_ih, b_hh: their biases.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.
    """
    check_one_device(input, *hx, w_ih, w_hh)
    (batch, features), size = _matrix_shape("input", input), w_hh._layout.shape[1]
    if features != w_ih._layout.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {features} expected {w_ih._layout.shape[1]} "
            f"({_shapes(input, w_ih)})"
        )
    for number, hidden in enumerate(hx):
        examples, width = _matrix_shape(f"hidden{number}", hidden)
        if examples != batch:
            raise RuntimeError(
                f"Input batch size {batch} doesn't match hidden{number} batch size {examples} "
                f"({_shapes(input, hidden)})"
            )
        if width != size:
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {width}, expected {size} ({_shapes(hidden, w_hh)})"
            )
    if w_ih._layout.shape[0] != GATES[kind] * size:
        raise RuntimeError(f"expected {GATES[kind]} gates of size {size} ({_shapes(w_ih, w_hh)})")
    return STEPS[kind](linear(input, w_ih, b_ih), hx, w_hh, b_hh)


def _matrix_shape(name: str, tensor: Tensor) -> Any:
    check(len(tensor._layout.shape) == 2, "{} must have 2 dimensions, but got shape {}", name, tensor)
    return tensor._layout.shape


def _shapes(*tensors: Tensor) -> str:
    return "shapes " + ", ".join([str(list(tensor.shape)) for tensor in tensors])
