"""Sums of windows that overlap in memory; see the kernel."""

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
    """Add values to memory, both in steps of their own from a first element on.

    Of each dimension given are the extent, and the steps in the values and in the target.  Elements of the target that
    differ in the index of an ``outer`` dimension are different ones, as are those that differ in an ``inner`` one and
    in none that is ``apart``.
    """
    nothing = (1, 0, 0)
    dims = [*(outer or [nothing]), *apart, *[nothing] * (2 - len(inner)), *inner]
    sizes = [size for size, *_ in dims]
    numbers = np.ascontiguousarray(np.array(dims, np.int64).T)
    p.run(windows.add_overlapping, target.dtype, values, start, target, first, *numbers, work=math.prod(sizes))
