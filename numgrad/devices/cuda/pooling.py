"""The largest element of each window of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import extremes

from ..cpu.pooling import lowest
from ..rows import DeviceRow
from .launching import blocks_for, launch
from .memory import empty_row

__all__ = ["max_pool_launcher"]


def max_pool_launcher(
    type: Any, sizes: Sequence[int], work: int, count: int
) -> Callable[[DeviceRow], tuple[DeviceRow, DeviceRow]]:
    """What finds the largest elements of ``count`` windows, and their indices in the images: ``launch(row)``.

    ``sizes`` are those of the CPU's.
    """
    kind = type.numpy

    def run(flat: DeviceRow) -> tuple[DeviceRow, DeviceRow]:
        out, indices = [empty_row(count, own, flat.device) for own in (kind, np.dtype(np.int64))]
        if count:
            launch(
                extremes.max_pool, kind, flat, *sizes, lowest(kind), count, out, indices, blocks=blocks_for(count)
            )
        return out, indices

    return run
