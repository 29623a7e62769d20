"""Steps of LSTMs and GRUs, given the products with their weights, as one pass over memory on GPUs.

The products are the gates' shares of the inputs and of the hidden state, both of shape (examples, gates * size).  On
CPUs a step is composed of operations, as in PyTorch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from numgrad_kernels import scalar

from ... import devices
from ...core.layout import layout_of
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..composition import differentiated_as, gradients_through
from ..pointwise.arithmetic import add, mul, sub
from ..pointwise.exponential import sigmoid, tanh
from ..shapes.splitting import chunk
from ..table.checks import check, check_supported
from ..table.lookup import operation


def lstm_cell(gates: Tensor, shares: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """``c = f * cell + i * g; h = o * tanh(c)``; return ``h`` and ``c``."""
    hidden, state = fused_lstm_cell(gates, shares, cell) if _is_fused(gates) else _lstm(gates, shares, cell)
    return hidden, state


def gru_cell(gates: Tensor, shares: Tensor, hidden: Tensor) -> Tensor:
    """``n + z * (hidden - n)`` with ``n = tanh(input's share + r * hidden's share)``."""
    return (fused_gru_cell if _is_fused(gates) else _gru)(gates, shares, hidden)


def _is_fused(gates: Tensor) -> bool:
    return gates.device.type == "cuda" and gates.dtype.is_floating_point


def _lstm(gates: Tensor, shares: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = chunk(add(gates, shares), 4, 1)
    cell = add(mul(sigmoid(f), cell), mul(sigmoid(i), tanh(g)))
    return mul(sigmoid(o), tanh(cell)), cell


def _gru(gates: Tensor, shares: Tensor, hidden: Tensor) -> Tensor:
    parts, others = chunk(gates, 3, 1), chunk(shares, 3, 1)
    r, z = [sigmoid(add(share, other)) for share, other in zip(parts[:2], others[:2], strict=True)]
    n = tanh(add(parts[2], mul(others[2], r)))
    return add(mul(sub(hidden, n), z), n)


# -- one pass over memory -------------------------------------------------------------------------------------------


def _parts(tensor: TensorRef, count: int) -> list[TensorRef]:
    """Return views of a matrix: each of ``count`` groups of columns."""
    (examples, width), strides = tensor.shape, tensor.layout.strides
    size = width // count
    part = layout_of(tensor.type, (examples, size), strides)
    return [tensor.viewed(part, number * size * strides[1]) for number in range(count)]


def _check(gates: TensorRef, shares: TensorRef, state: TensorRef, count: int, first: TensorRef | None) -> None:
    """Raise unless the shapes fit, and all have one floating-point dtype; ``first`` is the first operand.

    Raises:
        RuntimeError: the shapes or dtypes differ.
        NotImplementedError: the dtype is not a floating-point one.
    """
    check_supported(first or state, "f", "recurrent_cell")
    examples, size = state.shape
    check(
        gates.shape == shares.shape == (examples, count * size) and gates.type is shares.type is state.type,
        "gates of shape {}, {}, and {}, {}, do not fit a state of shape {}, {}",
        gates, gates.type.dtype, shares, shares.type.dtype, state, state.type.dtype,
    )  # fmt: skip


@functools.cache
def _program(functions: tuple[Any, ...], names: str, absent: frozenset[str], dtype: Any) -> devices.PointwiseProgram:
    """Return the program of functions of operands with these names; 0 stands for those that are ``absent``."""
    operands = tuple([
        devices.Operand(name, constant=0.0) if name in absent else devices.Operand(name, dtype)
        for name in names.split()
    ])  # fmt: skip
    outputs = tuple([(f"out{number}", dtype) for number in range(len(functions))])
    return devices.PointwiseProgram("recurrent_cell", dtype, operands, outputs, functions)


def _fused(
    p: Plan, functions: Sequence[Callable[..., Any]], names: str, operands: Sequence[TensorRef | None],
    outs: Sequence[TensorRef],
) -> None:  # fmt: skip
    """Add one pass that computes a function for each of ``outs``."""
    absent = frozenset([name for name, operand in zip(names.split(), operands, strict=True) if operand is None])
    program = _program(tuple(functions), names, absent, outs[0].type.numpy)
    p.pointwise(program, [operand for operand in operands if operand is not None], *outs)


def _part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of scalars that others call, so that its text goes into their kernels."""
    function.scalar_function = function  # type: ignore[attr-defined]
    return function


@_part
def _tanh_slope(x):
    """The derivative of ``tanh``: ``1 - tanh(x)**2``, accurate where ``tanh(x)`` is rounded to 1."""
    return 4 * scalar.sigmoid(2 * x) * scalar.sigmoid(-2 * x)


_LSTM = "i f g o i_share f_share g_share o_share cell"


@_part
def _cell_after(i, f, g, i_share, f_share, g_share, cell):
    return scalar.sigmoid(f + f_share) * cell + scalar.sigmoid(i + i_share) * scalar.tanh(g + g_share)


def _hidden_after(i, f, g, o, i_share, f_share, g_share, o_share, cell):
    return scalar.sigmoid(o + o_share) * scalar.tanh(_cell_after(i, f, g, i_share, f_share, g_share, cell))


@operation(
    "ThnnFusedLstmCellBackward0", aten="_thnn_fused_lstm_cell", inputs=["gates", "shares", "cell"],
    outputs=["hidden", "state"], joint=True, batch=1,
)
def fused_lstm_cell(p: Plan, gates: TensorRef, shares: TensorRef, cell: TensorRef) -> tuple[TensorRef, ...]:
    """Add one pass that computes the hidden state and the cell state after a step."""
    _check(gates, shares, cell, 4, gates)
    outs = [p.new_tensor(layout_of(cell.type, cell.shape)) for _ in range(2)]
    _fused(p, (_hidden_after, _cell_after), _LSTM, [*_parts(gates, 4), *_parts(shares, 4), cell], outs)
    return tuple(outs)


@fused_lstm_cell.gradient("gates", "shares", "cell")
def _(grad, gates, shares, cell):
    """``S, first = through_the_step(grad, gates + shares, cell); (S, S, first)``."""
    of_gates, of_cell = fused_lstm_cell_backward(*grad, gates, shares, cell)
    of_gates._shared = True
    return of_gates, of_gates, of_cell


@_part
def _of_state(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state):
    after = _cell_after(i, f, g, i_share, f_share, g_share, cell)
    return grad_state + grad_hidden * scalar.sigmoid(o + o_share) * _tanh_slope(after)


def _of_i(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state):
    slope = _of_state(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state)
    gate = i + i_share
    return slope * scalar.sigmoid(gate) * scalar.sigmoid(-gate) * scalar.tanh(g + g_share)


def _of_f(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state):
    slope = _of_state(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state)
    gate = f + f_share
    return slope * scalar.sigmoid(gate) * scalar.sigmoid(-gate) * cell


def _of_g(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state):
    slope = _of_state(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state)
    return slope * scalar.sigmoid(i + i_share) * _tanh_slope(g + g_share)


def _of_o(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden):
    after = _cell_after(i, f, g, i_share, f_share, g_share, cell)
    gate = o + o_share
    return grad_hidden * scalar.sigmoid(gate) * scalar.sigmoid(-gate) * scalar.tanh(after)


def _of_cell(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state):
    slope = _of_state(i, f, g, o, i_share, f_share, g_share, o_share, cell, grad_hidden, grad_state)
    return slope * scalar.sigmoid(f + f_share)


@operation(
    "ThnnFusedLstmCellBackwardBackward0", aten="_thnn_fused_lstm_cell_backward_impl",
    inputs=["grad_hidden", "grad_state", "gates", "shares", "cell"], outputs=["of_gates", "of_cell"], batch=1,
)
def fused_lstm_cell_backward(
    p: Plan, grad_hidden: TensorRef | None, grad_state: TensorRef | None, gates: TensorRef, shares: TensorRef,
    cell: TensorRef,
) -> tuple[TensorRef, ...]:
    """Add one pass that computes the gradients of the gates' pre-activations and of the cell state."""
    _check(gates, shares, cell, 4, grad_hidden)
    outs = [p.new_tensor(layout_of(each.type, each.shape)) for each in (gates, cell)]
    _fused(
        p, (_of_i, _of_f, _of_g, _of_o, _of_cell), f"{_LSTM} grad_hidden grad_state",
        [*_parts(gates, 4), *_parts(shares, 4), cell, grad_hidden, grad_state], [*_parts(outs[0], 4), outs[1]],
    )
    return tuple(outs)


@differentiated_as(fused_lstm_cell_backward)
def _(grad_hidden, grad_state, gates, shares, cell):
    of_gates, _, of_cell = gradients_through(_lstm, (gates, shares, cell), (grad_hidden, grad_state))
    return of_gates, of_cell


_GRU = "r z n r_share z_share n_share hidden"


@_part
def _new(r, n, r_share, n_share):
    """The argument of the new gate's ``tanh``."""
    return n + scalar.sigmoid(r + r_share) * n_share


def _gru_after(r, z, n, r_share, z_share, n_share, hidden):
    new = scalar.tanh(_new(r, n, r_share, n_share))
    return new + scalar.sigmoid(z + z_share) * (hidden - new)


@operation(
    "ThnnFusedGruCellBackward0", aten="_thnn_fused_gru_cell", inputs=["gates", "shares", "hidden"], joint=True, batch=1
)
def fused_gru_cell(p: Plan, gates: TensorRef, shares: TensorRef, hidden: TensorRef) -> TensorRef:
    """Add one pass that computes the hidden state after a step."""
    _check(gates, shares, hidden, 3, gates)
    out = p.new_tensor(layout_of(hidden.type, hidden.shape))
    _fused(p, (_gru_after,), _GRU, [*_parts(gates, 3), *_parts(shares, 3), hidden], [out])
    return out


@fused_gru_cell.gradient("gates", "shares", "hidden")
def _(grad, gates, shares, hidden):
    """``through_the_step(grad, gates, shares, hidden)``."""
    return fused_gru_cell_backward(grad, gates, shares, hidden)


@_part
def _of_new(r, z, n, r_share, z_share, n_share, grad_hidden):
    return grad_hidden * scalar.sigmoid(-(z + z_share)) * _tanh_slope(_new(r, n, r_share, n_share))


@_part
def _of_share(r, z, n, r_share, z_share, n_share, grad_hidden):
    return _of_new(r, z, n, r_share, z_share, n_share, grad_hidden) * scalar.sigmoid(r + r_share)


def _of_r(r, z, n, r_share, z_share, n_share, grad_hidden):
    return _of_share(r, z, n, r_share, z_share, n_share, grad_hidden) * scalar.sigmoid(-(r + r_share)) * n_share


def _of_z(r, z, n, r_share, z_share, n_share, hidden, grad_hidden):
    gate = z + z_share
    distance = hidden - scalar.tanh(_new(r, n, r_share, n_share))
    return grad_hidden * scalar.sigmoid(gate) * scalar.sigmoid(-gate) * distance


def _of_hidden(z, z_share, grad_hidden):
    return grad_hidden * scalar.sigmoid(z + z_share)


@operation(
    "ThnnFusedGruCellBackwardBackward0", aten="_thnn_fused_gru_cell_backward",
    inputs=["grad_hidden", "gates", "shares", "hidden"], outputs=["of_gates", "of_shares", "of_hidden"], batch=1,
)
def fused_gru_cell_backward(
    p: Plan, grad_hidden: TensorRef, gates: TensorRef, shares: TensorRef, hidden: TensorRef
) -> tuple[TensorRef, ...]:
    """Add one pass that computes the gradients of the gates' shares and of the hidden state."""
    _check(gates, shares, hidden, 3, grad_hidden)
    outs = [p.new_tensor(layout_of(each.type, each.shape)) for each in (gates, shares, hidden)]
    _fused(
        p, (_of_r, _of_z, _of_new, _of_r, _of_z, _of_share, _of_hidden), f"{_GRU} grad_hidden",
        [*_parts(gates, 3), *_parts(shares, 3), hidden, grad_hidden],
        [*_parts(outs[0], 3), *_parts(outs[1], 3), outs[2]],
    )
    return tuple(outs)


@differentiated_as(fused_gru_cell_backward)
def _(grad_hidden, gates, shares, hidden):
    return tuple(gradients_through(lambda *given: (_gru(*given),), (gates, shares, hidden), (grad_hidden,)))
