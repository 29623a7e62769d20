"""Running sums, products and extremes along the middle axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions, scans

from ..memory import empty_row
from . import launching
from .launching import bound, launch
from .reductions import is_small

__all__ = ["recurrence_axis", "shift_axis"]


def scan_axis(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, name: str, compute: np.dtype,
    backwards: bool = False,
) -> Callable[[Any], Any]:
    """The running "sum", "prod" or "logsumexp", in the dtype ``compute``, from the first element or from the last."""
    size = outer * length * inner
    function, sizes, parts = _scan(name, outer, length, inner)
    if is_small(outer, length, inner):
        return bound(function, compute, read, source, (*sizes, backwards), [(size, compute)], **parts)

    def run(tensor: Any) -> np.ndarray:
        flat, out = read(tensor), empty_row(size, compute)
        if name == "sum" and inner == outer == 1 and launching.worth_threads(size):
            totals = empty_row(-(-length // scans.BLOCK), compute)
            launch(scans.cumsum_blocks, compute, flat, backwards, totals, out, size=size)
            launch(scans.join_blocks, compute, totals, backwards, out, size=size)
        elif size:
            launch(function, compute, flat, *sizes, backwards, out, size=size, **parts)
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
    """The largest (or smallest) elements up to each place, and the places of the last of them."""
    size = outer * length * inner
    fold = scans.later_larger if largest else scans.later_smaller
    outs = [(size, source), (size, np.dtype(np.int64))]
    if is_small(outer, length, inner):
        return bound(scans.scan_extremes, source, read, source, (length, inner), outs, fold=fold)

    def run(tensor: Any) -> tuple[np.ndarray, np.ndarray]:
        out, indices = [empty_row(*each) for each in outs]
        if size:
            launch(scans.scan_extremes, source, read(tensor), length, inner, out, indices, size=size, fold=fold)
        return out, indices

    return run


def recurrence_axis(flat: np.ndarray, factors: np.ndarray, length: int, inner: int, backwards: bool) -> np.ndarray:
    """``out[i] = flat[i] + factors[i] * out[i - 1]`` along the middle axis, or of ``i + 1`` if backwards."""
    out = empty_row(flat.size, flat.dtype)
    if flat.size:
        launch(scans.recurrence_axis, flat.dtype, flat, factors, length, inner, backwards, out, size=flat.size)
    return out


def shift_axis(
    flat: np.ndarray, outer: int, length: int, inner: int, backwards: bool, fill: float
) -> np.ndarray:
    """The elements one place further on the middle axis (or one nearer), ``fill`` where there is none."""
    out = empty_row(flat.size, flat.dtype)
    source, target = flat.reshape(outer, length, inner), out.reshape(outer, length, inner)
    if backwards:
        target[:, :-1], target[:, -1:] = source[:, 1:], fill
    else:
        target[:, 1:], target[:, :1] = source[:, :-1], fill
    return out
