"""Reductions over one axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions

from ..memory import empty_row, zero_row
from . import launching
from .launching import launch

__all__ = ["extreme_axis", "put_axis", "sum_axis", "take_axis"]


def sum_axis(flat: np.ndarray, outer: int, length: int, inner: int, type: Any) -> np.ndarray:
    """Sums over the middle axis of a row seen as (outer, length, inner)."""
    compute = type.numpy
    out = empty_row(outer * inner, compute)
    if length == 0:
        out.fill(0)
    elif inner > 1:
        launch(reductions.sum_columns, compute, flat, length, inner, out, size=flat.size)
    elif outer == 1 and launching.worth_threads(flat.size):
        leaves = empty_row(-(-length // reductions.LEAF), compute)
        launch(reductions.sum_leaves, compute, flat, leaves, size=flat.size)
        launch(reductions.combine_leaves, compute, leaves, out)
    elif out.size:
        launch(reductions.sum_rows, compute, flat, length, out, size=flat.size)
    return out


def extreme_axis(
    flat: np.ndarray, outer: int, length: int, inner: int, largest: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest (or smallest) elements over the middle axis, and their places."""
    out = empty_row(outer * inner, flat.dtype)
    indices = empty_row(outer * inner, np.dtype(np.int64))
    kernel = reductions.max_axis if largest else reductions.min_axis
    if out.size:
        launch(kernel, flat.dtype, flat, length, inner, out, indices, size=flat.size)
    return out, indices


def put_axis(grad: np.ndarray, indices: np.ndarray, outer: int, length: int, inner: int) -> np.ndarray:
    """Zeros of (outer, length, inner) with ``grad`` at ``indices`` on the middle axis."""
    out = zero_row(outer * length * inner, grad.dtype)
    launch(reductions.put_axis, grad.dtype, grad, indices, length, inner, out, size=grad.size)
    return out


def take_axis(flat: np.ndarray, indices: np.ndarray, outer: int, length: int, inner: int) -> np.ndarray:
    """The elements at ``indices`` on the middle axis of (outer, length, inner)."""
    out = empty_row(outer * inner, flat.dtype)
    launch(reductions.take_axis, flat.dtype, flat, indices, length, inner, out, size=out.size)
    return out
