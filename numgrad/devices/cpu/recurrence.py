"""Layers of recurrent networks, where BLAS's functions are known; see the kernels.

Note [Small products]
A step multiplies the hidden states of a slice of the examples with all weights.  OpenBLAS multiplies small matrices as
they lie, up to a million multiplications; of larger ones it copies both first, which here takes as long as to multiply.
So products are cut into such pieces.  A BLAS that always copies loses nothing: it copies each weight once, still.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import recurrence as kernels

from ...core.layout import layout_of
from ..plan import Buffer, Plan, TensorRef
from .blas import blas_addresses

__all__ = ["recurrence", "recurrence_backward", "recurrence_is_fused"]

#: Examples in a slice, at most.
_EXAMPLES = 16

#: See Note [Small products]; pieces are multiples of so many columns.
_SMALL, _COLUMNS = 1_000_000, 16

#: How a step is done, and gone back through, by the kind of network.
_STEPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "lstm": ({"step": kernels.lstm_step}, {"back": kernels.lstm_back}),
    "gru": ({"step": kernels.gru_step}, {"back": kernels.gru_back}),
    "rnn_tanh": ({"step_row": kernels.tanh_row}, {"slopes_row": kernels.tanh_slopes}),
    "rnn_relu": ({"step_row": kernels.relu_row}, {"slopes_row": kernels.relu_slopes}),
}


def recurrence_is_fused(type: Any) -> bool:
    """Return whether there is a kernel for tensors of this type: BLAS's functions must be known."""
    return type.numpy in blas_addresses()


def recurrence(
    p: Plan, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool,
    sizes: TensorRef | None, weight: TensorRef, bias: Buffer | None, gate_rows: Buffer, beside: Buffer, end: Buffer,
    out: Buffer,
) -> None:  # fmt: skip
    """Do all steps; see the kernel.

    Args:
        sizes: how many examples each step has, on the CPU; without it all.
        weight: of shape (gates, size).
    """
    dtype = out.dtype
    own, plan = weight.layout, _plan(kind, steps, examples, rows, size, gates, backwards, gates)
    turned = p.contiguous(weight.viewed(layout_of(own.type, own.shape[::-1], own.strides[::-1])))
    p.run(
        kernels.recurrence, dtype, blas_addresses()[dtype], plan, _each_step(p, sizes, steps, examples), turned,
        np.zeros(gates, dtype) if bias is None else bias, gate_rows, beside, end, out,
        work=rows * size * gates // 8, one_thread=True, **_STEPS[kind][0],
    )  # fmt: skip


def _each_step(p: Plan, sizes: TensorRef | None, steps: int, examples: int) -> Any:
    return np.full(steps, examples, np.int64) if sizes is None else p.contiguous(sizes)


def recurrence_backward(
    p: Plan, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool,
    sizes: TensorRef | None, weight: TensorRef, state: Buffer, gate_rows: Buffer, beside: Buffer, out: Buffer,
    grad: Buffer, grads: Buffer,
) -> tuple[Buffer, Buffer, Buffer]:  # fmt: skip
    """Go back through all steps; see the kernel.

    It returns the gradients for the inputs' shares of the gates, for those of the hidden states, and these before each
    step.
    """
    dtype, plan = out.dtype, _plan(kind, steps, examples, rows, size, size, backwards, gates)
    slopes, previous = p.new(rows * gates, dtype), p.new(rows * size, dtype)
    shares = p.new(rows * gates, dtype) if kind == "gru" else slopes
    p.run(
        kernels.recurrence_backward, dtype, blas_addresses()[dtype], plan, _each_step(p, sizes, steps, examples),
        p.contiguous(weight), state, gate_rows, beside, out, grad, grads, slopes, shares, previous,
        p.new(int(plan[kernels.SLICES]) * size, dtype),
        work=rows * size * gates // 8, one_thread=True, **_STEPS[kind][1],
    )  # fmt: skip
    return slopes, shares, previous


def _plan(
    kind: str, steps: int, examples: int, rows: int, size: int, columns: int, backwards: bool, gates: int
) -> np.ndarray:
    """The kernels' plan, for products with so many ``columns``."""
    slices = -(-examples // _EXAMPLES)
    pieces = -(-(-(-examples // slices) * gates * size) // _SMALL)
    wide = -(-columns // (pieces * _COLUMNS)) * _COLUMNS
    added = 2 * size if kind == "gru" else gates
    return np.array([steps, examples, size, gates, added, wide, slices, backwards, rows], np.int64)
