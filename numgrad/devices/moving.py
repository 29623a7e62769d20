"""Rows that go from one device to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from .choosing import begin_cuda
from .rows import DeviceRow

__all__ = ["moved", "overwrite"]


def moved(row: Any, device: Any) -> Any:
    """The elements of a row in a new row on a device, the number of which is known; an array on the CPU is kept."""
    if row.__class__ is DeviceRow:
        if device.type == "cpu":
            return row.host()
        if device.index == row.device:
            return row.copy()
        row = row.host()
    return row if device.type == "cpu" else begin_cuda().row_from(row, device.index)


def overwrite(target: Any, source: Any) -> None:
    """Write the elements of a row into one of its length and dtype on another device."""
    if source.__class__ is DeviceRow:
        source = source.host()
    if target.__class__ is DeviceRow:
        target.load(np.ascontiguousarray(source))
    else:
        target[...] = source
