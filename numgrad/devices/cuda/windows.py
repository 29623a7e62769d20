"""The step that sums windows that overlap in memory, on a GPU; see the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import windows

from ..plan import Plan
from .memory import buffer_from

__all__ = ["add_windows"]


def add_windows(
    p: Plan, values: Any, start: Any, target: Any, first: Any, outer: Sequence[tuple[int, int, int]],
    apart: Sequence[tuple[int, int, int]], inner: Sequence[tuple[int, int, int]],
) -> None:  # fmt: skip
    """Add the step that adds strided values to strided memory; see the function of the CPU."""
    dims = [*apart, *sorted([*outer, *inner], key=lambda dim: -dim[2])]
    size = 1 + sum([(extent - 1) * step for extent, _, step in dims])
    numbers = [buffer_from(column, p.device) for column in np.array(dims, np.int64).reshape(-1, 3).T]
    p.run(
        windows.add_overlapping, target.dtype, values, start, target, first, size, *numbers, len(apart), len(dims),
        math.prod([extent for extent, *_ in apart]), work=size,
    )
