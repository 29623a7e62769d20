"""Numbers at equal distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..memory import NO_MEMORY, out_of_memory

__all__ = ["counted", "evenly_spaced", "spread"]


def counted(start: float, step: float, count: int, type: Any) -> np.ndarray:
    """A row of ``count`` numbers from ``start``, ``step`` apart."""
    try:
        if type.numpy == np.int64 and abs(start) + abs(count * step) < 2**62:
            return np.arange(start, start + count * step, step)
        return (start + np.arange(count) * step).astype(type.numpy)
    except NO_MEMORY:
        raise out_of_memory((count,), type.numpy) from None


def spread(start: Any, end: Any, count: int, type: Any) -> np.ndarray:
    """A row of ``count`` numbers from ``start`` to ``end``."""
    return evenly_spaced(start, end, count, type.numpy).astype(type.numpy)


def evenly_spaced(start: Any, end: Any, steps: int, kind: np.dtype) -> np.ndarray:
    """``steps`` numbers from start to end; each half is counted from its own end, so that both ends are exact."""
    if steps == 1:
        return np.array([start], kind)
    compute = kind if kind.kind in "fc" else np.dtype(np.float64)
    first, last = compute.type(start), compute.type(end)
    step = (last - first) / compute.type(steps - 1)
    try:
        places = np.arange(steps)
        upward = first + step * places.astype(compute)
        downward = last - step * places[::-1].astype(compute)
        return np.where(places < steps // 2, upward, downward)
    except NO_MEMORY:
        raise out_of_memory((steps,), kind) from None
