"""The updates of optimizers: one launch over all parameters of a dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu.optimizers import update_kernel

from ..common import UpdateTable
from .launching import launch

__all__ = ["address_of", "update_table"]


class _Table(UpdateTable):
    def set_operand(self, operand: int, rows: Sequence[np.ndarray | None]) -> None:
        self._addresses[:, operand] = [0 if row is None or not row.size else address_of(row) for row in rows]

    def run(self) -> None:
        if self._size:
            rows = self._addresses.ravel(), self._blocks, self.numbers.ravel()
            launch(self._kernel, self._compute, *rows, size=self._size)


def update_table(name: str, type: Any, sizes: Sequence[int]) -> UpdateTable:
    """A table of what an optimizer updates."""
    return _Table(update_kernel(name), name, type, sizes)


_byte_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def address_of(row: np.ndarray) -> int:
    """The address of the row's first element."""
    try:
        return ctypes.addressof(_byte_of(row))  # five times as fast as the general way
    except (TypeError, ValueError):  # memory that Python may only read, or none
        return row.ctypes.data
