"""The updates of optimizers: one launch over all parameters of a dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu.optimizers import update_kernel
from numgrad_kernels.updates import BLOCK, UPDATES

from ..optimizers import UpdateTable, blocks_of
from .launching import launch

__all__ = ["address_of", "update_table"]


class _Table(UpdateTable):
    """See :func:`update_table`."""

    def __init__(self, name: str, type: Any, sizes: Sequence[int]):
        update = UPDATES[name]
        self._kernel = update_kernel(name)
        self._compute = type.numpy.type(0).real.dtype  # a complex number is two real ones
        parts = type.numpy.itemsize // self._compute.itemsize
        self._size = sum(sizes) * parts
        self._blocks = blocks_of(np.array(sizes, np.int64) * parts, BLOCK)
        self._addresses = np.zeros((len(sizes), len(update.operands)), np.int64)
        self.numbers = np.zeros((len(sizes), len(update.numbers)), np.float64)
        self._rows = self._addresses.ravel(), self._blocks, self.numbers.ravel()

    def place(self, operand: int, rows: Sequence[np.ndarray | None]) -> None:
        """Say where one operand of every parameter lies (None: it has none).  The caller keeps the rows alive."""
        self._addresses[:, operand] = [0 if row is None or not row.size else address_of(row) for row in rows]

    def run(self) -> None:
        """Update the parameters."""
        if self._size:
            launch(self._kernel, self._compute, *self._rows, size=self._size)


def update_table(name: str, type: Any, sizes: Sequence[int]) -> UpdateTable:
    """A table of what an optimizer updates.

    Args:
        name: the update: see ``numgrad_kernels.updates``.
        type: the dtype and device of the parameters.
        sizes: how many elements each has.
    """
    return _Table(name, type, sizes)


_byte_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def address_of(row: np.ndarray) -> int:
    """Where the row's first element lies in memory."""
    try:
        return ctypes.addressof(_byte_of(row))  # five times as fast as the general way
    except TypeError:  # memory that Python may only read
        return row.ctypes.data
