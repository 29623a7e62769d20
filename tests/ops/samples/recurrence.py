"""Samples of layers of recurrent networks, compared with steps in NumPy, and their derivatives by complex steps."""

import functools

import numpy as np
from ops.sampling import FLOATS, between, sample, without

import numgrad
from numgrad.ops.network import recurrent_cells as cells
from numgrad.ops.network.recurrent_layer import recurrent_layer, recurrent_layer_backward

without("recurrent_layer recurrent_layer_backward", "empty", "0-d")
without("fused_lstm_cell fused_lstm_cell_backward fused_gru_cell fused_gru_cell_backward", "0-d")

#: Number of the three examples in each step of a packed sequence.
_SIZES = [3, 3, 1]


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _step(kind, inputs, hidden, own, other):
    """The state after a step: of the inputs' and the hidden state's products, the state before."""
    if kind.startswith("rnn"):
        total = inputs + hidden
        return (np.tanh(total) if kind == "rnn_tanh" else np.where(total.real > 0, total, 0), other)
    if kind == "lstm":
        i, f, g, o = np.split(inputs + hidden, 4, -1)
        cell = _sigmoid(f) * other + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(cell), cell
    (r, z, n), (r_share, z_share, n_share) = [np.split(each, 3, -1) for each in (inputs, hidden)]
    update, new = _sigmoid(z + z_share), np.tanh(n + _sigmoid(r + r_share) * n_share)
    return (1 - update) * new + update * own, other


def _layer(x, state, weight, weight_hh, bias, bias_hh, sizes, *, kind, packed, backwards):
    """All steps, each of the first ``count`` examples."""
    bias, bias_hh = [0 if each is None else each for each in (bias, bias_hh)]
    steps = np.split(x, np.cumsum(_SIZES)[:-1]) if packed else list(x)
    whole, outputs = np.array(np.broadcast_to(state, (2, *state.shape[1:])), np.result_type(x, state, weight)), []
    for inputs in reversed(steps) if backwards else steps:
        count = len(inputs)
        own, other = whole[:, :count]
        after = _step(kind, inputs @ weight.T + bias, own @ weight_hh.T + bias_hh, own, other)
        whole = np.concatenate([np.stack(after), whole[:, count:]], 1)
        outputs.append(after[0])
    outputs = outputs[::-1] if backwards else outputs
    return np.concatenate(outputs) if packed else np.stack(outputs), whole[: len(state)]


def _gradients(grad_out, grad_end, *inputs, **how):
    """Complex steps, which give the derivative of a smooth function to the last digit."""
    given, tiny = [None if each is None else each.astype(complex) for each in inputs[:6]], 1e-200
    found = []
    for each in given:
        gradient = np.zeros(() if each is None else each.shape)
        for place in np.ndindex(gradient.shape) if each is not None else ():
            each[place] += 1j * tiny
            out, end = _layer(*given, None, **how)
            gradient[place] = ((grad_out * out.imag).sum() + (grad_end * end.imag).sum()) / tiny
            each[place] -= 1j * tiny
        found.append(gradient)
    return [each for each, value in zip(found, given, strict=True) if value is not None]


def _sizes(packed):
    return numgrad.tensor(_SIZES) if packed else None


def _call(*tensors, kind, packed, backwards):
    return recurrent_layer(*tensors[:6], _sizes(packed), kind, backwards)[:2]


def _call_backward(grad_out, grad_end, *tensors, kind, packed, backwards):
    """The gradients, given the layer's outputs for these inputs."""
    inputs, sizes = tensors[:6], _sizes(packed)
    wanted = tuple([each is not None for each in inputs])
    known = [each.detach() if one else None for each, one in zip(inputs, wanted, strict=True)]
    out, _, *kept = recurrent_layer(*known, sizes, kind, backwards)
    found = recurrent_layer_backward(grad_out, grad_end, *inputs, sizes, out, *kept, kind, backwards, wanted)
    return tuple([each for each, one in zip(found, wanted, strict=True) if one])


for _kind, _gates, _packed, _backwards in (
    ("lstm", 4, True, True), ("gru", 3, False, False), ("rnn_tanh", 1, True, False), ("rnn_relu", 1, False, True),
):  # fmt: skip
    _x, _state = (7, 2) if _packed else (3, 3, 2), (2 if _kind == "lstm" else 1, 3, 2)
    _bias = (_gates * 2,) if _packed else None
    _inputs = _x, _state, (_gates * 2, 2), (_gates * 2, 2), _bias, _bias, None
    _how = {"kind": _kind, "packed": _packed, "backwards": _backwards}
    sample("recurrent_layer", functools.partial(_layer, **_how), *_inputs, domain=between(-1, 1), dtypes=FLOATS,
           call=functools.partial(_call, **_how))
    sample("recurrent_layer_backward", functools.partial(_gradients, **_how), _x, _state, *_inputs, None, None, None,
           domain=between(-1, 1), dtypes=FLOATS, call=functools.partial(_call_backward, **_how))


# -- single steps, given the products -------------------------------------------------------------------------------


def _lstm(gates, shares, cell):
    return _step("lstm", gates, shares, None, cell)


def _gru(gates, shares, hidden):
    return _step("gru", gates, shares, hidden, None)[:1]


def _slopes(step, cotangents, *inputs):
    """The gradients for ``inputs`` by complex steps, all elements of an input at once: a step computes each by itself.

    Each column of the state depends on the same column of each gate.
    """
    found, size = [], inputs[-1].shape[1]
    for number, each in enumerate(inputs):
        gradient = np.zeros(each.shape)
        for first in range(0, each.shape[1], size or 1):
            given = [other.astype(complex) for other in inputs]
            given[number][:, first : first + size] += 1e-200j
            outputs = step(*given)
            parts = [grad * out.imag / 1e-200 for grad, out in zip(cotangents, outputs, strict=True)]
            gradient[:, first : first + size] = sum(parts)
        found.append(gradient)
    return found


def _lstm_gradients(grad_hidden, grad_state, *inputs):
    of_gates, _, of_cell = _slopes(_lstm, (grad_hidden, grad_state), *inputs)
    return of_gates, of_cell


def _gru_gradients(grad, *inputs):
    return _slopes(_gru, (grad,), *inputs)


for _rows in 3, 0:
    _how = {"domain": between(-1, 1), "dtypes": FLOATS}
    _state = _rows, 2
    _lstm_shapes, _gru_shapes = [(_rows, 8), (_rows, 8), _state], [(_rows, 6), (_rows, 6), _state]
    sample("fused_lstm_cell", _lstm, *_lstm_shapes, call=cells.fused_lstm_cell, **_how)
    sample("fused_lstm_cell_backward", _lstm_gradients, _state, _state, *_lstm_shapes,
           call=cells.fused_lstm_cell_backward, **_how)
    sample("fused_gru_cell", lambda *given: _gru(*given)[0], *_gru_shapes, call=cells.fused_gru_cell, **_how)
    sample("fused_gru_cell_backward", _gru_gradients, _state, *_gru_shapes, call=cells.fused_gru_cell_backward, **_how)
