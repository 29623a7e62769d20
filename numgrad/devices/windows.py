"""Sums of windows that overlap in memory, on every device."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.layout import overlaps_itself
from .plan import Plan, TensorRef

__all__ = ["add_overlapping"]


def add_overlapping(p: Plan, values: TensorRef, target: TensorRef) -> None:
    """Add the step that adds values one by one to a tensor of their shape, the elements of which may share memory."""
    if not target.size:
        return
    geometry = zip(target.shape, values.layout.strides, target.layout.strides, strict=True)
    dims = [(extent, step, goal) for extent, step, goal in geometry if extent != 1]
    together: set[int] = set()
    for dim in sorted(range(len(dims)), key=lambda d: -dims[d][0]):
        sizes, _, steps = zip(*[dims[d] for d in (*together, dim)], strict=True)
        if not overlaps_itself(sizes, steps):
            together.add(dim)
    outer: list[int] = []
    reach = sum([(extent - 1) * goal for extent, _, goal in dims])
    for dim in sorted(together, key=lambda d: -dims[d][2]):
        reach -= (dims[dim][0] - 1) * dims[dim][2]
        if dims[dim][2] <= reach:
            break
        outer.append(dim)
    groups = outer, set(range(len(dims))) - together, together - set(outer)
    merged = [_merged([dims[d] for d in sorted(group)]) for group in groups]
    p.backend.add_windows(p, *p.strided(values), *p.strided(target), *merged)


def _merged(dims: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return dimensions, each an extent and two strides, after merging neighbours that a single loop can cover."""
    merged: list[tuple[int, int, int]] = []
    for extent, step, goal in dims:
        if merged and merged[-1][1:] == (extent * step, extent * goal):
            extent *= merged.pop()[0]
        merged.append((extent, step, goal))
    return merged
