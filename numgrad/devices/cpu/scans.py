"""Running sums, products and extremes along the middle axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions, scans

from ..memory import empty_row
from . import launching
from .launching import launch

__all__ = ["extremes_so_far", "recurrence_axis", "scan_axis", "shift_axis"]

def scan_axis(
    name: str, flat: np.ndarray, outer: int, length: int, inner: int, type: Any, backwards: bool = False
) -> np.ndarray:
    """The running "sum", "prod" or "logsumexp" of this type, from the first element or from the last."""
    compute, size = type.numpy, flat.size
    out = empty_row(size, compute)
    if size == 0:
        return out
    if name == "logsumexp":
        launch(scans.logcumsumexp_axis, compute, flat, length, inner, backwards, out, size=size)
    elif name == "prod" and inner > 1:
        launch(scans.scan_columns, compute, flat, length, inner, backwards, out, size=size, fold=reductions.product)
    elif name == "prod":
        launch(scans.scan_rows, compute, flat, length, backwards, out, size=size, fold=reductions.product)
    elif inner > 1:
        launch(scans.cumsum_columns, compute, flat, length, inner, backwards, out, size=size)
    elif outer == 1 and launching.worth_threads(size):
        totals = empty_row(-(-length // scans.BLOCK), compute)
        launch(scans.cumsum_blocks, compute, flat, backwards, totals, out, size=size)
        launch(scans.join_blocks, compute, totals, backwards, out, size=size)
    elif outer > 1 and length < scans.BLOCK:
        launch(scans.cumsum_short_rows, compute, flat, length, backwards, out, size=size)
    else:
        launch(scans.cumsum_rows, compute, flat, length, backwards, out, size=size)
    return out


def extremes_so_far(flat: np.ndarray, length: int, inner: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """The largest (or smallest) elements up to each place, and the places of the last of them."""
    out = empty_row(flat.size, flat.dtype)
    indices = empty_row(flat.size, np.dtype(np.int64))
    if flat.size:
        fold = scans.later_larger if largest else scans.later_smaller
        launch(scans.scan_extremes, flat.dtype, flat, length, inner, out, indices, size=flat.size, fold=fold)
    return out, indices


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
