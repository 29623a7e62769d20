"""The step that sums windows that overlap in memory; see the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import windows

from ..plan import Plan

__all__ = ["add_windows"]


def add_windows(
    p: Plan, values: Any, start: Any, target: Any, first: Any, outer: Sequence[tuple[int, int, int]],
    apart: Sequence[tuple[int, int, int]], inner: Sequence[tuple[int, int, int]],
) -> None:  # fmt: skip
    """Add the step that adds strided values, beginning at ``start``, to strided memory, beginning at ``first``.

    A dimension is a tuple: its extent, its stride in the values and its stride in the target.  Two elements of the
    target are distinct if their indices differ in an ``outer`` dimension, or in an ``inner`` but no ``apart`` one.
    """
    absent = (1, 0, 0)
    dims = [*(outer or [absent]), *apart, *[absent] * (2 - len(inner)), *inner]
    sizes = [size for size, *_ in dims]
    numbers = np.ascontiguousarray(np.array(dims, np.int64).T)
    p.run(windows.add_overlapping, target.dtype, values, start, target, first, *numbers, work=math.prod(sizes))
