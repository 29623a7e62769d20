"""Steps of layers of recurrent networks, where the addresses of BLAS's functions are known; see the kernels.

Note [Small products]
A step multiplies the hidden states of a slice of the examples by all weights.  OpenBLAS multiplies matrices in place
for up to a million multiplications.  It copies larger ones first, which here takes as long as the multiplication.  So
products are cut into pieces of that size.  A BLAS that always copies still copies each weight once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import recurrence as kernels

from ...core.layout import layout_of
from ..plan import Buffer, Plan, TensorRef
from .blas import blas_addresses

__all__ = ["recurrence", "recurrence_backward", "recurrence_is_fused"]

#: Greatest number of examples in a slice.
_EXAMPLES = 16

#: Multiplications in a piece, see Note [Small products]; the columns of a piece are multiples of the second number.
_SMALL, _COLUMNS = 1_000_000, 16

#: The parts of the kernels, for a step and for its gradients, by the kind of network.
_STEPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "lstm": ({"step": kernels.lstm_step}, {"back": kernels.lstm_back}),
    "gru": ({"step": kernels.gru_step}, {"back": kernels.gru_back}),
    "rnn_tanh": ({"step_row": kernels.tanh_row}, {"slopes_row": kernels.tanh_slopes}),
    "rnn_relu": ({"step_row": kernels.relu_row}, {"slopes_row": kernels.relu_slopes}),
}


def recurrence_is_fused(type: Any) -> bool:
    """Return True if there is a kernel for tensors of this type, which needs the addresses of BLAS's functions."""
    return type.numpy in blas_addresses()


def recurrence(
    p: Plan, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool,
    sizes: TensorRef | None, weight: TensorRef, bias: Buffer | None, gate_rows: Buffer, extra: Buffer, end: Buffer,
    out: Buffer,
) -> None:  # fmt: skip
    """Add the run of all steps of a layer; see the kernel.

    Args:
        sizes: the number of examples of each step, on the CPU; None if each step has all examples.
        weight: of shape (gates, size).
    """
    dtype, layout = out.dtype, weight.layout
    plan = _plan(kind, steps, examples, rows, size, gates, backwards, gates)
    transposed = p.contiguous(weight.viewed(layout_of(layout.type, layout.shape[::-1], layout.strides[::-1])))
    p.run(
        kernels.recurrence, dtype, blas_addresses()[dtype], plan, _step_sizes(p, sizes, steps, examples), transposed,
        np.zeros(gates, dtype) if bias is None else bias, gate_rows, extra, end, out,
        work=rows * size * gates // 8, one_thread=True, **_STEPS[kind][0],
    )  # fmt: skip


def _step_sizes(p: Plan, sizes: TensorRef | None, steps: int, examples: int) -> Any:
    return np.full(steps, examples, np.int64) if sizes is None else p.contiguous(sizes)


def recurrence_backward(
    p: Plan, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool,
    sizes: TensorRef | None, weight: TensorRef, state: Buffer, gate_rows: Buffer, extra: Buffer, out: Buffer,
    grad: Buffer, grads: Buffer,
) -> tuple[Buffer, Buffer, Buffer]:  # fmt: skip
    """Add the run of the gradients of all steps; see the kernel.

    Return the buffers of the gradients with respect to the contributions of the inputs and of the hidden states to the
    gates, and of the hidden states before each step.
    """
    dtype, plan = out.dtype, _plan(kind, steps, examples, rows, size, size, backwards, gates)
    slopes, previous = p.new(rows * gates, dtype), p.new(rows * size, dtype)
    shares = p.new(rows * gates, dtype) if kind == "gru" else slopes
    p.run(
        kernels.recurrence_backward, dtype, blas_addresses()[dtype], plan, _step_sizes(p, sizes, steps, examples),
        p.contiguous(weight), state, gate_rows, extra, out, grad, grads, slopes, shares, previous,
        p.new(int(plan[kernels.SLICES]) * size, dtype),
        work=rows * size * gates // 8, one_thread=True, **_STEPS[kind][1],
    )  # fmt: skip
    return slopes, shares, previous


def _plan(
    kind: str, steps: int, examples: int, rows: int, size: int, columns: int, backwards: bool, gates: int
) -> np.ndarray:
    """Return the plan of the kernels, for products with ``columns`` columns."""
    slices = -(-examples // _EXAMPLES)
    pieces = -(-(-(-examples // slices) * gates * size) // _SMALL)
    wide = -(-columns // (pieces * _COLUMNS)) * _COLUMNS
    added = 2 * size if kind == "gru" else gates
    return np.array([steps, examples, size, gates, added, wide, slices, backwards, rows], np.int64)
