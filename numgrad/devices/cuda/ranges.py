"""Numbers at equal distances on a GPU, made there."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cuda import copying

from ..cpu.ranges import evenly_spaced
from ..rows import DeviceRow
from .launching import blocks_for, launch
from .memory import empty_row, row_from

__all__ = ["counted", "spread"]

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


def counted(start: float, step: float, count: int, type: Any) -> DeviceRow:
    """A row of ``count`` numbers from ``start``, ``step`` apart."""
    out = empty_row(count, type.numpy, type.device.index)
    if count:
        compute = _INT64 if isinstance(start, int) and isinstance(step, int) else _FLOAT64
        number = int if compute is _INT64 else float
        launch(copying.count, compute, number(start), number(step), count, out, blocks=blocks_for(count))
    return out


def spread(start: Any, end: Any, count: int, type: Any) -> DeviceRow:
    """A row of ``count`` numbers from ``start`` to ``end``."""
    kind = type.numpy
    if kind.kind == "c" or count < 2:
        return row_from(evenly_spaced(start, end, count, kind).astype(kind), type.device.index)
    compute = kind if kind.kind == "f" else _FLOAT64
    out = empty_row(count, kind, type.device.index)
    step = (compute.type(end) - compute.type(start)) / compute.type(count - 1)
    launch(
        copying.spread, compute, float(start), float(end), float(step), count, out, blocks=blocks_for(count)
    )
    return out
