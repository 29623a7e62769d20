"""Layers of recurrent networks, where BLAS's functions are known; see the kernels.

Note [Small products]
A step multiplies the hidden states of a slice of the examples with all weights.  OpenBLAS multiplies small matrices as
they lie, up to a million multiplications; of larger ones it copies both first, which here takes as long as to multiply.
So products are cut into such pieces.  A BLAS that always copies loses nothing: it copies each weight once, still.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import recurrence

from ..memory import empty_row
from .blas import blas_addresses, one_thread
from .copying import rearranger
from .launching import kernel_for

__all__ = ["recurrence_backward_launcher", "recurrence_launcher"]

_INT64 = np.dtype(np.int64)

#: Examples in a slice, at most.
_EXAMPLES = 16

#: See Note [Small products]; pieces are multiples of so many columns.
_SMALL, _COLUMNS = 1_000_000, 16

#: How a step is done, and gone back through, by the kind of network.
_STEPS = {
    "lstm": (recurrence.lstm_row, recurrence.lstm_slopes), "gru": (recurrence.gru_row, recurrence.gru_slopes),
    "rnn_tanh": (recurrence.tanh_row, recurrence.tanh_slopes),
    "rnn_relu": (recurrence.relu_row, recurrence.relu_slopes),
}  # fmt: skip


def recurrence_launcher(
    type: Any, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool
) -> Callable[..., None] | None:
    """What does all steps: ``launch(sizes, weight, bias, gates, beside, end, out)``, of rows; see the kernel.

    ``weight`` is (gates, size).  None where BLAS's functions are not known.
    """
    dtype = type.numpy
    if dtype not in blas_addresses():
        return None
    address, work = blas_addresses()[dtype], rows * size * gates // 8
    no_bias = np.zeros(gates, dtype)
    plan = _plan(kind, steps, examples, rows, size, gates, backwards, gates)
    signature = int, _INT64, _INT64, dtype, dtype, dtype, dtype, dtype, dtype
    kernel_of = kernel_for(recurrence.recurrence, dtype, signature, work, step_row=_STEPS[kind][0])
    turn = rearranger(dtype, (size, gates), (1, size))

    def launch(sizes: Any, weight: Any, bias: Any, gate_rows: Any, beside: Any, end: Any, out: Any) -> None:
        turned = turn(weight)
        given = (no_bias if bias is None else bias), gate_rows, beside, end, out
        with one_thread():
            kernel_of().entry(address, plan, sizes, turned, *given)

    return launch


def recurrence_backward_launcher(
    type: Any, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool
) -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """What goes back through all steps: ``launch(sizes, weight, state, gates, beside, out, grad, grads)``, of rows.

    It returns the gradients for the inputs' shares of the gates, for those of the hidden states, and these before each
    step.
    """
    dtype = type.numpy
    address, work = blas_addresses()[dtype], rows * size * gates // 8
    plan = _plan(kind, steps, examples, rows, size, size, backwards, gates)
    kernel_of = kernel_for(
        recurrence.recurrence_backward, dtype, (int, _INT64, _INT64, *[dtype] * 11), work, slopes_row=_STEPS[kind][1]
    )

    def launch(sizes: Any, weight: Any, *given: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        slopes, previous = empty_row(rows * gates, dtype), empty_row(rows * size, dtype)
        shares = empty_row(rows * gates, dtype) if kind == "gru" else slopes
        cells = np.empty(int(plan[recurrence.SLICES]) * size, dtype)
        with one_thread():
            kernel_of().entry(address, plan, sizes, weight, *given, slopes, shares, previous, cells)
        return slopes, shares, previous

    return launch


def _plan(
    kind: str, steps: int, examples: int, rows: int, size: int, columns: int, backwards: bool, gates: int
) -> np.ndarray:
    """The kernels' plan, for products with so many ``columns``."""
    slices = -(-examples // _EXAMPLES)
    pieces = -(-(-(-examples // slices) * gates * size) // _SMALL)
    wide = -(-columns // (pieces * _COLUMNS)) * _COLUMNS
    added = 2 * size if kind == "gru" else gates
    return np.array([steps, examples, size, gates, added, wide, slices, backwards, rows], np.int64)
