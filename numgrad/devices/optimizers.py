"""The updates of optimizers: one launch over all parameters of a dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import optimizers

from .cpu import launch

__all__ = ["UpdateTable"]


class UpdateTable:
    """What one launch updates: where the operands of each parameter lie, and the numbers of its update.

    Kept from step to step, since little more than the gradients moves between two steps.

    Args:
        kernel: the update: "sgd", "adam", "rmsprop" or "adagrad".
        type: the dtype and device of the parameters.
        sizes: how many elements each has.
        operands: how many tensors belong to one: itself, its gradient, what the optimizer keeps for it.
        numbers: how many numbers belong to one.
    """

    def __init__(self, kernel: str, type: Any, sizes: Sequence[int], operands: int, numbers: int):
        self._function = getattr(optimizers, kernel)
        self._compute = type.numpy.type(0).real.dtype  # a complex number is two real ones
        parts = type.numpy.itemsize // self._compute.itemsize
        self._size = sum(sizes) * parts
        self._blocks = _blocks(np.array(sizes, np.int64) * parts)
        self._addresses = np.zeros((len(sizes), operands), np.int64)
        #: A line for each parameter.
        self.numbers = np.zeros((len(sizes), numbers), np.float64)
        self._rows = self._addresses.ravel(), self._blocks, self.numbers.ravel()

    def place(self, operand: int, rows: Sequence[np.ndarray | None]) -> None:
        """Say where one operand of every parameter lies (None: it has none).  The caller keeps the rows alive."""
        self._addresses[:, operand] = [0 if row is None or not row.size else _address(row) for row in rows]

    def run(self) -> None:
        """Update the parameters."""
        if self._size:
            launch(self._function, self._compute, *self._rows, size=self._size)


def _blocks(sizes: np.ndarray) -> np.ndarray:
    """Which row, from which element and how many, for each block of rows of these sizes."""
    counts = -(-sizes // optimizers.BLOCK)
    which = np.repeat(np.arange(sizes.size), counts)
    first = np.repeat(counts.cumsum() - counts, counts)
    start = (np.arange(which.size) - first) * optimizers.BLOCK
    return np.stack([which, start, np.minimum(sizes[which] - start, optimizers.BLOCK)], axis=1).ravel()


_byte_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def _address(row: np.ndarray) -> int:
    try:
        return ctypes.addressof(_byte_of(row))  # five times as fast as the general way
    except TypeError:  # memory that Python may only read
        return row.ctypes.data
