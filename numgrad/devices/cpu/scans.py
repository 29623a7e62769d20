"""Running sums, products and extremes along the middle axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions, scans

from ..memory import empty_row, filled_row
from . import launching
from .copying import row_joiner
from .launching import bound, launch
from .threads import PARALLEL_FROM

__all__ = ["extremes_so_far", "recurrence_axis", "scan_axis", "shift_axis"]


def scan_axis(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, name: str, compute: np.dtype,
    backwards: bool = False,
) -> Callable[[Any], Any]:
    """The running "sum", "prod" or "logsumexp", in the dtype ``compute``, from the first element or from the last."""
    size = outer * length * inner
    function, sizes, parts = _scan(name, outer, length, inner)
    by_lines = bound(function, compute, read, source, (*sizes, backwards), [(size, compute)], size, **parts)
    if name != "sum" or inner > 1 or outer > 1 or size < PARALLEL_FROM:
        return by_lines

    def run(tensor: Any) -> np.ndarray:
        if not launching.worth_threads(size):
            return by_lines(tensor)
        out, totals = empty_row(size, compute), empty_row(-(-length // scans.BLOCK), compute)
        launch(scans.cumsum_blocks, compute, read(tensor), backwards, totals, out, size=size)
        launch(scans.join_blocks, compute, totals, backwards, out, size=size)
        return out

    return run


def _scan(name: str, outer: int, length: int, inner: int) -> tuple[Any, tuple[int, ...], dict[str, Any]]:
    """The kernel of a scan, the sizes that it takes, and its parts."""
    if name == "logsumexp":
        return scans.logcumsumexp_axis, (length, inner), {}
    columns, sizes = inner > 1, (length, inner) if inner > 1 else (length,)
    if name == "prod":
        return scans.scan_columns if columns else scans.scan_rows, sizes, {"fold": reductions.product}
    short = outer > 1 and length < scans.BLOCK
    return scans.cumsum_columns if columns else scans.cumsum_short_rows if short else scans.cumsum_rows, sizes, {}


def extremes_so_far(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, largest: bool
) -> Callable[[Any], Any]:
    """The largest (or smallest) elements so far, and the indices of the last of them."""
    size = outer * length * inner
    fold = scans.later_larger if largest else scans.later_smaller
    outs = [(size, source), (size, np.dtype(np.int64))]
    return bound(scans.scan_extremes, source, read, source, (length, inner), outs, size, fold=fold)


def recurrence_axis(flat: np.ndarray, factors: np.ndarray, length: int, inner: int, backwards: bool) -> np.ndarray:
    """``out[i] = flat[i] + factors[i] * out[i - 1]`` along the middle axis, or of ``i + 1`` if backwards."""
    out = empty_row(flat.size, flat.dtype)
    if flat.size:
        launch(scans.recurrence_axis, flat.dtype, flat, factors, length, inner, backwards, out, size=flat.size)
    return out


def shift_axis(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, backwards: bool, fill: float
) -> Callable[[Any], Any]:
    """The elements moved on by one along the middle axis (or back by one), ``fill`` where there is none."""
    kernel_of, edge, step = row_joiner(source), filled_row(inner, fill, source), length * inner
    added, kept = (edge, 0, 0, inner), (inner if backwards else 0, step, step - inner)

    def run(tensor: Any) -> np.ndarray:
        row, out = read(tensor), empty_row(outer * step, source)
        if out.size:
            given = (row, *kept, *added) if backwards else (*added, row, *kept)
            kernel_of().entry(*given, outer, step, 0, out)
        return out

    return run
