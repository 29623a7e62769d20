"""Steps of optimizers: one kernel updates all parameters of a dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu.optimizers import update_kernel

from ..plan import Plan
from ..updates import UpdateTable

__all__ = ["address_of", "addresses_of", "update_parameters"]


def update_parameters(p: Plan, table: UpdateTable) -> None:
    """Add the step that updates the parameters of a table."""
    if table.work:
        operands = table.addresses.ravel(), table.blocks, table.numbers.ravel()
        p.run(update_kernel(table.update), table.compute, *operands, work=table.work)


def addresses_of(buffers: Sequence[np.ndarray | None]) -> list[int]:
    """Return the addresses of the buffers that an update uses; 0 for None and for empty ones."""
    return [0 if buffer is None or not buffer.size else address_of(buffer) for buffer in buffers]


_byte_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def address_of(buffer: np.ndarray) -> int:
    """Return the address of the first element of a buffer."""
    try:
        return ctypes.addressof(_byte_of(buffer))  # five times as fast as ``ctypes.data``
    except (TypeError, ValueError):  # read-only or empty memory
        return buffer.ctypes.data
