"""The updates of optimizers: one launch over all parameters of a dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import optimizers

from ..optimizers import UpdateTable, blocks_of
from .launching import launch

__all__ = ["address_of", "update_table"]


class _Table(UpdateTable):
    """See :func:`update_table`."""

    def __init__(self, kernel: str, type: Any, sizes: Sequence[int], operands: int, numbers: int):
        self._function = getattr(optimizers, kernel)
        self._compute = type.numpy.type(0).real.dtype  # a complex number is two real ones
        parts = type.numpy.itemsize // self._compute.itemsize
        self._size = sum(sizes) * parts
        self._blocks = blocks_of(np.array(sizes, np.int64) * parts, optimizers.BLOCK)
        self._addresses = np.zeros((len(sizes), operands), np.int64)
        self.numbers = np.zeros((len(sizes), numbers), np.float64)
        self._rows = self._addresses.ravel(), self._blocks, self.numbers.ravel()

    def place(self, operand: int, rows: Sequence[np.ndarray | None]) -> None:
        """Say where one operand of every parameter lies (None: it has none).  The caller keeps the rows alive."""
        self._addresses[:, operand] = [0 if row is None or not row.size else address_of(row) for row in rows]

    def run(self) -> None:
        """Update the parameters."""
        if self._size:
            launch(self._function, self._compute, *self._rows, size=self._size)


def update_table(kernel: str, type: Any, sizes: Sequence[int], operands: int, numbers: int) -> UpdateTable:
    """A table of what an optimizer updates.

    Args:
        kernel: the update: "sgd", "adam", "rmsprop" or "adagrad".
        type: the dtype and device of the parameters.
        sizes: how many elements each has.
        operands: how many tensors belong to one: itself, its gradient, what the optimizer keeps for it.
        numbers: how many numbers belong to one.
    """
    return _Table(kernel, type, sizes, operands, numbers)


_byte_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def address_of(row: np.ndarray) -> int:
    """Where the row's first element lies in memory."""
    try:
        return ctypes.addressof(_byte_of(row))  # five times as fast as the general way
    except TypeError:  # memory that Python may only read
        return row.ctypes.data
