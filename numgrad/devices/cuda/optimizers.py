"""The updates of optimizers: one launch over all parameters of a dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda.optimizers import update_kernel
from numgrad_kernels.updates import BLOCK, UPDATES

from ..optimizers import UpdateTable, blocks_of
from ..rows import DeviceRow
from .launching import launch
from .memory import empty_row, note_uses, row_from
from .streams import side_streams, stream

__all__ = ["address_of", "update_table"]

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


class _Table(UpdateTable):
    """See the CPU's ``update_table``.  Addresses and numbers are one piece of memory here, and so there: one copy."""

    def __init__(self, name: str, type: Any, sizes: Sequence[int]):
        update = UPDATES[name]
        self._kernel = update_kernel(name)
        self._compute = type.numpy.type(0).real.dtype  # a complex number is two real ones
        parts = type.numpy.itemsize // self._compute.itemsize
        blocks = blocks_of(np.array(sizes, np.int64) * parts, BLOCK)
        self._block_count = blocks.size // 3
        self._blocks = row_from(blocks, type.device.index)
        count, split = len(sizes), len(sizes) * len(update.operands)
        self._here = np.zeros(split + count * len(update.numbers), _INT64)
        self._sent = np.full_like(self._here, -1)
        self._there = empty_row(self._here.size, _INT64, type.device.index)
        self._rows = self._there[:split], self._blocks, self._there[split:].view(_FLOAT64)
        self._addresses = self._here[:split].reshape(count, -1)
        self.numbers = self._here[split:].view(_FLOAT64).reshape(count, -1)

    def place(self, operand: int, rows: Sequence[DeviceRow | None]) -> None:
        """Say where one operand of every parameter lies (None: it has none).  The caller keeps the rows alive."""
        if side_streams:
            note_uses(stream(self._there.device), rows)
        self._addresses[:, operand] = [0 if row is None else row.address for row in rows]

    def run(self) -> None:
        """Update the parameters."""
        if not self._block_count:
            return
        if not np.array_equal(self._here, self._sent):
            self._there.load(self._here)
            self._sent[:] = self._here
        launch(self._kernel, self._compute, *self._rows, blocks=self._block_count)


def update_table(name: str, type: Any, sizes: Sequence[int]) -> UpdateTable:
    """A table of what an optimizer updates; see the CPU's."""
    return _Table(name, type, sizes)


def address_of(row: DeviceRow) -> int:
    """Where the row's first element lies in memory."""
    return row.address
