"""Steps of layers of recurrent networks on a GPU: a matrix product and a kernel for each time step."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from numgrad_kernels.cuda import recurrence as kernels

from ...core.layout import layout_of
from ..buffers import DeviceBuffer
from ..plan import Array, Buffer, Plan, TensorRef
from .launching import blocks_for, launch
from .memory import optional, or_empty
from .products import product

__all__ = ["recurrence", "recurrence_backward", "recurrence_is_fused"]

_KINDS = (np.dtype(np.float32), np.dtype(np.float64))

#: The kernels of a step and of its gradients, and the parts of the latter, by the kind of network.
_STEPS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "lstm": (kernels.lstm_step, kernels.lstm_slopes, {}),
    "gru": (kernels.gru_step, kernels.gru_slopes, {}),
    "rnn_tanh": (kernels.tanh_step, kernels.plain_slopes, {"of_gate": kernels.of_tanh}),
    "rnn_relu": (kernels.relu_step, kernels.plain_slopes, {"of_gate": kernels.of_relu}),
}


def recurrence_is_fused(type: Any) -> bool:
    """Return True if there are kernels for tensors of this type."""
    return type.numpy in _KINDS


def _order(sizes: Any, backwards: bool) -> Iterator[tuple[int, int, int, int]]:
    """Yield, for each step in order, its number of examples and its first row, and those of the step before.

    For the first step, the latter two are 0.
    """
    counts = sizes.tolist()
    steps = [*zip(counts, itertools.accumulate(counts, initial=0), strict=False)]
    if backwards:
        steps.reverse()
    return ((*step, *before) for step, before in zip(steps, [(0, 0), *steps], strict=False))


def _step_sizes(sizes: TensorRef | None, steps: int, examples: int) -> Any:
    return np.full(steps, examples) if sizes is None else Array(sizes.memory.number)


class _Operand:
    """A buffer as an operand of a plan."""

    __slots__ = ("_offset", "_storage")

    def __init__(self, buffer: DeviceBuffer):
        self._storage = buffer
        self._offset = 0


def _multiplier(type: Any, k: int, n: int, transposed: bool) -> Callable[[int], Callable[..., DeviceBuffer]]:
    """Return a function of ``count`` that returns the launcher of the product of (count, k) and (k, n) matrices.

    The second matrix is (n, k) if it is ``transposed``.
    """

    @functools.cache
    def multiply(count: int) -> Callable[..., DeviceBuffer]:
        p = Plan(type.backend, type.device.index)
        shapes = (count, k), (n, k) if transposed else (k, n)
        left, right = [p.operand(layout_of(type, shape)) for shape in shapes]
        return p.returns(p.tensor(product(p, left, right, (False, transposed)), type, (count, n))).launcher()

    return multiply


def recurrence(
    p: Plan, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool,
    sizes: TensorRef | None, weight: TensorRef, bias: Buffer | None, gate_rows: Buffer, extra: Buffer, end: Buffer,
    out: Buffer,
) -> None:  # fmt: skip
    """Add the run of all steps of a layer; see the function of the CPU."""
    numbers = kind, examples, size, gates, backwards, weight.type, _step_sizes(sizes, steps, examples)
    p.call(_forwards, *numbers, p.contiguous(weight), bias, gate_rows, extra, end, out)


def _forwards(
    kind: str, examples: int, size: int, gates: int, backwards: bool, type: Any, sizes: np.ndarray,
    weight: DeviceBuffer, bias: DeviceBuffer | None, gate_rows: DeviceBuffer, extra: DeviceBuffer, end: DeviceBuffer,
    out: DeviceBuffer,
) -> None:  # fmt: skip
    multiply = _multiplier(type, size, gates, True)
    for count, row, *_ in _order(sizes, backwards):
        products = multiply(count)(_Operand(end), _Operand(weight))
        launch(
            _STEPS[kind][0], out.dtype, gate_rows, row, products, *optional(bias, out.dtype), extra, end, out,
            examples, size, count, blocks=blocks_for(count * size),
        )


def recurrence_backward(
    p: Plan, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool,
    sizes: TensorRef | None, weight: TensorRef, state: Buffer, gate_rows: Buffer, extra: Buffer, out: Buffer,
    grad: Buffer, grads: Buffer,
) -> tuple[Buffer, Buffer, Buffer]:  # fmt: skip
    """Add the run of the gradients of all steps; see the function of the CPU."""
    dtype = out.dtype
    slopes, previous = p.new(rows * gates, dtype), p.new(rows * size, dtype)
    shares = p.new(rows * gates, dtype) if kind == "gru" else slopes
    numbers = kind, examples, size, gates, backwards, weight.type, _step_sizes(sizes, steps, examples)
    buffers = state, gate_rows, extra, out, grad, grads, slopes, shares, previous
    p.call(_backwards, *numbers, p.contiguous(weight), *buffers)
    return slopes, shares, previous


def _backwards(
    kind: str, examples: int, size: int, gates: int, backwards: bool, type: Any, sizes: np.ndarray,
    weight: DeviceBuffer, state: DeviceBuffer, gate_rows: DeviceBuffer, extra: DeviceBuffer, out: DeviceBuffer,
    grad: DeviceBuffer, grads: DeviceBuffer, slopes: DeviceBuffer, shares: DeviceBuffer, previous: DeviceBuffer,
) -> None:  # fmt: skip
    _, slopes_of, parts = _STEPS[kind]
    multiply = _multiplier(type, gates, size, False)
    products, later, adds = or_empty(None, out.dtype), 0, int(kind == "gru")
    for count, row, count_before, row_before in reversed([*_order(sizes, backwards)]):
        launch(
            slopes_of, out.dtype, gate_rows, row, products, later, adds, extra, row_before, count_before, state, out,
            grad, grads, slopes, shares, previous, examples, size, count, blocks=blocks_for(max(count * size, later)),
            **parts,
        )
        products, later = multiply(count)(_Operand(shares[row * gates :]), _Operand(weight)), count * size
    launch(kernels.carry, out.dtype, products, later, adds, later, grads, blocks=blocks_for(later))
