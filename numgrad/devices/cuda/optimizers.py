"""Steps of optimizers on a GPU: one kernel updates all parameters of a dtype."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from numgrad_kernels.cuda.optimizers import update_kernel

from .. import recording
from ..buffers import FIXED, DeviceBuffer
from ..plan import Plan
from ..updates import UpdateTable
from .launching import THREADS
from .memory import buffer_from, note_uses
from .pinned import stage
from .runtime import side_streams, stream

__all__ = ["address_of", "addresses_of", "update_parameters"]

_BYTE = np.dtype(np.uint8)


class _Copy:
    """Copies of a table and of its blocks on a GPU, in one buffer each."""

    def __init__(self, table: UpdateTable, device: int):
        self._table = table
        self._sent = table.memory.copy()
        arrays = self._sent, table.blocks
        self._memory = recording.unrecorded(lambda: [buffer_from(array, device) for array in arrays])
        self.table, self.blocks = [  # FIXED: recorded programs keep their addresses
            DeviceBuffer(buffer.address, buffer.size, buffer.dtype, device, FIXED) for buffer in self._memory
        ]

    def renew(self) -> None:
        """Copy the table to the GPU if it has changed."""
        if recording.recorder is None:
            self._send()
        else:
            buffers = [
                DeviceBuffer(address, 1, _BYTE, self.table.device, None) if address else None
                for address in self._table.addresses.ravel().tolist()
            ]
            recording.recorder.call(self._send_with, (buffers,), buffers)

    def _send_with(self, buffers: Sequence[DeviceBuffer | None]) -> None:
        """Copy the table with operands in these buffers, which in a replay differ from those of the recorded call."""
        self._table.memory[: self._table.split] = addresses_of(buffers)
        self._send()

    def _send(self) -> None:
        """Copy the table, of any size, without waiting for the GPU."""
        if not np.array_equal(self._table.memory, self._sent):
            current = stream(self.table.device)
            if side_streams:
                note_uses(current, self._memory)
            stage(self._table.memory, self.table.address, current)
            self._sent[:] = self._table.memory


def update_parameters(p: Plan, table: UpdateTable) -> None:
    """Add the steps that copy a table to the GPU and update its parameters."""
    if table.work:
        assert p.device is not None
        copy = _Copy(table, p.device)
        addresses, numbers = copy.table[: table.split], copy.table[table.split :].view(np.float64)
        p.call(copy.renew)
        p.run(
            update_kernel(table.update), table.compute, addresses, copy.blocks, numbers,
            grid=(table.blocks.size // 3, THREADS),
        )


def addresses_of(buffers: Sequence[DeviceBuffer | None]) -> list[int]:
    """Return the addresses of the buffers that an update uses on the current stream; 0 for None."""
    if side_streams:
        for device in {buffer.device for buffer in buffers if buffer is not None}:
            note_uses(stream(device), buffers)
    return [0 if buffer is None else buffer.address for buffer in buffers]


def address_of(buffer: DeviceBuffer) -> int:
    """Return the address of the first element of a buffer."""
    return buffer.address
