"""The updates of optimizers: one launch over all parameters of a dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda.optimizers import update_kernel

from .. import recording
from ..common import UpdateTable
from ..rows import DeviceRow
from .launching import launch
from .memory import note_uses, row_from
from .runtime import side_streams, stream

__all__ = ["address_of", "update_table"]

_BYTE = np.dtype(np.uint8)


class _Table(UpdateTable):
    """Addresses and numbers are one row on the GPU, too: one copy."""

    def __init__(self, name: str, type: Any, sizes: Sequence[int]):
        super().__init__(update_kernel(name), name, type, sizes)
        self._device: int = type.device.index
        self._sent = np.full_like(self._memory, -1)
        self._there: tuple[DeviceRow, DeviceRow] | None = None

    def set_operand(self, operand: int, rows: Sequence[DeviceRow | None]) -> None:
        if side_streams:
            note_uses(stream(self._device), rows)
        self._addresses[:, operand] = [0 if row is None else row.address for row in rows]

    def run(self) -> None:
        if not self._size:
            return
        if recording.recorder is None:
            self._launch()
        else:
            addresses = self._memory[: self._split].tolist()
            rows = [DeviceRow(one, 1, _BYTE, self._device, None) if one else None for one in addresses]
            recording.recorder.call(self._run_with, (rows,), rows)

    def _run_with(self, rows: Sequence[DeviceRow | None]) -> None:
        """Update parameters that lie elsewhere."""
        self._memory[: self._split] = [0 if row is None else row.address for row in rows]
        self._launch()

    def _launch(self) -> None:
        if self._there is None:
            self._there = row_from(self._sent, self._device), row_from(self._blocks, self._device)
        there, blocks = self._there
        if not np.array_equal(self._memory, self._sent):
            there.load(self._memory)
            self._sent[:] = self._memory
        numbers = there[self._split :].view(np.float64)
        launch(self._kernel, self._compute, there[: self._split], blocks, numbers, blocks=self._blocks.size // 3)


def update_table(name: str, type: Any, sizes: Sequence[int]) -> UpdateTable:
    """A table of what an optimizer updates."""
    return _Table(name, type, sizes)


def address_of(row: DeviceRow) -> int:
    """The address of the row's first element."""
    return row.address
